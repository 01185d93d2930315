package wire

// WaitInput is the input of wait_hook: one wait for all sessions of the caller's program on a machine.
type WaitInput struct {
	Version  int         `json:"version" allow:"min=1,max=1" jsonschema:"of this contract: 1"`
	Sessions []WaitedFor `json:"sessions" allow:"nonempty,max=100"`
	WaitMs   int         `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for a change"`
}

// WaitedFor is a session in a wait.
type WaitedFor struct {
	SessionID string `json:"sessionId" allow:"nonempty,max=100,pattern=session"`
	// Since is the value that the last output gave for the session.
	Since string `json:"since,omitempty" allow:"max=100" jsonschema:"as the last answer gave it; empty at first"`
}

// WaitOutput is the output of wait_hook: the sessions whose Since differs, none where the time was over before. A wait
// reads nothing for anybody: mail stays unread.
type WaitOutput struct {
	Version  int       `json:"version"`
	Sessions []Changed `json:"sessions"`
}

// Changed is the changed state of a session: the counts of its mail and answers, and the reasons to wake it.
type Changed struct {
	SessionID string `json:"sessionId"`
	Since     string `json:"since" jsonschema:"opaque; give it to the next wait"`
	// Ended means that the session has ended or was never there. Nothing changes for it until it is resumed.
	Ended   bool     `json:"ended,omitempty"`
	Mail    int      `json:"mail,omitempty" jsonschema:"unread messages, at most 50"`
	Urgent  int      `json:"urgent,omitempty" jsonschema:"of these, what wants an answer or has the priority high"`
	Answers int      `json:"answers,omitempty" jsonschema:"answers to its questions that it was not told"`
	Lost    []string `json:"lost,omitempty" jsonschema:"ids of tasks that it does not hold any more and was not told of, at most 20"`
	Tasks   bool     `json:"tasks,omitempty" jsonschema:"a task waits that its program may claim"`
	Pause   *Pause   `json:"pause,omitempty"`
	// Wakes are the reasons to wake the agent, most urgent first. They are told in every output until the session has
	// read them, so the receiver remembers by ID which it has used.
	Wakes []Wake `json:"wakes,omitempty" jsonschema:"at most 10"`
}

// Wake is a reason to wake an agent.
type Wake struct {
	// ID is of the message, the question or the task.
	ID       string `json:"id"`
	From     string `json:"from"`
	Verified bool   `json:"verified"`
	// Human is set for a message or a task of a person. Receivers of before know a message of one by its kind alone.
	Human bool `json:"human,omitempty" jsonschema:"a person sent it"`
	// To is the inbox or queue: the session's address, or the program, of which one session is enough to wake.
	To      string `json:"to"`
	Kind    string `json:"kind" jsonschema:"a message's type (DIRECTIVE, QUERY, STATUS, ...), HUMAN for a person's message, ANSWER or TASK"`
	Summary string `json:"summary" jsonschema:"one line"`
	May     bool   `json:"may" jsonschema:"whether the sender may wake the session: a person, its team, its project, or whom it wrote to"`
}

// MaxSummary is the length of a wake's summary in characters.
const MaxSummary = 300
