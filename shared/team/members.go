package team

import (
	"cmp"
	"context"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Spawn adds a teammate in one transaction: the member, its prompt as the first message of
// its inbox and, for the backend process, a process that waits for a runner. A team that does
// not exist is NotFound, a caller that does not lead it Forbidden, a name in use Exists, a full
// team Precondition, and a malformed or reserved name Invalid.
func (s *Service) Spawn(ctx context.Context, c identity.Caller, in SpawnInput) (SpawnOutput, error) {
	var out SpawnOutput
	if err := in.check(); err != nil {
		return out, err
	}
	now, processID := s.Now(), s.NewID()
	m := Member{Name: in.Name, AgentType: in.SubagentType, Model: in.Model, PlanModeRequired: &in.PlanModeRequired,
		JoinedAt: now.UnixMilli(), Cwd: in.Cwd, Subscriptions: []string{}, BackendType: &in.BackendType}
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (SpawnOutput, error) {
		mail, fetches := newDelivery(in.TeamName, in.Name)
		var runner hearing
		d, err := load(ctx, tx, in.TeamName, append(fetches, hearings.Fetch(docID(in.TeamName), &runner))...)
		if err != nil {
			return out, err
		}
		if err := d.mayLead(c); err != nil {
			return out, err
		}
		from, err := d.speaker(c, "")
		if err != nil {
			return out, err
		}
		if err := d.Join(m); err != nil {
			return out, err
		}
		joined := d.Member(in.Name)
		mail.open(d)
		mail.begin(in.Name)
		mail.send(tx, in.Name, Message{From: from, By: person(c), Text: in.Prompt, Timestamp: stamp(now),
			Color: d.colorOf(from)})
		mail.close(tx)
		prompts.Under(d.ID).Put(tx, promptID(in.Name), instruction{Prompt: in.Prompt})
		out = SpawnOutput{AgentID: joined.AgentID, Name: in.Name, TeamName: in.TeamName, Color: joined.color(),
			Message: "The agent is registered. Start it; it finds its prompt in its inbox."}
		if in.BackendType == ByRunner {
			p := storedProcess{TeamID: d.ID, ParentKey: d.parentKey(c), Process: Process{ProcessID: processID,
				TeamName: d.Name, Name: in.Name, AgentID: joined.AgentID, AgentType: joined.AgentType, Model: joined.Model, Color: joined.color(),
				PlanModeRequired: in.PlanModeRequired, Cwd: in.Cwd, LeadSessionID: d.LeadSessionID, State: Requested,
				Wanted: WantRunning, RequestedAt: now}}
			p.index(now)
			processes.Create(tx, processID, p)
			if d.Processes == nil {
				d.Processes = map[string]string{}
			}
			d.Processes[in.Name] = processID
			out.ProcessID, out.State = processID, Requested
			out.Message = "The agent is registered, and its prompt is in its inbox. " +
				"A runner of this team starts its process."
			if out.Warning = runner.present(d, now); out.Warning != "" {
				out.Message = "The agent is registered, and its prompt is in its inbox. " + out.Warning
			}
		}
		teams.Put(tx, docID(d.Name), *d)
		return out, nil
	})
}

// parentKey returns the id of the key that the key of a member whom the caller spawns descends from: the founder's, which
// may not be the one that founded the team any more.
func (d *document) parentKey(c identity.Caller) string {
	if d.founded(c) {
		return c.KeyID
	}
	return cmp.Or(d.FounderKey, c.KeyID)
}

// check returns Invalid for a malformed or reserved name and for a blank prompt.
func (in *SpawnInput) check() error {
	if err := checkName(in.TeamName); err != nil {
		return err
	}
	if err := checkMember(in.Name); err != nil {
		return err
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return fault.New(fault.Invalid, "Prompt must not be empty")
	}
	return nil
}

// Kill removes a teammate: it revokes the key of its process, requests the end of the process and
// makes its unfinished tasks pending. A caller that does not lead the team is Forbidden, the lead
// and a name without a member are NotFound.
func (s *Service) Kill(ctx context.Context, c identity.Caller, in MemberInput) (RemoveOutput, error) {
	out, err := s.remove(ctx, c, in)
	if err == nil {
		out.Message = in.AgentName + " has been stopped."
		if out.ProcessState != "" && !out.ProcessState.Ended() {
			out.Message = in.AgentName + " is removed from the team; its runner ends its process."
		}
	}
	return out, err
}

// ShutdownApproved removes a teammate that approved its shutdown. It does the same as
// [Service.Kill], but the lead is Invalid.
func (s *Service) ShutdownApproved(ctx context.Context, c identity.Caller, in MemberInput) (RemoveOutput, error) {
	if identity.Same(in.AgentName, Lead) {
		return RemoveOutput{}, fault.New(fault.Invalid, "Cannot process shutdown for team-lead")
	}
	out, err := s.remove(ctx, c, in)
	if err == nil {
		out.Message = in.AgentName + " removed from team."
	}
	return out, err
}

