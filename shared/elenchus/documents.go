package elenchus

import (
	"fmt"
	"time"

	"parley.internal/shared/store"
)

// Layer is the origin of a file in the context.
type Layer string

// The layers of a context. Base are the files of the target and their imports, Discovered those that rounds named.
const (
	Base       Layer = "base"
	Discovered Layer = "discovered"
)

// File is a file of a context. Its content is a document of its own for each tick at which it changed, so that lists
// are small and a rollback finds the old content.
type File struct {
	Path  string `json:"path"`
	Layer Layer  `json:"layer"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"sum"`
	Tick  int64  `json:"tick"`
}

type content struct {
	Text string `json:"text"`
}

// Round is the record of a round. Its output is a document of its own.
type Round struct {
	Number         int           `json:"number"`
	Tick           int64         `json:"tick"`
	Role           Role          `json:"role"`
	By             string        `json:"by"`
	Verified       bool          `json:"verified"`
	OutputBytes    int           `json:"outputBytes"`
	IssuesRaised   []string      `json:"issuesRaised"`
	IssuesResolved []string      `json:"issuesResolved"`
	NewFiles       []string      `json:"newFiles"`
	Convergence    Convergence   `json:"convergence"`
	Intervention   *Intervention `json:"intervention,omitempty"`
	RolledBack     bool          `json:"rolledBack"`
	At             time.Time     `json:"at"`
}

type output struct {
	Text string `json:"text"`
}

// Checkpoint is the state after a round. It copies no issues and no files; a rollback restores those from the steps.
type Checkpoint struct {
	Round int       `json:"round"`
	Tick  int64     `json:"tick"`
	At    time.Time `json:"at"`
	State State     `json:"state"`
}

// step has the values that one change of a session replaced, so that a rollback can restore them.
type step struct {
	Tick   int64         `json:"tick"`
	Round  bool          `json:"round"`
	Issues []issueBefore `json:"issues"`
	Files  []fileBefore  `json:"files"`
}

type issueBefore struct {
	ID    string `json:"id"`
	New   bool   `json:"new"`
	Track Track  `json:"track"`
}

type fileBefore struct {
	New  bool `json:"new"`
	File File `json:"file"`
}

var (
	sessions = store.Collection[Session]{
		Name:     "verifications",
		PartOf:   "a verification",
		Indexes:  []string{"createdAt desc", "status,createdAt desc"},
		AllUsers: []string{"sweepAt"},
		Unindexed: []string{
			"requirements",
			"workingDir",
			"counts",
			"recent",
			"modules",
			"packages",
			"unplaced",
			"checkpoints",
		},
		Log:  "verification",
		Note: (*Session).logged,
		Text: (*Session).text,
	}
	files = store.Collection[File]{Name: "verifications/*/vFiles", PartOf: "a file of a verification",
		Indexes: []string{"path"}}
	contents = store.Collection[content]{Name: "verifications/*/vContents", PartOf: "a file of a verification",
		Unindexed: []string{"text"}}
	rounds = store.Collection[Round]{Name: "verifications/*/vRounds", PartOf: "a round",
		Indexes:   []string{"tick desc", "rolledBack,tick desc"},
		Unindexed: []string{"issuesRaised", "issuesResolved", "newFiles", "intervention", "convergence"}}
	outputs = store.Collection[output]{Name: "verifications/*/vOutputs", Unindexed: []string{"text"}}
	issues  = store.Collection[Issue]{
		Name:      "verifications/*/vIssues",
		PartOf:    "an issue",
		Indexes:   []string{"number", "open,number", "severity,open,number"},
		Unindexed: []string{"summary", "location", "description", "evidence", "transitions"},
		Text:      (*Issue).text,
	}
	checkpoints = store.Collection[Checkpoint]{
		Name:      "verifications/*/vCheckpoints",
		PartOf:    "a checkpoint",
		Indexes:   []string{"round"},
		Unindexed: []string{"state"},
	}
	steps = store.Collection[step]{
		Name:      "verifications/*/vSteps",
		PartOf:    "a round",
		Indexes:   []string{"tick desc"},
		Unindexed: []string{"issues", "files"},
	}
)

// Defs returns the definitions of the collections that hold verifications.
func (*Service) Defs() []*store.Def {
	return []*store.Def{
		sessions.Def(),
		files.Def(),
		contents.Def(),
		rounds.Def(),
		outputs.Def(),
		issues.Def(),
		checkpoints.Def(),
		steps.Def(),
	}
}

// tickID returns the id of the documents of a tick: its step, its round and the output of that. The ids sort as the
// ticks do.
func tickID(tick int64) string { return fmt.Sprintf("t%09d", tick) }

// roundID returns the id of the checkpoint of a round.
func roundID(round int) string { return fmt.Sprintf("r%06d", round) }

// contentID returns the id of the content of a file as of its tick.
func contentID(f File) string { return fmt.Sprintf("%s-%09d", fileID(f.Path), f.Tick) }

// logged describes the verification in the log.
func (s *Session) logged(string) store.Note {
	return store.Note{Line: s.Target, State: string(s.Status)}
}
