package wire

import "time"

// Version is the version of the contract. A hub takes every version up to its own.
const Version = 1

// Route and WaitRoute are the paths of the two operations. Both take POST with the JSON of an input.
const (
	Route     = "/v1/hook"
	WaitRoute = "/v1/hook/wait"
)

// Event is the kind of an event in a client.
type Event string

// The events. Start and Resume begin a session or continue it; every other event but End and Read begins one too where
// that was missed. Read tells nothing of the client: it fetches mail and state.
const (
	Start   Event = "start"
	Resume  Event = "resume"
	Prompt  Event = "prompt"
	Tool    Event = "tool"
	Edit    Event = "edit"
	Turn    Event = "turn"
	Compact Event = "compact"
	End     Event = "end"
	Read    Event = "read"
)

// The bounds of a call.
const (
	// MaxBytes is the largest MaxBytes of an input.
	MaxBytes = 4096
	// MaxAnswer is the size of an output as JSON, without the reasons about files, in bytes.
	MaxAnswer = 8192
	// MaxUsage is the number of records of usage in one call.
	MaxUsage = 50
	// MaxSessions is the number of sessions in one wait.
	MaxSessions = 100
)

// HookInput is the input of hook_event: one event of one session of a client.
type HookInput struct {
	Version int `json:"version" allow:"min=1,max=1" jsonschema:"of this contract: 1"`
	// Client is the name of the client, such as claude or codex.
	Client        string `json:"client" allow:"nonempty,max=40" jsonschema:"claude, codex, gemini, ..."`
	ClientVersion string `json:"clientVersion,omitempty" allow:"max=40"`
	Event         Event  `json:"event" allow:"enum=start|resume|prompt|tool|edit|turn|compact|end|read"`
	Thread        string `json:"thread" allow:"nonempty,max=200" jsonschema:"the client's own id of its session"`
	// SessionID is the session's address as an earlier answer gave it. Where it is left out, the session is the
	// caller's one with the same client and thread.
	SessionID string `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"as an earlier answer gave it"`
	Name      string `json:"name,omitempty" allow:"max=200" jsonschema:"of the session, for people; by default the client and the directory's last part"`
	Host      string `json:"host,omitempty" allow:"max=100"`
	Directory string `json:"directory,omitempty" allow:"max=300" jsonschema:"absolute"`
	Branch    string `json:"branch,omitempty" allow:"max=200"`
	Worktree  string `json:"worktree,omitempty" allow:"max=200"`
	// Project is the canonical id of the repository, as reservations of files have it.
	Project  string `json:"project,omitempty" allow:"max=300" jsonschema:"the repository as host/owner/name"`
	Model    string `json:"model,omitempty" allow:"max=100"`
	Headless bool   `json:"headless,omitempty" jsonschema:"no person is at this session's terminal"`
	// Permissions are the person's rules for the client's permission requests, which the person sees in the console. Without
	// them those of an earlier call stand.
	Permissions *Permissions `json:"permissions,omitempty"`
	// Doing is a tool's name and a safe summary, never contents.
	Doing string `json:"doing,omitempty" allow:"max=200" jsonschema:"a tool's name and a safe summary"`
	// Paths are the files that the event edit is about, and Changed those that a call which is over has changed. Both are
	// relative to the repository's root.
	Paths   []string `json:"paths,omitempty" allow:"max=100,each=300" jsonschema:"event edit: what is about to be edited, relative"`
	Changed []string `json:"changed,omitempty" allow:"max=100,each=300" jsonschema:"files that a shell call has changed, relative"`
	// MaxBytes bounds mail and answers together, as JSON. Zero leaves them out: the counts in Waiting tell of them.
	MaxBytes int `json:"maxBytes,omitempty" allow:"min=0,max=4096" jsonschema:"how much mail and answers may come; 0: counts alone"`
	// Receipt confirms the mail and the answers of an earlier output. A repeated one changes nothing.
	Receipt string  `json:"receipt,omitempty" allow:"max=100" jsonschema:"of an earlier answer, which reached the model"`
	Usage   []Usage `json:"usage,omitempty" allow:"max=50" jsonschema:"from the client's own records, each counted once"`
}

// Permissions are the rules by which a person, or Parley at once, answers a client's permission requests.
type Permissions struct {
	// On reports that requests ring the person.
	On bool `json:"on"`
	// Assurance is the assurance that the person's answer needs, and Timeout the time in seconds after which the client
	// asks by itself.
	Assurance string `json:"assurance,omitempty" allow:"max=40"`
	Timeout   int64  `json:"timeout,omitempty" allow:"min=0,max=86400" jsonschema:"seconds until the client asks by itself"`
	// Allow and Deny are the patterns of requests that are answered at once.
	Allow []string `json:"allow,omitempty" allow:"max=50,each=200" jsonschema:"patterns that are allowed at once"`
	Deny  []string `json:"deny,omitempty" allow:"max=50,each=200" jsonschema:"patterns that are denied at once, which wins"`
}

// Usage is a record of a client about one call of a model.
type Usage struct {
	// ID is the record's own. The program's records with one id are counted once, whichever session reports them.
	ID           string  `json:"id" allow:"nonempty,max=200"`
	Model        string  `json:"model,omitempty" allow:"max=100"`
	TokensIn     int64   `json:"tokensIn,omitempty" allow:"min=0,max=1000000000"`
	TokensOut    int64   `json:"tokensOut,omitempty" allow:"min=0,max=1000000000"`
	TokensCached int64   `json:"tokensCached,omitempty" allow:"min=0,max=1000000000" jsonschema:"read from a cache, beside tokensIn"`
	CostUSD      float64 `json:"costUsd,omitempty" allow:"min=0,max=1000000"`
	TaskID       string  `json:"taskId,omitempty" allow:"max=100,pattern=id" jsonschema:"the task that it was spent on; by default the only one that the session holds"`
}

