package team

import (
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// State is where a member's process stands.
type State string

// The states. Exited, Failed and Killed are ends; a lost process may be found again.
const (
	Requested State = "requested"
	Starting  State = "starting"
	Running   State = "running"
	Exited    State = "exited"
	Failed    State = "failed"
	Killed    State = "killed"
	Lost      State = "lost"
)

// reports are the states that a runner may report of a process in a given state. A
// state is always reported again without harm.
var reports = map[State][]State{
	Starting: {Running, Exited, Failed, Killed, Lost},
	Running:  {Exited, Failed, Killed, Lost},
	Lost:     {Running, Exited, Failed, Killed},
}

// Ended says whether nothing runs any more, as far as anybody knows.
func (s State) Ended() bool { return s == Exited || s == Failed || s == Killed || s == Lost }

// Wanted is what is to become of a process.
type Wanted string

// What is wanted: that it runs, or that it is ended.
const (
	WantRunning Wanted = "running"
	WantEnded   Wanted = "ended"
)

// ProcessRetention is how long an ended process is kept.
const ProcessRetention = 7 * 24 * time.Hour

// Process is a member's process: what is wanted, and what its runner reports.
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

// keptProcess is a process as it is kept.
type keptProcess struct {
	Process
	TeamID string `json:"teamId"`
	// Runner holds the process. It is known to that runner alone, and never shown.
	Runner string `json:"runner,omitempty"`
	// Calls say whom the process waits for: any runner, or the one that holds it.
	Calls []string `json:"calls"`
	// PurgeAt is set when the process has ended, or is to.
	PurgeAt time.Time `json:"purgeAt,omitzero"`
}

var processes = store.Collection[keptProcess]{Name: "teamProcesses",
	Indexes:   []string{"teamId,calls[],requested_at", "teamId,requested_at desc"},
	Unindexed: []string{"error", "cwd", "log_file"}}

// The calls of a process.
const callStart = "start"

func callHeld(runner string) string { return "held:" + runner }

func callEnd(runner string) string { return "end:" + runner }

// touch brings the calls in line with the state. A lost process still calls for its
// runner, which may come back.
func (p *keptProcess) touch(now time.Time) {
	p.Calls, p.PurgeAt = []string{}, time.Time{}
	if p.State.Ended() || p.Wanted == WantEnded {
		p.PurgeAt = now.Add(ProcessRetention)
	}
	switch {
	case p.State == Requested:
		p.Calls = []string{callStart}
	case p.State.Ended() && p.State != Lost:
	case p.Wanted == WantEnded:
		p.Calls = []string{callHeld(p.Runner), callEnd(p.Runner)}
	default:
		p.Calls = []string{callHeld(p.Runner)}
	}
}

// Claim gives the process to a runner, the first that asks. That runner gets it again
// while it has not ended; for any other it is Precondition.
func (p *keptProcess) Claim(runner string, now time.Time) (again bool, err error) {
	switch {
	case p.State == Requested:
		p.State, p.Runner = Starting, runner
		p.touch(now)
		return false, nil
	case p.Runner == runner && !p.State.Ended():
		return true, nil
	case p.State.Ended():
		return false, fault.New(fault.Precondition, "the process of %s has ended (%s)", p.Name, p.State)
	}
	return false, fault.New(fault.Precondition, "another runner has claimed the process of %s", p.Name)
}

// Word is what a runner says of a process.
type Word struct {
	State     State
	PID       int64
	StartedAt string
	ExitCode  *int
	Signal    string
	Error     string
	LogFile   string
}

// Hear takes in what its runner reports, and says whether the state is another than
// before. A runner that does not hold the process is Forbidden, a state that cannot
// follow Precondition.
func (p *keptProcess) Hear(runner string, w Word, now time.Time) (news bool, err error) {
	if p.Runner == "" || p.Runner != runner {
		return false, fault.New(fault.Forbidden, "this runner does not hold the process of %s; claim it first", p.Name)
	}
	if w.State == p.State {
		return false, nil
	}
	if !slices.Contains(reports[p.State], w.State) {
		return false, fault.New(fault.Precondition, "Cannot report %s of a process that is %s", w.State, p.State)
	}
	p.State = w.State
	if w.PID != 0 {
		p.PID, p.StartedAt = w.PID, w.StartedAt
	}
	if w.LogFile != "" {
		p.LogFile = w.LogFile
	}
	p.ExitCode, p.Signal, p.Error, p.EndedAt = w.ExitCode, w.Signal, w.Error, time.Time{}
	if p.State.Ended() {
		p.EndedAt = now
	}
	p.touch(now)
	return true, nil
}

// End asks for the end of the process. One that no runner has begun ends at once.
func (p *keptProcess) End(now time.Time) {
	p.Wanted = WantEnded
	if p.State == Requested {
		p.State, p.EndedAt = Killed, now
	}
	p.touch(now)
}

// Lose notes that its runner was not heard of, and says whether that is news.
func (p *keptProcess) Lose(now time.Time) bool {
	if p.State != Starting && p.State != Running {
		return false
	}
	p.State, p.EndedAt, p.Error = Lost, now, "its runner was not heard of"
	p.touch(now)
	return true
}
