package catalogue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// mirror is a driver that keeps a copy of all documents that are written through it. A suite that compares the documents
// of a user before and after each of some thousand calls reads the copy: a listing of all collections takes thirty
// queries.
type mirror struct {
	store.Driver
	mu    sync.Mutex
	users map[string]map[store.Ref]store.Fields
}

// mirrored opens an empty database behind a mirror. It is closed when the test ends. Transactions are not aborted, as
// the tests of the domains abort each.
func mirrored(t *testing.T, open func() store.Driver) *store.DB {
	t.Helper()
	db, _ := openMirror(t, open)
	return db
}

func openMirror(t *testing.T, open func() store.Driver) (*store.DB, *mirror) {
	t.Helper()
	m := &mirror{Driver: open(), users: map[string]map[store.Ref]store.Fields{}}
	db := store.New(m, app.Schema())
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, m
}

// ReadsLocally forwards to the driver behind the mirror.
func (m *mirror) ReadsLocally() bool {
	d, ok := m.Driver.(interface{ ReadsLocally() bool })
	return ok && d.ReadsLocally()
}

// Update implements store.Driver.
func (m *mirror) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	var written []store.Write
	err := m.Driver.Update(ctx, func(ctx context.Context, r store.Reads) (writes []store.Write, err error) {
		written, err = fn(ctx, r)
		return written, err
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range written {
		m.apply(w)
	}
	return nil
}

func (m *mirror) apply(w store.Write) {
	docs := m.users[w.Ref.User]
	if docs == nil {
		docs = map[store.Ref]store.Fields{}
		m.users[w.Ref.User] = docs
	}
	switch w.Action {
	case store.Create, store.Put:
		docs[w.Ref] = maps.Clone(w.Fields)
	case store.Delete:
		delete(docs, w.Ref)
	case store.Patch:
		fields := maps.Clone(docs[w.Ref])
		for _, e := range w.Edits {
			switch {
			case e.Unset:
				delete(fields, e.Field)
			case e.IsAdd:
				old, _ := fields[e.Field].(int64)
				fields[e.Field] = old + e.Add
			default:
				fields[e.Field] = e.Value
			}
		}
		docs[w.Ref] = fields
	}
}

// Walk implements store.Driver, from the copy.
func (m *mirror) Walk(_ context.Context, user string, page func([]store.Raw) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var raws []store.Raw
	for ref, fields := range m.users[user] {
		raws = append(raws, store.Raw{Ref: ref, Fields: maps.Clone(fields)})
	}
	slices.SortFunc(raws, func(a, b store.Raw) int { return strings.Compare(place(a.Ref), place(b.Ref)) })
	return page(raws)
}

func place(r store.Ref) string { return r.Coll + "/" + r.ID }

func TestTheMirrorHoldsTheDocumentsOfTheStore(t *testing.T) {
	t.Parallel()
	storetest.EachDriver(t, app.Schema(), func(t *testing.T, open func() store.Driver) {
		db, m := openMirror(t, open)
		c := newHub(t, db, "user")
		for _, o := range c.hub.Catalogue.Ops() {
			if o.Toolset != "dispatch" && o.Toolset != "campfire" {
				continue
			}
			p := c.newUser(overREST)
			example(t, p, o, o.Cases().Examples[0], schema(t, o.Name, o.Output))
			p.hub.Flush()
			copied, stored := documentsOf(t, m, p.name), documentsOf(t, m.Driver, p.name)
			// The log is the driver's, and a document only on Firestore.
			stored = slices.DeleteFunc(stored, func(d string) bool { return strings.HasPrefix(d, store.LogName+"/") })
			if len(stored) == 0 || !slices.Equal(copied, stored) {
				t.Errorf("after %s the mirror has\n%s\nthe store\n%s", o.Name, strings.Join(copied, "\n"),
					strings.Join(stored, "\n"))
			}
		}
	})
}

// documentsOf returns all documents of a user, one in each line.
func documentsOf(t *testing.T, d store.Driver, user string) []string {
	t.Helper()
	var lines []string
	err := d.Walk(t.Context(), user, func(page []store.Raw) error {
		for _, r := range page {
			lines = append(lines, fmt.Sprintf("%s %v", place(r.Ref), r.Fields))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}