// HookOutput is the output of hook_event. Texts of others have no control characters but line ends.
type HookOutput struct {
	Version   int    `json:"version"`
	SessionID string `json:"sessionId" jsonschema:"the session's address: the target of messages to it alone"`
	Program   string `json:"program"`
	Verified  bool   `json:"verified"`
	Thread    string `json:"thread"`
	// Pause is in force for this session. It goes on with its mail unread and its heartbeat.
	Pause   *Pause   `json:"pause,omitempty"`
	Mail    []Mail   `json:"mail,omitempty" jsonschema:"most urgent first"`
	Answers []Answer `json:"answers,omitempty" jsonschema:"to questions of this session or its program"`
	// Receipt confirms exactly Mail and Answers. Without it they come again, mail after two minutes and marked as again.
	Receipt string `json:"receipt,omitempty"`
	// More counts the messages and answers that wait beside Mail and Answers, at most 50.
	More    int     `json:"more,omitempty" jsonschema:"messages and answers that wait and were left out"`
	Claims  []Claim `json:"claims,omitempty" jsonschema:"start, resume, compact: all it holds, at most 20; else what changed"`
	Waiting Waiting `json:"waiting"`
	Others  []Other `json:"others,omitempty" jsonschema:"start, resume, compact: who else works in the project, at most 10"`
	// Files is there for the event edit, and where Changed has files that another holds.
	Files *Files `json:"files,omitempty"`
}

// Pause is a person's order to halt.
type Pause struct {
	Words string    `json:"words,omitempty"`
	By    string    `json:"by"`
	Since time.Time `json:"since"`
	Of    string    `json:"of" jsonschema:"everything, or what is paused"`
}

// Mail is a message.
type Mail struct {
	MessageID string `json:"messageId"`
	// From is the sender's session where it is known, else its program.
	From      string    `json:"from" jsonschema:"the target of a reply"`
	Verified  bool      `json:"verified"`
	Human     bool      `json:"human,omitempty" jsonschema:"a person sent it"`
	To        string    `json:"to" jsonschema:"the inbox that it lay in: this session's, or the program's"`
	Type      string    `json:"type"`
	Priority  string    `json:"priority"`
	Text      string    `json:"text"`
	Truncated bool      `json:"truncated,omitempty" jsonschema:"get_messages with includeDelivered has it whole"`
	At        time.Time `json:"at"`
	Again     bool      `json:"again,omitempty" jsonschema:"the model may have seen it before"`
	ThreadID  string    `json:"threadId,omitempty"`
	ReplyTo   string    `json:"replyTo,omitempty"`
}

// Answer is a person's answer to a question.
type Answer struct {
	QuestionID string    `json:"questionId"`
	Question   string    `json:"question" jsonschema:"its beginning"`
	Answer     string    `json:"answer"`
	Truncated  bool      `json:"truncated,omitempty" jsonschema:"get_response has it whole"`
	By         string    `json:"by"`
	With       string    `json:"with" jsonschema:"the assurance: local or device"`
	At         time.Time `json:"at"`
	Again      bool      `json:"again,omitempty" jsonschema:"the model may have seen it before"`
}

// Claim is a task that the session holds, or held when it was told last.
type Claim struct {
	TaskID     string    `json:"taskId"`
	Title      string    `json:"title"`
	Status     string    `json:"status"`
	ClaimToken int64     `json:"claimToken,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	Lost       string    `json:"lost,omitempty" jsonschema:"why it is not held any more"`
}

// Waiting counts the mail, answers and tasks for the session, each up to 50, including those in this output. Tasks and
// Questions are counted at start, resume, prompt, turn, compact and read, and left out at other events.
type Waiting struct {
	Mail      int `json:"mail" jsonschema:"unread messages"`
	Urgent    int `json:"urgent,omitempty" jsonschema:"of these, what wants an answer (DIRECTIVE, QUERY) or has the priority high"`
	Answers   int `json:"answers,omitempty" jsonschema:"answers to its questions"`
	Tasks     int `json:"tasks,omitempty" jsonschema:"tasks that its program may claim"`
	Questions int `json:"questions,omitempty" jsonschema:"questions of its program without an answer"`
	Held      int `json:"held,omitempty" jsonschema:"tasks that the session holds"`
}

// Other is another session in the same project.
type Other struct {
	SessionID string   `json:"sessionId"`
	Program   string   `json:"program"`
	Client    string   `json:"client,omitempty"`
	Doing     string   `json:"doing,omitempty"`
	Branch    string   `json:"branch,omitempty"`
	Worktree  string   `json:"worktree,omitempty"`
	Directory string   `json:"directory,omitempty"`
	Host      string   `json:"host,omitempty"`
	State     string   `json:"state,omitempty"`
	Holds     []string `json:"holds,omitempty" jsonschema:"patterns that it has reserved, at most 5"`
}

// The verdicts on files.
const (
	Pass = "pass"
	Warn = "warn"
	Deny = "deny"
)

// Files is the decision about an edit.
type Files struct {
	Verdict string   `json:"verdict" jsonschema:"pass, warn or deny"`
	Reason  []string `json:"reason,omitempty" jsonschema:"lines: first what matters most, at last what to do"`
	// Auto and Strict are settings of the project, to be remembered for the time that the hub cannot be reached.
	Auto   bool `json:"auto,omitempty" jsonschema:"edits are reserved by themselves"`
	Strict bool `json:"strict,omitempty" jsonschema:"edits are refused while the hub cannot be asked"`
	// Reserved means that this call has reserved the files, or extended the session's reservations of them.
	Reserved bool `json:"reserved,omitempty" jsonschema:"the files are reserved for the session"`
}
