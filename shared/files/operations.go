package files

import (
	"time"

	"parley.internal/shared/op"
)

// ReserveInput is the input of reserve_files.
type ReserveInput struct {
	op.Idempotency
	Paths        []string `json:"paths" allow:"nonempty,max=100,each=300" jsonschema:"patterns from the repository's root: * ? [a-z] {a,b} **; a directory ends in /"`
	Project      string   `json:"project" allow:"nonempty,max=300" jsonschema:"the repository as host/owner/name"`
	Mode         Mode     `json:"mode,omitempty" allow:"enum=exclusive|shared,default=exclusive,rare" jsonschema:"shared keeps out exclusive ones only"`
	LeaseSeconds int      `json:"leaseSeconds,omitempty" allow:"min=60,max=86400,default=1800"`
	Reason       string   `json:"reason,omitempty" allow:"max=200" jsonschema:"what you do there, for those who meet it"`
	TaskID       string   `json:"taskId,omitempty" allow:"max=100,pattern=id" jsonschema:"a task whose end ends the reservations"`
	Worktree     string   `json:"worktree,omitempty" allow:"max=200,rare" jsonschema:"names the worktree, where the repository has several"`
	Branch       string   `json:"branch,omitempty" allow:"max=200,rare" jsonschema:"what is checked out there, for those who meet it"`
	SessionID    string   `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"yours; its end ends them"`
	WaitMs       int      `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for your turn"`
	DryRun       bool     `json:"dryRun,omitempty" allow:"rare" jsonschema:"only tell what stands in the way"`
}

// View is a reservation in an output.
type View struct {
	ReservationID string    `json:"reservationId"`
	Token         int64     `json:"token" jsonschema:"a fence: higher than that of every reservation before"`
	Project       string    `json:"project,omitempty"`
	Pattern       string    `json:"pattern"`
	Mode          Mode      `json:"mode"`
	Holder        string    `json:"holder" jsonschema:"a program, which a message reaches, or a key"`
	SessionID     string    `json:"sessionId,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	TaskID        string    `json:"taskId,omitempty"`
	Worktree      string    `json:"worktree,omitempty"`
	Branch        string    `json:"branch,omitempty"`
	Since         time.Time `json:"since"`
	Until         time.Time `json:"until"`
}

func view(board string, r Reservation) View {
	return View{
		ReservationID: reservationID(board, r.Token),
		Token:         r.Token,
		Pattern:       r.Pattern,
		Mode:          r.Mode,
		Holder:        r.Holder.name(),
		SessionID:     r.Holder.Session,
		Reason:        r.Reason,
		TaskID:        r.TaskID,
		Worktree:      r.Worktree,
		Branch:        r.Branch,
		Since:         r.Since,
		Until:         r.Until,
	}
}

// ConflictView is a conflict of a path, in the output of a dry run.
type ConflictView struct {
	Path        string `json:"path"`
	Why         string `json:"why"`
	Reservation *View  `json:"reservation,omitempty" jsonschema:"left out where another call waits for its turn"`
}

// views returns the conflicts of a dry run.
func views(b *stand, paths []string, against []conflict) []ConflictView {
	var out []ConflictView
	for _, c := range against[:min(len(against), maxTells)] {
		v := ConflictView{Path: paths[c.path], Why: c.text()}
		if c.held != nil {
			held := view(b.id, *c.held)
			v.Reservation = &held
		}
		out = append(out, v)
	}
	return out
}

// ReserveOutput is the output of reserve_files.
type ReserveOutput struct {
	Project      string         `json:"project"`
	Reservations []View         `json:"reservations" jsonschema:"in the order of paths"`
	DryRun       bool           `json:"dryRun,omitempty"`
	Conflicts    []ConflictView `json:"conflicts,omitempty" jsonschema:"in a dry run: what stands in the way, at most 20"`
	Warnings     []string       `json:"warnings,omitempty" jsonschema:"reservations of the same files in other worktrees"`
}

// ReleaseInput is the input of release_files.
type ReleaseInput struct {
	Project        string   `json:"project,omitempty" allow:"max=300"`
	ReservationIDs []string `json:"reservationIds,omitempty" allow:"max=500,each=100,rare"`
	Paths          []string `json:"paths,omitempty" allow:"max=100,each=300" jsonschema:"as they were reserved"`
	TaskID         string   `json:"taskId,omitempty" allow:"max=100,pattern=id" jsonschema:"those reserved for it"`
	SessionID      string   `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"that they were reserved with"`
}

// ReleaseOutput is the output of release_files.
type ReleaseOutput struct {
	Released []View   `json:"released"`
	NotFound []string `json:"notFound,omitempty" jsonschema:"ids and paths without a reservation; they may have ended"`
}

// RenewInput is the input of renew_files.
type RenewInput struct {
	Project        string   `json:"project,omitempty" allow:"max=300"`
	ReservationIDs []string `json:"reservationIds,omitempty" allow:"max=500,each=100" jsonschema:"where left out: all of yours in the project"`
	SessionID      string   `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"that they were reserved with"`
}

// Renewed is a reservation in the output of renew_files.
type Renewed struct {
	ReservationID string    `json:"reservationId"`
	Pattern       string    `json:"pattern"`
	Until         time.Time `json:"until"`
}

// RenewOutput is the output of renew_files.
type RenewOutput struct {
	Renewed  []Renewed `json:"renewed"`
	NotFound []string  `json:"notFound,omitempty" jsonschema:"ids without a reservation: it has ended, reserve the files again"`
}

// ListInput is the input of list_reservations.
type ListInput struct {
	Project string `json:"project,omitempty" allow:"max=300" jsonschema:"where left out: all projects"`
	Path    string `json:"path,omitempty" allow:"max=300" jsonschema:"those that overlap this path or pattern of the project"`
	Program string `json:"program,omitempty" allow:"max=100"`
	Recent  bool   `json:"recent,omitempty" allow:"rare" jsonschema:"also what went past reservations in the last day"`
	Cursor  string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
}

// WaitView is a call that waits for its turn, in an output.
type WaitView struct {
	Project   string    `json:"project"`
	Patterns  []string  `json:"patterns" jsonschema:"at most 5"`
	More      int       `json:"more,omitempty" jsonschema:"the number of its other patterns"`
	Mode      Mode      `json:"mode"`
	Holder    string    `json:"holder" jsonschema:"who waits: a program or a key"`
	SessionID string    `json:"sessionId,omitempty"`
	Worktree  string    `json:"worktree,omitempty"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until" jsonschema:"when its turn passes to those behind"`
}

