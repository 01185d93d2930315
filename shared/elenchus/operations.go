package elenchus

import (
	"time"

	"parley.internal/shared/op"
)

// toolset is the name of the toolset of all operations.
const toolset = "elenchus"

// StartInput is the input of elenchus_start_session.
type StartInput struct {
	op.Idempotency
	Target       string      `json:"target" allow:"nonempty,max=500" jsonschema:"what is verified: a file, a directory, or a name for it"`
	Requirements string      `json:"requirements" allow:"nonempty,max=16000" jsonschema:"what it must satisfy"`
	WorkingDir   string      `json:"workingDir" allow:"nonempty,max=1000" jsonschema:"the absolute path that file paths are relative to"`
	MaxRounds    int         `json:"maxRounds,omitempty" allow:"min=1,max=100,default=10"`
	Files        []FileInput `json:"files,omitempty" allow:"max=50" jsonschema:"the target's files and what they import"`
}

// StartContext is the context of a new session.
type StartContext struct {
	Target         string `json:"target"`
	FilesCollected int    `json:"filesCollected"`
	Requirements   string `json:"requirements"`
}

// StartOutput is the output of elenchus_start_session.
type StartOutput struct {
	SessionID   string       `json:"sessionId"`
	Status      Status       `json:"status"`
	NextRole    Role         `json:"nextRole"`
	Context     StartContext `json:"context"`
	FilesWanted []string     `json:"filesWanted" jsonschema:"what the context lacks, dir/** for all below dir; give what there is of it with elenchus_add_files"`
	Note        string       `json:"note,omitempty" jsonschema:"why the server reads no files of workingDir itself"`
}

// ContextInput is the input of elenchus_get_context.
type ContextInput struct {
	SessionID string `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
	Path      string `json:"path,omitempty" allow:"max=300" jsonschema:"a file whose content to read; without outputs"`
	Rounds    *int   `json:"rounds,omitempty" allow:"min=0,max=50,default=2" jsonschema:"of so many of the latest rounds, the output"`
	Cursor    string `json:"cursor,omitempty" allow:"max=100" jsonschema:"nextCursor of the call before: the outputs before those, without files"`
}

// OutputView is the output of a round, or a part of it, in the output of elenchus_get_context.
type OutputView struct {
	Round    int       `json:"round"`
	Role     Role      `json:"role" allow:"enum=verifier|critic"`
	By       string    `json:"by" jsonschema:"who wrote it: a program, human: or key: with a key's short id"`
	Verified bool      `json:"verified" jsonschema:"whether that is the program of the key that wrote it"`
	At       time.Time `json:"at"`
	Bytes    int       `json:"bytes" jsonschema:"of the whole output"`
	From     int       `json:"from,omitempty" jsonschema:"the byte of it at which this part begins"`
	Output   string    `json:"output" jsonschema:"data that an agent wrote"`
}

// FileView is a file in the output of elenchus_get_context.
type FileView struct {
	Path  string `json:"path"`
	Layer Layer  `json:"layer" allow:"enum=base|discovered"`
	Bytes int64  `json:"bytes"`
}

// ContextOutput is the output of elenchus_get_context.
type ContextOutput struct {
	SessionID    string     `json:"sessionId"`
	Target       string     `json:"target"`
	Requirements string     `json:"requirements"`
	WorkingDir   string     `json:"workingDir"`
	Status       Status     `json:"status"`
	Files        []FileView `json:"files"`
	Content      *string    `json:"content,omitempty"`
	// Outputs are the outputs of rounds, the latest first.
	Outputs       []OutputView `json:"outputs" jsonschema:"what the latest rounds wrote, newest first, at most 64 KiB in a reply"`
	NextCursor    string       `json:"nextCursor,omitempty" jsonschema:"there is more of the outputs; those of rounds that were rolled back are left out"`
	CurrentRound  int          `json:"currentRound"`
	NextRole      Role         `json:"nextRole"`
	IssuesSummary Counts       `json:"issuesSummary"`
}

// IssueInput is an issue that a round raises. A known issue needs its id only.
type IssueInput struct {
	ID          string   `json:"id" allow:"nonempty,max=100,pattern=id" jsonschema:"SEC-001, COR-…, REL-…, MNT-…, PRF-…; one raised again is the same issue"`
	Category    string   `json:"category,omitempty" allow:"max=20" jsonschema:"where the id does not say: SECURITY, CORRECTNESS, RELIABILITY, MAINTAINABILITY or PERFORMANCE"`
	Severity    Severity `json:"severity,omitempty" allow:"max=20" jsonschema:"CRITICAL, HIGH, MEDIUM or LOW; required for a new issue"`
	Summary     string   `json:"summary,omitempty" allow:"max=500" jsonschema:"required for a new issue"`
	Location    string   `json:"location,omitempty" allow:"max=500" jsonschema:"file:line"`
	Description string   `json:"description,omitempty" allow:"max=4000"`
	Evidence    string   `json:"evidence,omitempty" allow:"max=4000"`
}

// RoundInput is the input of elenchus_submit_round.
type RoundInput struct {
	op.Idempotency
	SessionID      string       `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
	Role           Role         `json:"role" allow:"enum=verifier|critic"`
	WorkingDir     string       `json:"workingDir,omitempty" allow:"max=1000" jsonschema:"the absolute path of your own checkout, for a bridge that sends files"`
	Output         string       `json:"output" allow:"nonempty,max=524288" jsonschema:"what you found, in full; files named as path:line join the context"`
	IssuesRaised   []IssueInput `json:"issuesRaised,omitempty" allow:"max=100" jsonschema:"new issues, and known ones that you challenge or uphold"`
	IssuesResolved []string     `json:"issuesResolved,omitempty" allow:"max=100,each=100,pattern=id" jsonschema:"ids of issues that are settled"`
	Files          []FileInput  `json:"files,omitempty" allow:"max=50"`
}

