package team

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// maxProcesses is the largest number of processes in one answer.
const maxProcesses = 2 * MaxMembers

// ListProcesses returns the processes of a team, newest first, to those who may run them. With Runner it returns those
// that this runner must start or end, oldest first, and waits for the first for at most WaitMs
// milliseconds; with Held as well, those that the runner holds. The team then knows that it has a runner.
func (s *Service) ListProcesses(ctx context.Context, c identity.Caller, in ProcessesInput) (ProcessesOutput, error) {
	out := ProcessesOutput{Processes: []Process{}}
	if err := checkName(in.TeamName); err != nil {
		return out, err
	}
	t := s.DB.User(c.User)
	var heard hearing
	d, err := load(ctx, t, in.TeamName, hearings.Fetch(docID(in.TeamName), &heard))
	if err != nil {
		return out, err
	}
	if err := d.mayRun(c); err != nil {
		return out, err
	}
	wait := time.Duration(in.WaitMs) * time.Millisecond
	if in.Runner == "" || in.Held {
		wait = 0
	}
	if in.Runner != "" && c.CanWrite() {
		if err := s.hear(ctx, t, d, heard, wait); err != nil {
			return out, err
		}
	}
	q := store.Query{Where: []store.Cond{store.Eq("teamId", d.ID)}, Order: []string{"requested_at desc"},
		Limit: maxProcesses}
	if in.Runner != "" {
		keys := store.ContainsAny("calls", keyStart, keyEnd(in.Runner))
		if in.Held {
			keys = store.Contains("calls", keyHeld(in.Runner))
		}
		q.Where, q.Order = append(q.Where, keys), []string{"requested_at"}
	}
	err = processes.Wait(ctx, t, q.Where, wait, func(ctx context.Context) (bool, error) {
		page, err := processes.Query(ctx, t, q)
		for _, p := range page.Docs {
			out.Processes = append(out.Processes, p.Value.Process)
		}
		return len(out.Processes) > 0, err
	})
	return out, err
}

// mayRun returns Forbidden unless the caller is a runner of the team, its lead or a human.
func (d *document) mayRun(c identity.Caller) error {
	runs := slices.Contains(c.Scopes, identity.ScopeRunner) && c.Member == "" && (c.Team == "" || c.Team == d.Name)
	if runs || d.leads(c) {
		return nil
	}
	return fault.New(fault.Forbidden, "only a key with the scope runner, the lead of team %s or a human may do this; make "+
		"one with: parley key create --user YOU --scopes runner --team %s; %s", d.Name, d.Name, c)
}

// ClaimProcess gives a requested process to a runner, with a key for the member; of several concurrent claims one
// succeeds. A repeated claim by the holder succeeds with AlreadyClaimed and a new key in place of the earlier one. A
// member that was removed meanwhile gets no key. A caller that may not run processes is Forbidden, a process that has
// ended or that another runner holds Precondition, one that does not exist NotFound.
func (s *Service) ClaimProcess(ctx context.Context, c identity.Caller, in ClaimInput) (ClaimOutput, error) {
	now := s.Now()
	var out ClaimOutput
	var revoked []string
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		revoked = nil
		d, p, err := loadProcess(ctx, tx, in.TeamName, in.ProcessID)
		if err == nil {
			err = d.mayRun(c)
		}
		if err != nil {
			return err
		}
		again, err := p.Claim(in.Runner, now)
		if err != nil {
			return err
		}
		out = ClaimOutput{Process: p.Process, AlreadyClaimed: again}
		if p.KeyID != "" {
			revoked = append(revoked, p.KeyID)
		}
		revoke, err := s.revocation(ctx, tx, p)
		if err != nil {
			return err
		}
		if s.Keys != nil && p.Wanted == WantRunning {
			parent := cmp.Or(p.ParentKey, d.FounderKey)
			if out.Key, p.KeyID, err = s.Keys.IssueMember(ctx, tx, c.User, parent, d.Name, p.Name); err != nil {
				return err
			}
		}
		revoke()
		processes.Put(tx, p.ProcessID, *p)
		if !again {
			renewLease(tx, d, p.Name, p.State, 0, now)
		}
		return nil
	})
	if err != nil {
		return ClaimOutput{}, err
	}
	s.committed(ctx, c.User, revoked...)
	return out, nil
}

func loadProcess(ctx context.Context, r store.Reader, team, id string) (*document, *storedProcess, error) {
	if err := checkName(team); err != nil {
		return nil, nil, err
	}
	var p storedProcess
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

// ReportProcess applies a runner's report on a process that it holds. A report of Running
// renews the member's lease; a change to any other state retires the member, and the end of
// the process revokes the member's key. A caller that may not run processes and a runner that
// does not hold the process are Forbidden; a state that cannot follow the current one is
// Precondition.
func (s *Service) ReportProcess(ctx context.Context, c identity.Caller, in ReportInput) (ReportOutput, error) {
	now := s.Now()
	var out ReportOutput
	var ended string
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended = ""
		d, p, err := loadProcess(ctx, tx, in.TeamName, in.ProcessID)
		if err == nil {
			err = d.mayRun(c)
		}
		if err != nil {
			return err
		}
		changed, err := p.Apply(in.Runner, Report{in.State, in.PID, in.StartedAt, in.ExitCode, in.Signal, in.Error,
			in.LogFile}, now)
		if err != nil {
			return err
		}
		out.Process = p.Process
		revoke := func() {}
		if changed && p.State.Ended() && p.State != Lost && p.KeyID != "" {
			if revoke, err = s.revocation(ctx, tx, p); err != nil {
				return err
			}
			ended = p.KeyID
		}
		// A member that was removed or spawned again no longer belongs to this process.
		m := d.Member(p.Name)
		if m != nil && d.Processes[p.Name] != p.ProcessID {
			m = nil
		}
		switch {
		case m != nil && p.State == Running:
			if m.setActive(true) {
				teams.Put(tx, docID(d.Name), *d)
			}
			renewLease(tx, d, p.Name, p.State, p.PID, now)
		case m != nil && changed:
			if _, err := s.retireAndTellLead(ctx, tx, d, m, p.endReason(), stamp(now), true); err != nil {
				return err
			}
		}
		revoke()
		if changed {
			processes.Put(tx, p.ProcessID, *p)
		}
		return nil
	})
	if err == nil && ended != "" {
		s.committed(ctx, c.User, ended)
	}
	return out, err
}

// endReason describes the end of a process in a sentence whose subject is the member.
func (p *storedProcess) endReason() string {
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