// Incident is something that went past a reservation, in an output.
type Incident struct {
	Kind    string    `json:"kind" allow:"enum=broken|changed" jsonschema:"a broken reservation, or a held file that another changed"`
	Project string    `json:"project"`
	Path    string    `json:"path,omitempty" jsonschema:"the changed file, or the first of several"`
	Paths   []string  `json:"paths,omitempty" jsonschema:"the first of the changed files, where there are several"`
	Files   int       `json:"files,omitempty" jsonschema:"the number of the changed files"`
	Pattern string    `json:"pattern"`
	Holder  string    `json:"holder" jsonschema:"whose reservation it was"`
	By      string    `json:"by" jsonschema:"who broke it, or changed the file"`
	Reason  string    `json:"reason,omitempty" jsonschema:"why it was broken, or reserved"`
	At      time.Time `json:"at"`
}

// ListOutput is the output of list_reservations.
type ListOutput struct {
	Reservations []View     `json:"reservations"`
	Waiting      []WaitView `json:"waiting,omitempty" jsonschema:"calls that wait for such files, in the order of their turns"`
	Recent       []Incident `json:"recent,omitempty" jsonschema:"on the first page: the last first, at most 20"`
	RecentMore   bool       `json:"recentMore,omitempty" jsonschema:"there were more"`
	NextCursor   string     `json:"nextCursor,omitempty"`
}

// CheckInput is the input of check_files.
type CheckInput struct {
	Paths     []string `json:"paths" allow:"nonempty,max=500,each=300" jsonschema:"files, relative to the repository's root"`
	Project   string   `json:"project" allow:"nonempty,max=300"`
	Worktree  string   `json:"worktree,omitempty" allow:"max=200"`
	SessionID string   `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"your session, if you reserve with one"`
}

// The states of a path in a check.
const (
	Free  = "free"
	Yours = "yours"
	Held  = "held"
)

// Checked is the answer for one path.
type Checked struct {
	Path      string `json:"path"`
	State     string `json:"state" jsonschema:"free, yours or held"`
	By        []View `json:"by,omitempty" jsonschema:"by whom it is held, at most 5"`
	Elsewhere []View `json:"elsewhere,omitempty" jsonschema:"who holds it in other worktrees, at most 5"`
}

// CheckOutput is the output of check_files.
type CheckOutput struct {
	Project  string    `json:"project"`
	Paths    []Checked `json:"paths" jsonschema:"in the order of the input"`
	Settings Settings  `json:"settings"`
}

