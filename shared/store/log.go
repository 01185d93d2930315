package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
)

// The log of a user is a record of the changes of documents, one entry a change. A driver writes it in the commit of the
// change, so an entry exists if and only if the change was made. A reader with a cursor gets every entry at least once,
// the entries of one document in the order of their commits.

const (
	// LogName is the name of the collection whose changes tell that the log has grown.
	LogName = "log"
	// LogKept is the time for which the log is kept.
	LogKept = 7 * 24 * time.Hour
	// MaxLogPage is the maximum number of commits in a page of the log.
	MaxLogPage = 200

	maxLine = 300 // characters
)

// Note describes a document in the log.
type Note struct {
	// Kind is the noun of the document. Where it is empty, it is that of the collection.
	Kind string `json:"-"`
	// ID is the name that callers know the object by. Where it is empty, it is the document's id.
	ID string `json:"id"`
	// Line describes the object to a person; it is cut to 300 characters.
	Line string `json:"line,omitempty"`
	// State is the state of the object, in the words of its domain.
	State string `json:"state,omitempty"`
	// Program is the program that the change concerns, empty where it concerns none or several.
	Program string `json:"program,omitempty"`
}

// Entry is one change of a document.
type Entry struct {
	// Kind is the noun of the collection, such as "task".
	Kind string `json:"kind"`
	// Change is Updated also for a document that was created by a write that would have replaced another.
	Change EventKind `json:"change"`
	Note
}

// Logged is an entry as it is read.
type Logged struct {
	Entry
	// EventID is unique to the entry and the same at every reading.
	EventID string
	At      time.Time
}

// LogPage is a part of the log.
type LogPage struct {
	Entries []Logged
	// Next is the cursor of the next page. It is never empty.
	Next string
	// Truncated reports that entries between the cursor and this page are no longer kept.
	Truncated bool
	// More reports that further entries can be read at once.
	More bool
}

// LogCommit is the part of the log that one commit wrote.
type LogCommit struct {
	ID      string // unique, without a dot
	At      time.Time
	Entries []Entry
}

// DriverPage is a page of the log as a driver reads it.
type DriverPage struct {
	Commits         []LogCommit
	Next            json.RawMessage
	Truncated, More bool
}

// logDoc is the document of a commit in the log, where a driver keeps it as one.
type logDoc struct {
	Entries string    `json:"entries"`
	PurgeAt time.Time `json:"purgeAt"`
}

var logs = Collection[logDoc]{Name: LogName, Unindexed: []string{"entries"}}

// LogDef declares the log. A database whose schema lacks it keeps none.
func LogDef() *Def { return logs.Def() }

// logCursor is a place in the log of one user.
type logCursor struct {
	User  string          `json:"u"`
	Place json.RawMessage `json:"p"`
}

// fingerprint returns a short text by which a cursor is found to be another user's.
func fingerprint(user string) string {
	sum := sha256.Sum256([]byte(user))
	return hex.EncodeToString(sum[:4])
}

// Log returns the entries after a cursor, at most [MaxLogPage] commits. An empty cursor stands for the present: the page
// has no entries, and its Next the place to begin at. A cursor that was not made for the user is Invalid.
func (t *Tenant) Log(ctx context.Context, cursor string) (LogPage, error) {
	if err := checkUser(t.uid); err != nil {
		return LogPage{}, err
	}
	own := logCursor{User: fingerprint(t.uid)}
	if cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		given := logCursor{}
		if err != nil || json.Unmarshal(raw, &given) != nil || given.User != own.User || given.Place == nil {
			return LogPage{}, errCursor()
		}
		own.Place = given.Place
	}
	page, err := t.db.driver.Log(ctx, t.uid, own.Place)
	if err != nil {
		return LogPage{}, err
	}
	own.Place = page.Next
	next, err := json.Marshal(own)
	if err != nil {
		return LogPage{}, err
	}
	out := LogPage{Next: base64.RawURLEncoding.EncodeToString(next), Truncated: page.Truncated, More: page.More}
	for _, c := range page.Commits {
		for i, e := range c.Entries {
			out.Entries = append(out.Entries, Logged{Entry: e, EventID: eventID(c.ID, i), At: c.At})
		}
	}
	return out, nil
}

func eventID(commit string, i int) string {
	if i == 0 {
		return commit
	}
	return commit + "-" + strconv.Itoa(i)
}

func errCursor() error {
	return fault.Field("cursor", "is not one of this log; leave it out to begin with what happens now")
}

// WaitLog calls check as [Collection.Wait] does, whenever the log of the user has grown.
func WaitLog(ctx context.Context, t *Tenant, d time.Duration, check func(context.Context) (bool, error)) error {
	return logs.Wait(ctx, t, nil, d, check)
}

// entry returns the entry of a write, nil if the collection is not logged.
func (c Collection[T]) entry(tx *Tx, action Action, id string, v *T) *Entry {
	if c.Log == "" || tx.tenant.db.schema.by[LogName] == nil {
		return nil
	}
	e := &Entry{Change: Updated}
	switch action {
	case Create:
		e.Change = Created
	case Delete:
		e.Change = Deleted
	}
	if v != nil && c.Note != nil {
		e.Note = c.Note(v, id)
	}
	e.Kind, e.Note.Kind = cmp.Or(e.Note.Kind, c.Log), ""
	e.ID = cmp.Or(e.ID, id)
	if utf8.RuneCountInString(e.Line) > maxLine {
		e.Line = string([]rune(e.Line)[:maxLine-1]) + "…"
	}
	return e
}

// Unlogged returns the collection without its log, for writes that tell a reader of the log nothing.
func (c Collection[T]) Unlogged() Collection[T] {
	c.Log = ""
	return c
}

// EntriesOf returns the entries of the writes of a commit.
func EntriesOf(writes []Write) []Entry {
	var out []Entry
	for _, w := range writes {
		if w.Entry != nil {
			out = append(out, *w.Entry)
		}
	}
	return out
}