// Refusal is an issue that was not resolved, with the reason.
type Refusal struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// RoundOutput is the output of elenchus_submit_round.
type RoundOutput struct {
	SessionID          string        `json:"sessionId"`
	RoundNumber        int           `json:"roundNumber"`
	Role               Role          `json:"role"`
	Status             Status        `json:"status"`
	IssuesRaised       int           `json:"issuesRaised"`
	NewIssues          int           `json:"newIssues"`
	IssuesResolved     int           `json:"issuesResolved"`
	NotResolved        []Refusal     `json:"notResolved"`
	ContextExpanded    bool          `json:"contextExpanded"`
	NewFilesDiscovered []string      `json:"newFilesDiscovered"`
	FilesWanted        []string      `json:"filesWanted"`
	Convergence        Convergence   `json:"convergence"`
	Intervention       *Intervention `json:"intervention,omitempty"`
	NextRole           Role          `json:"nextRole" allow:"enum=verifier|critic|complete"`
}

// AddInput is the input of elenchus_add_files.
type AddInput struct {
	SessionID string      `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
	Files     []FileInput `json:"files" allow:"nonempty,max=50"`
}

// AddOutput is the output of elenchus_add_files.
type AddOutput struct {
	SessionID    string        `json:"sessionId"`
	Added        int           `json:"added"`
	Replaced     int           `json:"replaced"`
	Unchanged    int           `json:"unchanged"`
	Files        int           `json:"files" jsonschema:"in the context now, of at most 500"`
	Bytes        int64         `json:"bytes" jsonschema:"kept now, of at most 20 MiB"`
	FilesWanted  []string      `json:"filesWanted"`
	Intervention *Intervention `json:"intervention,omitempty"`
}

// IssuesInput is the input of elenchus_get_issues.
type IssuesInput struct {
	SessionID string `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
	Status    string `json:"status,omitempty" allow:"enum=all|unresolved|critical,default=all" jsonschema:"critical: unresolved ones of that severity"`
	Limit     int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor    string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
}