func (s *Service) remove(ctx context.Context, c identity.Caller, in MemberInput) (RemoveOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return RemoveOutput{}, err
	}
	now := s.Now()
	var out RemoveOutput
	var ended string
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended = ""
		out = RemoveOutput{Success: true}
		var b Board
		mail, fetches := newDelivery(in.TeamName, in.AgentName)
		d, err := load(ctx, tx, in.TeamName, append(fetches, boards.Fetch(docID(in.TeamName), &b))...)
		if err != nil {
			return err
		}
		if err := d.mayLead(c); err != nil {
			return err
		}
		m, err := d.teammate(in.AgentName)
		if err != nil {
			return err
		}
		name := m.Name
		if mail, err = d.deliverTo(ctx, tx, mail, in.AgentName); err != nil {
			return err
		}
		var p storedProcess
		running := processes.Fetch(d.Processes[name], &p)
		if d.Processes[name] != "" {
			if err := store.Load(ctx, tx, running); err != nil {
				return err
			}
		}
		revoke := func() {}
		if running.Found && p.KeyID != "" {
			if revoke, err = s.revocation(ctx, tx, &p); err != nil {
				return err
			}
			ended = p.KeyID
		}
		revoke()
		mail.leave(name)
		mail.close(tx)
		d.Leave(name)
		delete(d.Nulls, ofMember(name))
		delete(d.Processes, name)
		teams.Put(tx, docID(d.Name), *d)
		out.ReleasedTasks = release(tx, d.Name, &b, name)
		prompts.Under(d.ID).Delete(tx, promptID(name))
		beats.Delete(tx, memberID(d.Name, name))
		if running.Found {
			p.stop(tx, now)
			out.ProcessState = p.State
		}
		return nil
	})
	if err == nil && ended != "" {
		s.committed(ctx, c.User, ended)
	}
	return out, err
}

// release returns the tasks of a member to a team's board, and their ids.
func release(tx *store.Tx, team string, b *Board, member string) []string {
	ids := []string{}
	for _, id := range b.Release(member) {
		ids = append(ids, taskID(id))
	}
	if len(ids) > 0 {
		boards.Put(tx, docID(team), *b)
	}
	return ids
}

// stop ends the process, unless it has ended already.
func (p *storedProcess) stop(tx *store.Tx, now time.Time) {
	if p.State.Ended() && p.State != Lost {
		return
	}
	p.End(now)
	processes.Put(tx, p.ProcessID, *p)
}

// Heartbeat renews a teammate's lease, or retires the teammate if the reported state is an
// end. The lead and a name without a member are NotFound; a key that may not act as the
// member is Forbidden.
func (s *Service) Heartbeat(ctx context.Context, c identity.Caller, in HeartbeatInput) (HeartbeatOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return HeartbeatOutput{}, err
	}
	now := s.Now()
	var out HeartbeatOutput
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = HeartbeatOutput{TeamName: in.TeamName, AgentName: in.AgentName, ReleasedTasks: []string{}}
		d, err := load(ctx, tx, in.TeamName)
		if err != nil {
			return err
		}
		m, err := d.teammate(in.AgentName)
		if err != nil {
			return err
		}
		if err := d.mayActAs(c, m.Name); err != nil {
			return err
		}
		out.AgentName = m.Name
		if in.State.Ended() {
			released, err := s.retireAndTellLead(ctx, tx, d, m, "says that it is "+string(in.State), stamp(now), false)
			out.ReleasedTasks = released
			return err
		}
		if m.setActive(true) {
			teams.Put(tx, docID(d.Name), *d)
		}
		renewLease(tx, d, m.Name, in.State, in.PID, now)
		out.Active, out.LeaseUntil = true, now.Add(Lease)
		return nil
	})
	return out, err
}

// retireAndTellLead retires a member and sends the lead a message. The transaction must have
// read the team. A member that is inactive and owns no unfinished task is left as it is, and the
// lead is told of it only with always.
func (s *Service) retireAndTellLead(ctx context.Context, tx *store.Tx, d *document, m *Member, why,
	at string, always bool) ([]string, error) {
	var b Board
	mail, fetches := newDelivery(d.Name, Lead)
	if err := store.Load(ctx, tx, append(fetches, boards.Fetch(docID(d.Name), &b))...); err != nil {
		return nil, err
	}
	ids := []string{}
	was := deref(m.IsActive)
	note, released := retire(&b, m, why)
	beats.Delete(tx, memberID(d.Name, m.Name))
	if !was && len(released) == 0 && !always {
		return ids, nil
	}
	for _, id := range released {
		ids = append(ids, taskID(id))
	}
	note.Timestamp = at
	mail.open(d)
	mail.send(tx, Lead, note)
	mail.close(tx)
	teams.Put(tx, docID(d.Name), *d)
	if len(released) > 0 {
		boards.Put(tx, docID(d.Name), b)
	}
	return ids, nil
}
