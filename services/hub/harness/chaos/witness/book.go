package witness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/shared/store"
)

// The promises that can be broken.
const (
	Kept      = "what was acknowledged is kept"
	Once      = "a repeated call happens once"
	Exclusive = "a task has one holder, and one end"
	Delivered = "a message reaches its recipient, and one reader"
	Answers   = "clients see success or what may be repeated"
	Waits     = "waits end"
	Clean     = "nothing is left behind"
)

// Violation is a promise that was broken.
type Violation struct {
	Promise, Text string
	// RequestID is the request that showed it, where one did.
	RequestID string
}

func (v Violation) String() string {
	if v.RequestID == "" {
		return v.Promise + ": " + v.Text
	}
	return v.Promise + ": " + v.Text + " (request " + v.RequestID + ")"
}

// Span is a time in which something may have happened.
type Span struct{ From, To time.Time }

// Book is what the clients of one user were told. It may be written by many at once.
type Book struct {
	mu         sync.Mutex
	violations []Violation
	tasks      map[string]*taskFacts
	outdone    []outdone
	mail       map[string]*letter
	lostReads  map[string][]Span // of inboxes, by the program
	teams      map[string]*teamFacts
	fires      map[string]*fireFacts
	questions  map[string]*question
}

// NewBook is an empty book.
func NewBook() *Book {
	return &Book{tasks: map[string]*taskFacts{}, mail: map[string]*letter{}, lostReads: map[string][]Span{}, fires: map[string]*fireFacts{}, questions: map[string]*question{},
		teams: map[string]*teamFacts{}}
}

// Violate takes down a promise that was seen to be broken.
func (b *Book) Violate(promise, requestID, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violate(promise, requestID, format, args...)
}

func (b *Book) violate(promise, requestID, format string, args ...any) {
	b.violations = append(b.violations, Violation{promise, fmt.Sprintf(format, args...), requestID})
}

// Documents is what a store has of one user.
type Documents map[store.Ref]store.Fields

// Report is what an audit found.
type Report struct {
	// Checked counts the facts that were held against the store, by what they are.
	Checked    map[string]int
	Violations []Violation
}

// audit is one under way.
type audit struct {
	*Book
	docs    Documents
	now     time.Time
	checked map[string]int
}

// Audit holds the book against the documents of its user, as they stood at a time
// after the last call.
func (b *Book) Audit(docs Documents, now time.Time) Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := len(b.violations)
	a := &audit{b, docs, now, map[string]int{}}
	a.auditTasks()
	a.auditMail()
	a.auditTeams()
	a.auditFires()
	a.auditQuestions()
	found := slices.Clone(b.violations)
	// Maps have no order, a report has one.
	slices.SortFunc(found[known:], func(x, y Violation) int {
		return cmp.Or(cmp.Compare(x.Promise, y.Promise), cmp.Compare(x.Text, y.Text))
	})
	b.violations = b.violations[:known] // another audit finds its own
	return Report{a.checked, found}
}

// doc is a document of the user's, nil where there is none.
func (a *audit) doc(coll, id string) store.Fields {
	for ref, f := range a.docs {
		if ref.Coll == coll && ref.ID == id {
			return f
		}
	}
	return nil
}

// collection is the documents of a collection by their ids.
func (a *audit) collection(path string) map[string]store.Fields {
	out := map[string]store.Fields{}
	for ref, f := range a.docs {
		if ref.Coll == path {
			out[ref.ID] = f
		}
	}
	return out
}

// by are the ids of documents by the value of a field.
func by(docs map[string]store.Fields, field string) map[string][]string {
	out := map[string][]string{}
	for id, f := range docs {
		out[text(f, field)] = append(out[text(f, field)], id)
	}
	return out
}

// single checks that a text, which one call wrote, stands in one document, that one.
func (a *audit) single(what, said, id string, found []string) bool {
	switch {
	case !slices.Contains(found, id):
		a.violate(Kept, "", "%s %q was acknowledged as %s, and is not in the store", what, said, id)
		return false
	case len(found) > 1:
		slices.Sort(found)
		a.violate(Once, "", "%s %q was made once and is there %d times: %s", what, said, len(found), strings.Join(found, ", "))
	}
	return true
}

// expect checks a field.
func (a *audit) expect(what string, f store.Fields, field string, want any) {
	if got := f[field]; got != want {
		a.violate(Kept, "", "%s has the %s %v instead of %v", what, field, got, want)
	}
}

func text(f store.Fields, field string) string { s, _ := f[field].(string); return s }

func number(f store.Fields, field string) int64 { n, _ := f[field].(int64); return n }

func instant(f store.Fields, field string) time.Time { t, _ := f[field].(time.Time); return t }

func object(f store.Fields, field string) store.Fields { o, _ := f[field].(store.Fields); return o }
