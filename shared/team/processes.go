package team

import (
	"context"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// maxProcesses is how many processes one look gives.
const maxProcesses = 2 * MaxMembers

// ListProcesses lists the processes of a team, those asked for last first. For a runner
// it is what that runner is to act on, and can wait for it; or what it holds.
func (s *Service) ListProcesses(ctx context.Context, c identity.Caller, in ProcessesInput) (ProcessesOutput, error) {
	out := ProcessesOutput{Processes: []Process{}}
	if err := checkName(in.TeamName); err != nil {
		return out, err
	}
	t := s.DB.User(c.User)
	d, err := load(ctx, t, in.TeamName)
	if err != nil {
		return out, err
	}
	q := store.Query{Where: []store.Cond{store.Eq("teamId", d.ID)}, Order: []string{"requested_at desc"},
		Limit: maxProcesses}
	if in.Runner != "" {
		calls := store.ContainsAny("calls", callStart, callEnd(in.Runner))
		if in.Held {
			calls = store.Contains("calls", callHeld(in.Runner))
		}
		q.Where, q.Order = append(q.Where, calls), []string{"requested_at"}
	}
	if in.Runner == "" || in.Held {
		in.WaitMs = 0
	}
	err = processes.Wait(ctx, t, q.Where, time.Duration(in.WaitMs)*time.Millisecond, func(ctx context.Context) (bool, error) {
		page, err := processes.Query(ctx, t, q)
		for _, p := range page.Docs {
			out.Processes = append(out.Processes, p.Value.Process)
		}
		return len(out.Processes) > 0, err
	})
	return out, err
}

// ClaimProcess gives a process to a runner. Of many that ask, one gets it.
func (s *Service) ClaimProcess(ctx context.Context, c identity.Caller, in ClaimInput) (ClaimOutput, error) {
	now := s.Now()
	var out ClaimOutput
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, p, err := loadProcess(ctx, tx, in.TeamName, in.ProcessID)
		if err != nil {
			return err
		}
		again, err := p.Claim(in.Runner, now)
		if err != nil {
			return err
		}
		out = ClaimOutput{Process: p.Process, AlreadyClaimed: again}
		if again {
			return nil
		}
		processes.Put(tx, p.ProcessID, *p)
		alive(tx, d, p.Name, p.State, 0, now)
		return nil
	})
	return out, err
}

func loadProcess(ctx context.Context, r store.Reader, team, id string) (*document, *keptProcess, error) {
	if err := checkName(team); err != nil {
		return nil, nil, err
	}
	var p keptProcess
	f := processes.Fetch(id, &p)
	d, err := load(ctx, r, team, f)
	if err != nil {
		return nil, nil, err
	}
	if !f.Found || p.TeamID != d.ID {
		return nil, nil, fault.New(fault.NotFound, "Process %s not found in team %s", id, team)
	}
	return d, &p, nil
}

// ReportProcess takes in what a runner says of a process that it holds. Running is the
// member's heartbeat; with any other state it is retired.
func (s *Service) ReportProcess(ctx context.Context, c identity.Caller, in ReportInput) (ReportOutput, error) {
	now := s.Now()
	var out ReportOutput
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, p, err := loadProcess(ctx, tx, in.TeamName, in.ProcessID)
		if err != nil {
			return err
		}
		news, err := p.Hear(in.Runner, Word{in.State, in.PID, in.StartedAt, in.ExitCode, in.Signal, in.Error,
			in.LogFile}, now)
		if err != nil {
			return err
		}
		out.Process = p.Process
		// A member that was removed, or spawned anew, is none of this process's.
		m := d.Member(p.Name)
		if m != nil && d.Processes[p.Name] != p.ProcessID {
			m = nil
		}
		switch {
		case m != nil && p.State == Running:
			if m.setActive(true) {
				teams.Put(tx, docID(d.Name), *d)
			}
			alive(tx, d, p.Name, p.State, p.PID, now)
		case m != nil && news:
			if _, err := s.gone(ctx, tx, d, m, p.how(), stamp(now)); err != nil {
				return err
			}
		}
		if news {
			processes.Put(tx, p.ProcessID, *p)
		}
		return nil
	})
	return out, err
}

// how says in words how a process ended.
func (p *keptProcess) how() string {
	why := "has no process any more: it " + map[State]string{Exited: "exited", Failed: "could not be run",
		Killed: "was killed", Lost: "was lost"}[p.State]
	if p.ExitCode != nil {
		why += " with code " + strconv.Itoa(*p.ExitCode)
	}
	if p.Signal != "" {
		why += " by " + p.Signal
	}
	if p.Error != "" {
		why += " (" + p.Error + ")"
	}
	return why
}
