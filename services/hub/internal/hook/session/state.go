package session

import (
	"time"

	"parley.internal/services/hub/internal/connectd/wake"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/usage"
	"parley.internal/shared/hook/wire"
)

// State is the record of a session on its machine. It is stored as JSON.
type State struct {
	Connection string `json:"connection"`
	Client     string `json:"client"`
	Thread     string `json:"thread"`
	// SessionID is the session's address, once the server has given it.
	SessionID string `json:"sessionId,omitempty"`
	Program   string `json:"program,omitempty"`
	Verified  bool   `json:"verified,omitempty"`

	Dir      string     `json:"dir,omitempty"`
	Repo     Repository `json:"repo,omitzero"`
	Model    string     `json:"model,omitempty"`
	Version  string     `json:"version,omitempty"`
	Headless bool       `json:"headless,omitempty"`
	// Process is the client's, where it is known.
	Process Process `json:"process,omitzero"`
	// Terminal is the one before which a person sits, where it is known.
	Terminal Terminal `json:"terminal,omitzero"`
	// Env are the variables with which the client's own program is called.
	Env map[string]string `json:"env,omitempty"`
	// Seen is the time of the last hook, to the minute.
	Seen time.Time `json:"seen,omitzero"`
	// Ended means that the client has ended the session and the server has yet to know.
	Ended bool `json:"ended,omitempty"`

	// InTurn reports that the model works, as far as hooks tell.
	InTurn bool `json:"inTurn,omitempty"`
	// TurnBytes is how much the turn was told.
	TurnBytes int `json:"turnBytes,omitempty"`
	// Continued is how often in a row a hook has continued the turn.
	Continued   int  `json:"continued,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Retell means that the model has forgotten its address, as after a compaction.
	Retell bool `json:"retell,omitempty"`

	Pause   *wire.Pause           `json:"pause,omitempty"`
	Waiting wire.Waiting          `json:"waiting,omitzero"`
	Told    wire.Waiting          `json:"told,omitzero"`
	Claims  map[string]wire.Claim `json:"claims,omitempty"`
	// Receipts are the receipts of shown output that the server has not got yet.
	Receipts []string `json:"receipts,omitempty"`

	Wake  wake.State     `json:"wake,omitzero"`
	Usage usage.Position `json:"usage,omitzero"`
	// Subagents are the records of its subagents.
	Subagents []usage.Position `json:"subagents,omitempty"`
	// Transcript is the client's record.
	Transcript string `json:"transcript,omitempty"`
	// Commands are the calls of a shell that have begun, by the client's ids, where no daemon looks after them.
	Commands map[string]Command `json:"commands,omitempty"`
}

// Command is a call of a shell: when it began, and which commit was checked out.
type Command struct {
	At   time.Time `json:"at"`
	Head string    `json:"head,omitempty"`
}

// Process is a process that is told from a later one with its number by the time that it started, as the system gives it.
type Process struct {
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`
}

// Terminal is a terminal, and the process that leads its session: another terminal with the same path has another one.
type Terminal struct {
	Path   string  `json:"path,omitempty"`
	Leader Process `json:"leader,omitzero"`
}

// Repository is the git repository of the session's directory.
type Repository struct {
	// Dir is the directory for which the other fields were found.
	Dir      string `json:"dir,omitempty"`
	Root     string `json:"root,omitempty"`
	Common   string `json:"common,omitempty"`
	Project  string `json:"project,omitempty"`
	Worktree string `json:"worktree,omitempty"`
}

// MaxContinued is how often in a row the end of a turn may continue it.
const MaxContinued = 3

