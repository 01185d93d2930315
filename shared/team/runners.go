package team

import (
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const (
	// quiet is the time after its last call after which a runner counts as gone.
	quiet = time.Minute
	// late is the time by which the next call of a runner may come later than the end of its wait.
	late = 15 * time.Second
	// heardStep is the time for which a call of a runner is not recorded after another.
	heardStep = 20 * time.Second
)

// hearing is when a runner of a team was last heard of. It is a document of its own, so that a runner's call wakes no
// call that waits for the team.
type hearing struct {
	TeamID string    `json:"teamId"`
	At     time.Time `json:"at"`
	// Until is the time up to which a runner counts as present.
	Until time.Time `json:"until"`
}

var hearings = store.Collection[hearing]{Name: "teamRunners"}

// hear records that a runner asks for work and waits for at most the given time, unless another call did just before.
func (s *Service) hear(ctx context.Context, t *store.Tenant, d *document, last hearing, wait time.Duration) error {
	now := s.Now()
	h := hearing{TeamID: d.ID, At: now, Until: now.Add(max(quiet, wait+late))}
	if last.TeamID == d.ID && !h.Until.After(last.Until.Add(heardStep)) {
		return nil
	}
	return t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
		hearings.Put(tx, docID(d.Name), h)
		return nil
	})
}

// present returns an empty text if a runner of the team is present, and otherwise the advice for its lead.
func (h hearing) present(d *document, now time.Time) string {
	start := "Start one on the machine where the agent is to work: parley runner --team " + d.Name + "."
	switch {
	case h.TeamID != d.ID:
		return "No runner of this team was ever heard of. " + start
	case !now.Before(h.Until):
		return "No runner of this team was heard of since " + stamp(h.At) + ". " + start
	}
	return ""
}

// ProcessView is a process in the output of team_read_config.
type ProcessView struct {
	Name        string    `json:"name"`
	ProcessID   string    `json:"process_id"`
	State       State     `json:"state"`
	ExitCode    *int      `json:"exit_code,omitempty"`
	Signal      string    `json:"signal,omitempty"`
	Error       string    `json:"error,omitempty"`
	RequestedAt time.Time `json:"requested_at"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

// ConfigOutput is the output of team_read_config: a team, and the processes of its members.
type ConfigOutput struct {
	Config
	Processes []ProcessView `json:"processes" jsonschema:"of its members, for those who belong to the team"`
}

// withProcesses returns the output for a team with the processes of its members, which fetches have read.
func (d *document) withProcesses(found map[string]*storedProcess, fetched map[string]*store.Fetch) ConfigOutput {
	out := ConfigOutput{Config: d.Config, Processes: []ProcessView{}}
	for _, m := range d.Members {
		if f := fetched[m.Name]; f == nil || !f.Found {
			continue
		}
		p := found[m.Name]
		out.Processes = append(out.Processes, ProcessView{Name: m.Name, ProcessID: p.ProcessID, State: p.State,
			ExitCode: p.ExitCode, Signal: p.Signal, Error: p.Error, RequestedAt: p.RequestedAt, EndedAt: p.EndedAt})
	}
	return out
}

// processFetches returns fetches of the processes of the members, and where they are read to, both by the member's name.
func (d *document) processFetches() (found map[string]*storedProcess, fetched map[string]*store.Fetch) {
	found, fetched = map[string]*storedProcess{}, map[string]*store.Fetch{}
	for name, id := range d.Processes {
		found[name] = new(storedProcess)
		fetched[name] = processes.Fetch(id, found[name])
	}
	return found, fetched
}

// errUnknownTeam is the fault of team_read_config for a team that does not exist.
func errUnknownTeam(name string) error { return fault.New(fault.NotFound, "Team %s not found", name) }