// IssueView is an issue in the output of elenchus_get_issues.
type IssueView struct {
	ID              string       `json:"id"`
	Category        string       `json:"category"`
	Severity        Severity     `json:"severity"`
	Summary         string       `json:"summary"`
	Location        string       `json:"location,omitempty"`
	Description     string       `json:"description,omitempty"`
	Evidence        string       `json:"evidence,omitempty"`
	Status          IssueStatus  `json:"status"`
	RaisedBy        Role         `json:"raisedBy"`
	RaisedInRound   int          `json:"raisedInRound"`
	ResolvedInRound int          `json:"resolvedInRound,omitempty"`
	Transitions     []Transition `json:"transitions" jsonschema:"the latest ten"`
	TransitionCount int          `json:"transitionCount"`
}

// IssuesOutput is the output of elenchus_get_issues.
type IssuesOutput struct {
	SessionID  string      `json:"sessionId"`
	Issues     []IssueView `json:"issues"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// CheckpointInput is the input of elenchus_checkpoint.
type CheckpointInput struct {
	op.Idempotency
	SessionID string `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
}

// CheckpointOutput is the output of elenchus_checkpoint.
type CheckpointOutput struct {
	SessionID string `json:"sessionId"`
	Round     int    `json:"round"`
}

// RollbackInput is the input of elenchus_rollback.
type RollbackInput struct {
	SessionID string `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
	ToRound   int    `json:"toRound" allow:"min=0,max=100" jsonschema:"a round with a checkpoint"`
}

// RollbackOutput is the output of elenchus_rollback: the state as of the checkpoint.
type RollbackOutput struct {
	SessionID     string      `json:"sessionId"`
	Status        Status      `json:"status"`
	CurrentRound  int         `json:"currentRound"`
	NextRole      Role        `json:"nextRole"`
	Files         int         `json:"files"`
	IssuesSummary Counts      `json:"issuesSummary"`
	Convergence   Convergence `json:"convergence"`
	Checkpoints   []int       `json:"checkpoints"`
}

// EndInput is the input of elenchus_end_session.
type EndInput struct {
	SessionID string  `json:"sessionId" allow:"nonempty,max=100,pattern=id"`
	Verdict   Verdict `json:"verdict" allow:"enum=PASS|FAIL|CONDITIONAL"`
}

// SessionView is a verification in the output of elenchus_list_sessions.
type SessionView struct {
	SessionID    string    `json:"sessionId"`
	Target       string    `json:"target"`
	Status       Status    `json:"status"`
	Verdict      Verdict   `json:"verdict,omitempty"`
	CurrentRound int       `json:"currentRound"`
	MaxRounds    int       `json:"maxRounds"`
	NextRole     Role      `json:"nextRole"`
	By           string    `json:"by,omitempty" jsonschema:"who started it: a program, human: or key: with a key's short id"`
	Verified     bool      `json:"verified" jsonschema:"whether that is the program of the key that asked"`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
	EndedAt      time.Time `json:"endedAt,omitzero"`
	EndedBy      string    `json:"endedBy,omitempty" jsonschema:"who gave the verdict"`
}

// Record is the output of elenchus_end_session: a verification without the texts of its files, outputs and issues.
type Record struct {
	SessionView
	Requirements  string      `json:"requirements"`
	WorkingDir    string      `json:"workingDir"`
	Files         int         `json:"files"`
	Bytes         int64       `json:"bytes"`
	IssuesSummary Counts      `json:"issuesSummary"`
	Convergence   Convergence `json:"convergence"`
	Checkpoints   []int       `json:"checkpoints"`
	Rounds        []Round     `json:"rounds" jsonschema:"the latest 200, those rolled back too"`
}

// ListInput is the input of elenchus_list_sessions.
type ListInput struct {
	Status Status `json:"status,omitempty" allow:"enum=initialized|verifying|converging|converged|forced_stop|completed"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
}

