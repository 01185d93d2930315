package team

import (
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// State is the state of a member's process.
type State string

// The states of a process. Exited, Failed and Killed are final; a Lost process may be
// reported as running again.
const (
	Requested State = "requested"
	Starting  State = "starting"
	Running   State = "running"
	Exited    State = "exited"
	Failed    State = "failed"
	Killed    State = "killed"
	Lost      State = "lost"
)

// transitions lists the states that a runner may report for a process in each state. A
// repeated report of the same state is always accepted.
var transitions = map[State][]State{
	Starting: {Running, Exited, Failed, Killed, Lost},
	Running:  {Exited, Failed, Killed, Lost},
	Lost:     {Running, Exited, Failed, Killed},
}

// Ended reports whether the process does not run, as far as the server knows. It is true of
// Lost.
func (s State) Ended() bool { return s == Exited || s == Failed || s == Killed || s == Lost }

// Wanted is the desired state of a process.
type Wanted string

// The desired states.
const (
	WantRunning Wanted = "running"
	WantEnded   Wanted = "ended"
)

// ProcessRetention is the time for which the record of an ended process is kept.
const ProcessRetention = 7 * 24 * time.Hour

// Process is a member's process: its desired state and its runner's reports.
type Process struct {
	ProcessID        string    `json:"process_id"`
	TeamName         string    `json:"team_name"`
	Name             string    `json:"name"`
	AgentID          string    `json:"agent_id"`
	AgentType        string    `json:"agent_type"`
	Model            string    `json:"model"`
	Color            string    `json:"color"`
	PlanModeRequired bool      `json:"plan_mode_required"`
	Cwd              string    `json:"cwd"`
	LeadSessionID    string    `json:"lead_session_id"`
	State            State     `json:"state"`
	Wanted           Wanted    `json:"wanted"`
	PID              int64     `json:"pid,omitempty"`
	StartedAt        string    `json:"started_at,omitempty" jsonschema:"tells the process from a later one of the same pid"`
	ExitCode         *int      `json:"exit_code,omitempty"`
	Signal           string    `json:"signal,omitempty"`
	Error            string    `json:"error,omitempty"`
	LogFile          string    `json:"log_file,omitempty" jsonschema:"on the runner's machine"`
	RequestedAt      time.Time `json:"requested_at"`
	EndedAt          time.Time `json:"ended_at,omitzero"`
}

// storedProcess is the document of a process.
type storedProcess struct {
	// ParentKey is the id of the key that the member's key descends from, and KeyID that of the member's key, which is made
	// when a runner claims the process.
	ParentKey string `json:"parentKey,omitempty"`
	KeyID     string `json:"keyId,omitempty"`
	Process
	TeamID string `json:"teamId"`
	// Runner is the id of the runner that holds the process. It is a secret of that runner
	// and is never part of an answer.
	Runner string `json:"runner,omitempty"`
	// Keys are the values by which runners query for processes to start, to end and to hold.
	Keys []string `json:"calls"`
	// PurgeAt is set once the process has ended or its end is requested.
	PurgeAt time.Time `json:"purgeAt,omitzero"`
}

var processes = store.Collection[storedProcess]{Name: "teamProcesses", PartOf: "a process",
	Indexes:   []string{"teamId,calls[],requested_at", "teamId,requested_at desc"},
	Unindexed: []string{"error", "cwd", "log_file"},
	Log:       "process", Note: func(p *storedProcess, _ string) store.Note {
		return store.Note{ID: p.ProcessID, Line: p.TeamName + "/" + p.Name, State: string(p.State), Program: p.Name}
	}}

// keyStart is the query key of a process that waits for any runner.
const keyStart = "start"

// keyHeld is the query key of the processes that a runner holds.
func keyHeld(runner string) string { return "held:" + runner }

// keyEnd is the query key of the processes that a runner must end.
func keyEnd(runner string) string { return "end:" + runner }

// index sets the query keys and the purge time from the state. A lost process keeps the key
// of its runner, which may come back; its record is kept as long as the member's key is valid,
// because the key is revoked by it.
func (p *storedProcess) index(now time.Time) {
	p.Keys, p.PurgeAt = []string{}, time.Time{}
	if p.State.Ended() && (p.State != Lost || p.KeyID == "") || p.Wanted == WantEnded {
		p.PurgeAt = now.Add(ProcessRetention)
	}
	switch {
	case p.State == Requested:
		p.Keys = []string{keyStart}
	case p.State.Ended() && p.State != Lost:
	case p.Wanted == WantEnded:
		p.Keys = []string{keyHeld(p.Runner), keyEnd(p.Runner)}
	default:
		p.Keys = []string{keyHeld(p.Runner)}
	}
}

// Claim gives a requested process to a runner. A repeated claim by the same runner succeeds
// with again set, as long as the process has not ended. A process that has ended or that
// another runner holds is Precondition.
func (p *storedProcess) Claim(runner string, now time.Time) (again bool, err error) {
	switch {
	case p.State == Requested:
		p.State, p.Runner = Starting, runner
		p.index(now)
		return false, nil
	case p.Runner == runner && !p.State.Ended():
		return true, nil
	case p.State.Ended():
		return false, fault.New(fault.Precondition, "the process of %s has ended (%s)", p.Name, p.State)
	}
	return false, fault.New(fault.Precondition, "another runner has claimed the process of %s", p.Name)
}

// Report is a runner's report on a process.
type Report struct {
	State     State
	PID       int64
	StartedAt string
	ExitCode  *int
	Signal    string
	Error     string
	LogFile   string
}

// Apply applies the report of a runner and returns whether the state changed. A runner that
// does not hold the process is Forbidden; a state that cannot follow the current one is
// Precondition.
func (p *storedProcess) Apply(runner string, r Report, now time.Time) (changed bool, err error) {
	if p.Runner == "" || p.Runner != runner {
		return false, fault.New(fault.Forbidden, "this runner does not hold the process of %s; claim it first", p.Name)
	}
	if r.State == p.State {
		return false, nil
	}
	if !slices.Contains(transitions[p.State], r.State) {
		return false, fault.New(fault.Precondition, "Cannot report %s of a process that is %s", r.State, p.State)
	}
	p.State = r.State
	if r.PID != 0 {
		p.PID, p.StartedAt = r.PID, r.StartedAt
	}
	if r.LogFile != "" {
		p.LogFile = r.LogFile
	}
	p.ExitCode, p.Signal, p.Error, p.EndedAt = r.ExitCode, r.Signal, r.Error, time.Time{}
	if p.State.Ended() {
		p.EndedAt = now
	}
	p.index(now)
	return true, nil
}

// End requests the end of the process. A process that no runner has claimed ends at once.
func (p *storedProcess) End(now time.Time) {
	p.Wanted = WantEnded
	if p.State == Requested {
		p.State, p.EndedAt = Killed, now
	}
	p.index(now)
}

// MarkLost makes a starting or running process lost, because its runner is silent. It reports
// whether the state changed.
func (p *storedProcess) MarkLost(now time.Time) bool {
	if p.State != Starting && p.State != Running {
		return false
	}
	p.State, p.EndedAt, p.Error = Lost, now, "its runner was not heard of"
	p.index(now)
	return true
}
