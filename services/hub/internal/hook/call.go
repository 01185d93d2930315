package hook

// Kind is the kind of an event in a client's session.
type Kind string

// The kinds of calls. Nothing stands for an event that a hook has no part in.
const (
	Nothing    Kind = ""
	Start      Kind = "start"
	Resume     Kind = "resume"
	Prompt     Kind = "prompt"
	Before     Kind = "before"
	Edit       Kind = "edit"
	After      Kind = "after"
	Turn       Kind = "turn"
	Compacting Kind = "compacting"
	Compacted  Kind = "compacted"
	Permission Kind = "permission"
	Interrupt  Kind = "interrupt"
	Subagent   Kind = "subagent"
	End        Kind = "end"
)

// Call is one event of a client's session.
type Call struct {
	// Client is the client's name, and Event the client's own name of the event, which its answer repeats.
	Client string `json:"client"`
	Event  string `json:"event"`
	Kind   Kind   `json:"kind"`
	// Thread is the client's own id of the session.
	Thread     string `json:"thread"`
	Transcript string `json:"transcript,omitempty"`
	// AgentTranscript is the record of a subagent whose work has ended, or goes on after it rested.
	AgentTranscript string `json:"agentTranscript,omitempty"`
	Dir             string `json:"dir,omitempty"`
	Model           string `json:"model,omitempty"`
	// Version is the client's version, where it is known.
	Version string `json:"version,omitempty"`
	// Tool is the name of the tool, and Doing a safe summary of the call.
	Tool  string `json:"tool,omitempty"`
	Doing string `json:"doing,omitempty"`
	// Use is the client's own id of the tool's call, which the events before and after it share; empty where it gives none.
	Use string `json:"use,omitempty"`
	// About names the call that a permission request is for, and the same call when it is over; clients give a request no id.
	About string `json:"about,omitempty"`
	// Agent is the client's own id of the subagent that an event is about, empty for the session's own events.
	Agent string `json:"agent,omitempty"`
	// Subject is the subject of a permission request: the command, the path, or the input in short.
	Subject string `json:"subject,omitempty"`
	// Exact are the whole command, or each path, that rules of permissions are compared with; none where it is unknown.
	Exact []string `json:"exact,omitempty"`
	// Content is the text that a permission request would write, in short, a line for each of its lines.
	Content string `json:"content,omitempty"`
	// Unsandboxed reports a permission request of a command that is to run outside of the client's sandbox.
	Unsandboxed bool `json:"unsandboxed,omitempty"`
	// Paths are the files that an edit is about to change, as the client names them.
	Paths []string `json:"paths,omitempty"`
	// Shell reports a call of a shell, which may have changed files.
	Shell bool `json:"shell,omitempty"`
	// Human reports a prompt that does not come from a wake.
	Human bool `json:"human,omitempty"`
	// Continued reports the end of a turn that a hook had continued.
	Continued bool `json:"continued,omitempty"`
	// Interrupted reports a tool call that the person stopped.
	Interrupted bool `json:"interrupted,omitempty"`
	// Forked reports the start of a session whose record begins with a copy of another's.
	Forked bool `json:"forked,omitempty"`
	// Headless reports a client without a person before it.
	Headless bool `json:"headless,omitempty"`
	// To is the target of a message or a task that the agent sent with a tool, and Type the type of it, TASK for a task.
	To   string `json:"to,omitempty"`
	Type string `json:"type,omitempty"`
	// ReadsHistory reports a tool that read the mail that was delivered before, which may be what a hook holds ready.
	ReadsHistory bool `json:"readsHistory,omitempty"`
	// PID is the client's process where it says so, else 0.
	PID int `json:"pid,omitempty"`
}

// Limits of the input of a client.
const (
	maxThread  = 200
	maxDoing   = 200
	maxSubject = 600
	maxContent = 1200
	maxExact   = 4000
	maxPaths   = 100
	maxPath    = 1000
	// MaxInput is the largest input of a hook that is read whole. Of a larger one [ParseHead] reads what a pause needs.
	MaxInput = 8 << 20
)