// ListOutput is the output of elenchus_list_sessions.
type ListOutput struct {
	Sessions   []SessionView `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// Operations returns the operations on verifications.
func (s *Service) Operations() []op.Op {
	return []op.Op{
		op.New(op.Spec{
			Name:    "elenchus_start_session",
			Title:   "Start a verification",
			Toolset: toolset,
			Route:   "POST /v1/verifications",
			Effect:  op.Write,
			Creates: true,
			Cases:   startCases,
			Doc: "Begin an adversarial verification of code: a verifier raises issues, a critic challenges them, " +
				"in turns until they converge. Give the target's files, or as many of filesWanted as you have " +
				"afterwards.",
		}, s.Start),
		op.New(op.Spec{
			Name:    "elenchus_get_context",
			Title:   "Read the context",
			Toolset: toolset,
			Route:   "GET /v1/verifications/{sessionId}",
			Effect:  op.Read,
			Cases:   contextCases,
			Doc: "Read the shared context of a verification: requirements, files, the outputs of the last two rounds, " +
				"issue counts; with path, a file's content.",
		}, s.GetContext),
		op.New(op.Spec{
			Name:    "elenchus_submit_round",
			Title:   "Submit a round",
			Toolset: toolset,
			Route:   "POST /v1/verifications/{sessionId}/rounds",
			Effect:  op.Write,
			Creates: true,
			Cases:   roundCases,
			Doc: "Submit your round as verifier or critic: what you found, the issues you raise or challenge, " +
				"those that are settled. It answers whose turn is next, whether it has converged, and what the " +
				"arbiter says.",
		}, s.SubmitRound),
		op.New(op.Spec{
			Name:    "elenchus_add_files",
			Starts:  op.Never,
			Title:   "Add files",
			Toolset: toolset,
			Route:   "POST /v1/verifications/{sessionId}/files",
			Effect:  op.Write,
			Grows:   true,
			Cases:   addCases,
			Doc: "Give a verification files that it wants, or newer texts of those that it has; several calls " +
				"where they are over 1 MiB.",
		}, s.AddFiles),
		op.New(op.Spec{
			Name:    "elenchus_get_issues",
			Title:   "List issues",
			Toolset: toolset,
			Route:   "GET /v1/verifications/{sessionId}/issues",
			Effect:  op.Read,
			Cases:   issuesCases,
			Doc: "Read the issues of a verification, with evidence and history: all, the unresolved, or the " +
				"critical ones.",
		}, s.GetIssues),
		op.New(op.Spec{
			Name:    "elenchus_checkpoint",
			Title:   "Take a checkpoint",
			Toolset: toolset,
			Route:   "POST /v1/verifications/{sessionId}/checkpoints",
			Effect:  op.Write,
			Creates: true,
			Cases:   checkpointCases,
			Doc:     "Keep the present state of a verification to go back to. Every even round does so by itself.",
		}, s.Checkpoint),
		op.New(op.Spec{
			Name:    "elenchus_rollback",
			Title:   "Go back",
			Toolset: toolset,
			Route:   "POST /v1/verifications/{sessionId}/rollback",
			Effect:  op.Write,
			Cases:   rollbackCases,
			Doc: "Go back to a checkpoint of a verification: round, issues and context are as they were. Later " +
				"rounds stay in the record, marked.",
		}, s.Rollback),
		op.New(op.Spec{
			Name:    "elenchus_end_session",
			Starts:  op.Never,
			Title:   "End a verification",
			Toolset: toolset,
			Route:   "POST /v1/verifications/{sessionId}/end",
			Effect:  op.Write,
			Cases:   endCases,
			Doc:     "End a verification with a verdict and get its record. Issues still open stay unresolved.",
		}, s.End),
		op.New(op.Spec{
			Name:    "elenchus_list_sessions",
			Title:   "List verifications",
			Toolset: toolset,
			Route:   "GET /v1/verifications",
			Effect:  op.Read,
			Cases:   listCases,
			Doc:     "Find verifications, newest first, to resume or to look up one.",
		}, s.List),
	}
}
