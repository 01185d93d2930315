package catalogue

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

var update = flag.Bool("update", false, "rewrite the table of docs/scale.md")

// recorder is a driver that records the writes of each transaction, and whether their documents existed before.
type recorder struct {
	*mirror
	mu      sync.Mutex
	written []written
}

// written is a document that a transaction wrote.
type written struct {
	def *store.Def
	// there says that the document existed, so that the call contends with other writers of it.
	there bool
}

// Update implements store.Driver.
func (r *recorder) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	var writes []store.Write
	before := map[store.Ref]bool{}
	r.mirror.mu.Lock()
	for _, docs := range r.users {
		for ref := range docs {
			before[ref] = true
		}
	}
	r.mirror.mu.Unlock()
	err := r.mirror.Update(ctx, func(ctx context.Context, reads store.Reads) (_ []store.Write, err error) {
		writes, err = fn(ctx, reads)
		return writes, err
	})
	if err == nil {
		r.note(writes, before)
	}
	return err
}

func (r *recorder) note(writes []store.Write, before map[store.Ref]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range writes {
		if aside(w) || w.Action == store.Delete && !before[w.Ref] {
			continue
		}
		r.written = append(r.written, written{def: w.Def, there: before[w.Ref]})
	}
}

const (
	scaleDoc = "docs/scale.md"
	tableTop = "<!-- the writes of each operation, counted by a test of services/hub/harness/catalogue; -update writes them -->\n"
	tableEnd = "<!-- end -->\n"
)

// The table of contention follows from the writes of each operation's examples.
func TestTheTableOfScaleSaysWhatEachOperationWrites(t *testing.T) {
	t.Parallel()
	d, err := os.ReadFile(filepath.Join(root, scaleDoc))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := bytes.Cut(d, []byte(tableTop))
	_, tail, ended := bytes.Cut(rest, []byte(tableEnd))
	if !begun || !ended {
		t.Fatalf("%s must have the marks\n%sand\n%s", scaleDoc, tableTop, tableEnd)
	}
	want := slices.Concat(head, []byte(tableTop), []byte(contention(t)), []byte(tableEnd), tail)
	if bytes.Equal(d, want) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from what the operations write; if that is intended, run this test with -update", scaleDoc)
	}
	if err := os.WriteFile(filepath.Join(root, scaleDoc), want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// contention returns the table.
func contention(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| operation | makes | changes | sustained on Firestore |\n|---|---|---|---|\n")
	d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), app.Schema())
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{mirror: &mirror{Driver: d, users: map[string]map[store.Ref]store.Fields{}}}
	db := store.New(r, app.Schema())
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	c := newHub(t, db, "user")
	quiet := []string{}
	for _, o := range c.hub.Catalogue.Ops() {
		seen := r.during(t, c, o)
		if len(seen) == 0 {
			quiet = append(quiet, "`"+o.Name+"`")
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, list(t, seen, false), list(t, seen, true), rate(t, seen))
	}
	fmt.Fprintf(&b, "\n%s\n\n", op.Wrap("These write nothing: "+strings.Join(quiet, ", ")+".", 120))
	return b.String()
}

// during returns the writes of the successful examples of an operation, each document of a collection once.
func (r *recorder) during(t *testing.T, c *testHub, o *op.Op) (out []written) {
	t.Helper()
	for _, e := range o.Cases().Examples {
		if e.Fault != fault.Internal || strings.Contains(e.Name, "idempotency key") {
			continue
		}
		p := c.newUser(overREST)
		s := p.script()
		s.Prepare(t, e.Given)
		s.Pass(e.Pass)
		in := s.Fill(e.In)
		p.key(e.As)
		c.hub.Flush()
		r.mu.Lock()
		r.written = nil
		r.mu.Unlock()
		if _, err := p.Call(t, o, e.As, in); err != nil {
			t.Fatalf("%s: %v", optest.Title(o, e.Name), err)
		}
		r.mu.Lock()
		out = append(out, r.written...)
		r.mu.Unlock()
		c.hub.Flush()
	}
	return out
}

// aside reports whether a write is not the call's own: the last use of the key, which is recorded once a minute, and the
// counts of calls, which a server adds up and writes now and then.
func aside(w store.Write) bool {
	touched := w.Def.ID() == "apiKeys" && w.Action == store.Patch && len(w.Edits) == 1 && w.Edits[0].Field == "lastUsedAt"
	return touched || strings.HasPrefix(w.Def.ID(), "ledger")
}

// list returns the collections of the documents that were there before, or of those that were not.
func list(t *testing.T, all []written, there bool) string {
	t.Helper()
	names := map[string]string{} // with the objects that the documents are parts of
	for _, w := range all {
		if w.there == there {
			names[w.def.ID()] = w.def.PartOf
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !there {
			out = append(out, "`"+name+"`")
			continue
		}
		if names[name] == "" {
			t.Errorf("the collection %s must have PartOf", name)
		}
		out = append(out, "`"+name+"` ("+names[name]+")")
	}
	return strings.Join(out, ", ")
}

// rate returns the rates that Firestore sustains for a call with these writes.
func rate(t *testing.T, all []written) string {
	t.Helper()
	var limits []string
	add := func(text string) {
		if !slices.Contains(limits, text) {
			limits = append(limits, text)
		}
	}
	for _, w := range all {
		if w.there {
			add("1/s for " + w.def.PartOf)
		}
	}
	slices.Sort(limits)
	if len(limits) == 0 {
		return "as new documents"
	}
	return strings.Join(limits, "; ")
}