// Begin records the call of a hook.
func (s *State) Begin(c hook.Call, now time.Time) {
	s.Client, s.Thread = c.Client, c.Thread
	s.Headless = s.Headless || c.Headless
	s.Ended = false
	s.Seen = now.UTC().Truncate(time.Minute)
	if c.Dir != "" {
		s.Dir = c.Dir
	}
	if c.Model != "" {
		s.Model = c.Model
	}
	if c.Version != "" {
		s.Version = c.Version
	}
	if c.Transcript != "" {
		s.Transcript = c.Transcript
	}
	switch c.Kind {
	case hook.Start, hook.Resume:
		s.InTurn, s.TurnBytes, s.Continued, s.Interrupted, s.Retell = false, 0, 0, false, false
		if c.Forked && s.Usage.Path == "" {
			s.Usage.Forked = now.UTC()
		}
	case hook.Compacted:
		s.Retell = false
	case hook.Compacting:
		s.Retell = true
	case hook.Prompt:
		s.InTurn, s.TurnBytes = true, 0
		s.Wake.Active(c.Human)
		if c.Human {
			s.Continued, s.Interrupted = 0, false
		}
	case hook.Before, hook.Edit, hook.Permission:
		s.InTurn = true
		s.Wake.Active(false)
	case hook.After:
		s.after(c)
	case hook.Interrupt:
		s.InTurn, s.Interrupted = false, true
	case hook.Turn:
		s.InTurn = false
		if !c.Continued {
			s.Continued = 0
		}
	case hook.Subagent:
		s.subagent(c.AgentTranscript)
	case hook.End:
		s.InTurn, s.Ended = false, true
	}
}

// after records the end of a tool's call. The one that the person stopped ends the turn, and so do those beside it, which may
// be told later.
func (s *State) after(c hook.Call) {
	s.Interrupted = s.Interrupted || c.Interrupted
	s.InTurn = !c.Interrupted && (s.InTurn || !s.Interrupted)
	s.Wake.Active(false)
	if c.To != "" {
		s.Wake.Sent(c.To, c.Type)
	}
}

// Heard records the server's answer. Its pause and its counts of waiting work apply only if the answer is the latest.
func (s *State) Heard(e wire.Event, out wire.HookOutput, latest bool) {
	s.SessionID, s.Program, s.Verified = out.SessionID, out.Program, out.Verified
	if latest {
		s.Pause = out.Pause
		w := out.Waiting
		if e == wire.Tool || e == wire.Edit || e == wire.End { // these do not count everything
			w.Tasks, w.Questions = s.Waiting.Tasks, s.Waiting.Questions
		}
		s.Waiting = w
	}
	if s.Claims == nil || e == wire.Start || e == wire.Resume || e == wire.Compact {
		s.Claims = map[string]wire.Claim{}
	}
	for _, c := range out.Claims {
		if c.Lost != "" {
			delete(s.Claims, c.TaskID)
		} else {
			s.Claims[c.TaskID] = c
		}
	}
	if latest && out.Waiting.Held == 0 {
		clear(s.Claims)
	}
}

// maxReceipts bounds the receipts that are kept for a server that is away. The oldest go first: their messages come again,
// marked as such.
const maxReceipts = 50

// Printed records that the client has an output of the server: its receipt is due, and the mail and answers in it wake
// no more. Mail of a person ends the exchanges of agents, as a wake by it does.
func (s *State) Printed(out wire.HookOutput) {
	s.Shown(out.Receipt)
	for _, m := range out.Mail {
		s.Wake.Use(m.MessageID)
		if m.Human {
			s.Wake.Reset()
		}
	}
	for _, a := range out.Answers {
		s.Wake.Use(a.QuestionID)
	}
}

// Shown records a receipt: the client has the mail and answers that it confirms.
func (s *State) Shown(receipt string) {
	for _, r := range s.Receipts {
		if r == receipt {
			return
		}
	}
	if receipt == "" {
		return
	}
	if s.Receipts = append(s.Receipts, receipt); len(s.Receipts) > maxReceipts {
		s.Receipts = s.Receipts[1:]
	}
}

// Confirmed records that the server has a receipt.
func (s *State) Confirmed(receipt string) {
	for i, r := range s.Receipts {
		if r == receipt {
			s.Receipts = append(s.Receipts[:i:i], s.Receipts[i+1:]...)
			return
		}
	}
}
