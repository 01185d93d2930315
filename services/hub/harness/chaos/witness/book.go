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

// The promises that a violation can break.
const (
	Kept      = "an acknowledged write is kept"
	Once      = "a repeated call takes effect once"
	Exclusive = "a task has one claimant and one completion"
	Delivered = "a message is delivered once, to its recipient"
	Answers   = "clients see success or a transient failure"
	Waits     = "waits end"
	Ordered   = "one order of all calls explains their answers"
	Clean     = "hubs and sweeps end without a fault"
)

// Violation is a broken promise.
type Violation struct {
	Promise, Text string
	// RequestID is the id of the request that revealed it, empty if none did.
	RequestID string
}

// String returns the broken promise and its text, with the id of the request if there is one.
func (v Violation) String() string {
	if v.RequestID == "" {
		return v.Promise + ": " + v.Text
	}
	return v.Promise + ": " + v.Text + " (request " + v.RequestID + ")"
}

// Span is the interval in which an event happened.
type Span struct{ From, To time.Time }

// Book records the answers to the clients of one user. It is safe for concurrent use. Create it with [NewBook].
type Book struct {
	mu         sync.Mutex
	violations []Violation
	tasks      map[string]*taskFacts
	refused    []refusedClaim
	messages   map[string]*message
	lostReads  map[string][]Span // by program
	teams      map[string]*teamFacts
	fires      map[string]*fireFacts
	questions  map[string]*question
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{tasks: map[string]*taskFacts{}, messages: map[string]*message{}, lostReads: map[string][]Span{},
		fires: map[string]*fireFacts{}, questions: map[string]*question{}, teams: map[string]*teamFacts{}}
}

// Violate records a violation. requestID may be empty.
func (b *Book) Violate(promise, requestID, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violate(promise, requestID, format, args...)
}

func (b *Book) violate(promise, requestID, format string, args ...any) {
	b.violations = append(b.violations, Violation{promise, fmt.Sprintf(format, args...), requestID})
}

// Documents are the documents of one user in a store.
type Documents map[store.Ref]store.Fields

// Report is the result of an audit.
type Report struct {
	// Checked counts the facts that were compared with the store, by kind.
	Checked    map[string]int
	Violations []Violation
}

// audit is the state of an audit in progress.
type audit struct {
	*Book
	docs    Documents
	now     time.Time
	checked map[string]int
}

// Audit compares the book with the documents of its user as of now, which must be after the last call. The report
// includes the violations that were recorded before. The book is unchanged, so Audit may be called again.
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
	// The order of maps is random; that of a report is not.
	slices.SortFunc(found[known:], func(x, y Violation) int {
		return cmp.Or(cmp.Compare(x.Promise, y.Promise), cmp.Compare(x.Text, y.Text))
	})
	b.violations = b.violations[:known] // another audit finds them again
	return Report{a.checked, found}
}

// doc returns the document of a collection, nil if there is none.
func (a *audit) doc(coll, id string) store.Fields {
	for ref, f := range a.docs {
		if ref.Coll == coll && ref.ID == id {
			return f
		}
	}
	return nil
}

// collection returns the documents of a collection by id.
func (a *audit) collection(path string) map[string]store.Fields {
	out := map[string]store.Fields{}
	for ref, f := range a.docs {
		if ref.Coll == path {
			out[ref.ID] = f
		}
	}
	return out
}

// by returns the ids of the documents by the value of a field.
func by(docs map[string]store.Fields, field string) map[string][]string {
	out := map[string][]string{}
	for id, f := range docs {
		out[text(f, field)] = append(out[text(f, field)], id)
	}
	return out
}

// single checks that a text that one call wrote is in the document id and in no other one. It reports whether the
// document has it.
func (a *audit) single(what, content, id string, found []string) bool {
	switch {
	case !slices.Contains(found, id):
		a.violate(Kept, "", "%s %q was acknowledged as %s, and is not in the store", what, content, id)
		return false
	case len(found) > 1:
		slices.Sort(found)
		a.violate(Once, "", "%s %q was created once and is stored %d times: %s",
			what, content, len(found), strings.Join(found, ", "))
	}
	return true
}

// expect checks the value of a field.
func (a *audit) expect(what string, f store.Fields, field string, want any) {
	if got := f[field]; got != want {
		a.violate(Kept, "", "%s has the %s %v instead of %v", what, field, got, want)
	}
}

func text(f store.Fields, field string) string { s, _ := f[field].(string); return s }

func number(f store.Fields, field string) int64 { n, _ := f[field].(int64); return n }

func instant(f store.Fields, field string) time.Time { t, _ := f[field].(time.Time); return t }

func object(f store.Fields, field string) store.Fields { o, _ := f[field].(store.Fields); return o }