// BreakInput is the input of break_reservation.
type BreakInput struct {
	ReservationID string `json:"reservationId" allow:"nonempty,max=100,pattern=id"`
	Reason        string `json:"reason,omitempty" allow:"max=200" jsonschema:"why, for its holder"`
	SessionID     string `json:"sessionId,omitempty" allow:"max=100,pattern=session,session"`
}

// BreakOutput is the output of break_reservation.
type BreakOutput struct {
	Broken View   `json:"broken"`
	Told   string `json:"told,omitempty" jsonschema:"the program that a message about it was sent to"`
}

// ProjectInput is the input of get_file_settings.
type ProjectInput struct {
	Project string `json:"project" allow:"nonempty,max=300"`
}

// SettingsInput is the input of set_file_settings.
type SettingsInput struct {
	Project         string `json:"project" allow:"nonempty,max=300"`
	Auto            bool   `json:"auto,omitempty" jsonschema:"hooks reserve what their agent edits"`
	Strict          bool   `json:"strict,omitempty" jsonschema:"hooks refuse edits while the server cannot be reached"`
	IgnoreCase      bool   `json:"ignoreCase,omitempty" jsonschema:"paths that differ in case only are one"`
	RefuseWorktrees bool   `json:"refuseWorktrees,omitempty" jsonschema:"reservations conflict across worktrees too"`
}

// reserves reports whether a call of reserve_files is more than a dry run.
func reserves(in map[string]any) bool { return in["dryRun"] != true }

// Operations returns the operations on reservations.
func (s *Service) Operations() []op.Op {
	const set = "files"
	return []op.Op{
		op.New(op.Spec{Name: "reserve_files", Also: op.ForAgents, Title: "Reserve files", Toolset: set, Route: "POST /v1/files/reservations",
			Effect: op.Write, Creates: true, Starts: reserves, Cases: reserveCases,
			Doc: "Say which files you are about to edit, so that no other agent edits them meanwhile: all paths or none. " +
				"If others hold one, the answer names them, and waitMs waits for your turn. Release them when you are done.",
		}, s.Reserve),
		op.New(op.Spec{Name: "release_files", Also: op.ForAgents, Starts: op.Never, Title: "Release files",
			Toolset: set, Route: "POST /v1/files/release", Effect: op.Write, Cases: releaseCases,
			Doc: "Give up reservations: by id, by path, by task, or all of yours in the project.",
		}, s.Release),
		op.New(op.Spec{Name: "renew_files", Starts: op.Never, Title: "Renew reservations", Toolset: set, Route: "POST /v1/files/renew",
			Effect: op.Write, Cases: renewCases,
			Doc: "Extend the leases of your reservations while you work, each by the time that it was reserved for.",
		}, s.Renew),
		op.New(op.Spec{Name: "list_reservations", Title: "List reservations", Toolset: set,
			Route: "GET /v1/files/reservations", Effect: op.Read, Cases: listCases,
			Doc: "See who edits what: the reservations of a project, of a program, or those on a path, and who waits for them.",
		}, s.List),
		op.New(op.Spec{Name: "check_files", Title: "Check files", Toolset: set, Route: "POST /v1/files/check",
			Effect: op.Read, Cases: checkCases,
			Doc: "Before you edit files: is each free, yours, or held, by whom, until when and why. Also returns the " +
				"settings of the project.",
		}, s.Check),
		op.New(op.Spec{Name: "break_reservation", Title: "Break a reservation", Toolset: set,
			Route: "POST /v1/files/reservations/{reservationId}/break", Effect: op.Write, Cases: breakCases,
			Doc: "End another's reservation: a human may always, an agent once its holder has been silent for 10 minutes. " +
				"The holder gets a message.",
		}, s.Break),
		op.New(op.Spec{Name: "get_file_settings", Title: "Read a project's settings of reservations", Toolset: set,
			Route: "GET /v1/files/projects/{project}", Effect: op.Read, RESTOnly: true, Cases: settingsCases,
			Doc: "What hooks do about the files of a project. The id is one segment of the path: write its slashes as %2F.",
		}, s.Settings),
		op.New(op.Spec{Name: "set_file_settings", Title: "Set a project's settings of reservations", Toolset: set,
			Route: "PUT /v1/files/projects/{project}", Effect: op.Write, For: op.Humans, RESTOnly: true, Cases: setCases,
			Doc: "Put settings in place of those that a project has: whether hooks reserve by themselves, whether they refuse " +
				"edits without the server, and what counts as the same file. The id is one segment of the path: write its " +
				"slashes as %2F.",
		}, s.Set),
	}
}
