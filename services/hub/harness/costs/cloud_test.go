package costs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

// The users. The documents of the quiet user never change, so that a listener of theirs receives nothing.
const (
	user  = "ann"
	quiet = "ben"
)

// cloud is Parley as it runs in a project: a server and the functions, each with a connection of its own to one
// database. Calls through beside and plain are not counted.
type cloud struct {
	t     *testing.T
	clock *domaintest.Clock
	hub   *hubtest.Hub

	server, functions *meter
	reactions         []app.Reaction
	sweeps            []app.Sweep
	admin             *store.Admin // of the functions

	plain  *firestore.Driver
	beside *app.App

	alpha, beta, human, other string // keys; other is the quiet user's
	latest                    string // the newest user
	latestKey                 string // their key
	question                  string // their question
	made                      map[string][]string

	triggers map[string]int // calls of reactions, by name

	mu     sync.Mutex                 // the server also writes in the background
	docs   map[store.Ref]store.Fields // the current tasks and sessions
	events []store.Event
	seen   int            // the number of events so far
	writes map[string]int // by collection
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{t: t, clock: &domaintest.Clock{}, made: map[string][]string{}, docs: map[store.Ref]store.Fields{},
		triggers: map[string]int{}, writes: map[string]int{}}
	host, project := emulator.Shared(t), emulator.Project(t)
	open := func(dial ...grpc.DialOption) *firestore.Driver {
		d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: host, Project: project, GRPC: dial})
		must(t, err)
		return d
	}
	db := func(d *firestore.Driver) *store.DB {
		s := store.New(d, app.Schema())
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
	c.plain = open()
	c.beside = app.New(db(c.plain), app.Ports{Now: c.clock.Now})
	c.server, c.functions = &meter{wrote: c.wrote}, &meter{wrote: c.wrote}
	c.hub = hubtest.New(t, db(open(c.server.dial()...)), hubtest.Options{Now: c.clock.Now})
	fdb := db(open(c.functions.dial()...))
	a := app.New(fdb, app.Ports{Now: c.clock.Now})
	c.reactions, c.sweeps, c.admin = a.Reactions(), a.Sweeps(), store.NewAdmin(fdb)

	c.alpha, c.beta, c.human = c.hub.Agent(user, "alpha"), c.hub.Agent(user, "beta"), c.hub.Human(user)
	c.other = c.hub.Agent(quiet, "gamma")
	c.call(c.human, "register_device", args{"token": "t", "platform": "android"})
	c.make(c.alpha, "send_message", "messageId",
		args{"message": "m", "source": "alpha", "target": "alpha", "message_type": "STATUS"})
	c.warm(c.alpha, c.beta, c.other)
	sent := []store.Write{{Action: store.Delete, Ref: store.Ref{User: user, Coll: "relay", ID: c.made["messageId"][0]}}}
	must(t, c.plain.Update(t.Context(), func(context.Context, store.Reads) ([]store.Write, error) { return sent, nil }))
	c.made = map[string][]string{}
	return c
}

// warm fills the caches of these keys and of the human's key.
func (c *cloud) warm(keys ...string) {
	c.t.Helper()
	for _, key := range keys {
		c.call(key, "get_tasks", args{"target": "nobody"})
	}
	c.call(c.human, "list_questions", args{})
	c.hub.Flush()
	c.react()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type args = map[string]any

// call calls an operation over MCP, or over REST if there is no tool for it.
func (c *cloud) call(key, name string, in args) map[string]any {
	c.t.Helper()
	out, err := c.try(c.t.Context(), key, name, in)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	return out
}

func (c *cloud) try(ctx context.Context, key, name string, in args) (out map[string]any, err error) {
	o := c.hub.Catalogue.Op(name)
	if o == nil {
		return nil, fmt.Errorf("no operation %s", name)
	}
	if o.RESTOnly {
		err := c.hub.Op(key, o, in).Into(&out)
		return out, err
	}
	a, err := c.hub.TryTool(ctx, key, "/mcp?toolsets=all", name, in)
	if err != nil {
		return nil, err
	}
	err = a.Into(&out)
	return out, err
}

// make calls an operation and keeps the id in that field of the answer.
func (c *cloud) make(key, name, field string, in args) {
	c.t.Helper()
	id, ok := c.call(key, name, in)[field].(string)
	if !ok {
		c.t.Fatalf("the answer of %s has no %s", name, field)
	}
	c.made[field] = append(c.made[field], id)
}

// wrote records a write of a commit and the event that follows from it.
func (c *cloud) wrote(w *firestorepb.Write) {
	name := w.GetDelete()
	if name == "" {
		name = w.GetUpdate().GetName()
	}
	_, path, ofUser := strings.Cut(name, "/documents/users/")
	if !ofUser {
		return // the driver's own, written once in the life of a database
	}
	parts := strings.Split(path, "/")
	ref := store.Ref{User: parts[0], Coll: strings.Join(parts[1:len(parts)-1], "/"), ID: parts[len(parts)-1]}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes[ref.Coll]++
	if ref.Coll != "tasks" && ref.Coll != "sessions" {
		return
	}
	raws, err := c.plain.Get(context.Background(), []store.Ref{ref})
	if err != nil {
		c.t.Errorf("%s: %v", name, err)
		return
	}
	before, was := c.docs[ref]
	e := store.Event{At: c.clock.Now(), Kind: store.Created, Ref: ref, Before: before}
	switch {
	case raws[0] == nil:
		delete(c.docs, ref)
		return // no function is triggered by a deletion
	case was:
		e.Kind = store.Updated
	}
	e.After, c.docs[ref] = raws[0].Fields, raws[0].Fields
	c.seen++
	e.ID = fmt.Sprint("event-", c.seen)
	c.events = append(c.events, e)
}

// react calls the functions for all pending events. A trigger filters by collection and kind of change only, so a
// function is called, and paid for, even if it has nothing to do.
func (c *cloud) react() {
	c.t.Helper()
	for e, more := c.next(); more; e, more = c.next() {
		for _, r := range c.reactions {
			if r.Collection != e.Ref.Coll || r.Kind != e.Kind {
				continue
			}
			c.triggers[r.Name]++
			if s, err := r.Handle(c.t.Context(), e, c.clock.Now(), slog.New(slog.DiscardHandler)); s != app.Handled {
				c.t.Errorf("%s: %s, %v", r.Name, s, err)
			}
		}
	}
}

func (c *cloud) next() (e store.Event, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) == 0 {
		return e, false
	}
	e, c.events = c.events[0], c.events[1:]
	return e, true
}

// listened returns the number of writes to the collections that waiting calls listen to.
func (c *cloud) listened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes["tasks"] + c.writes["relay"]
}

// sweep runs a sweep and the reactions to its changes.
func (c *cloud) sweep(s app.Sweep) {
	c.t.Helper()
	report, err := s.Run(c.t.Context(), c.admin)
	if must(c.t, err); report.More {
		c.t.Fatalf("%s is not done", s.Name)
	}
	c.react()
}

// expire deletes the expired documents, as Firestore's TTL does, and returns their number.
func (c *cloud) expire() (n int) {
	c.t.Helper()
	now := c.clock.Now()
	var gone []store.Write
	must(c.t, c.admins().Walk(c.t.Context(), user, func(page []store.Raw) error {
		for _, raw := range page {
			if at, ok := raw.Fields[store.PurgeField].(time.Time); ok && !at.After(now) {
				gone = append(gone, store.Write{Action: store.Delete, Ref: raw.Ref})
			}
		}
		return nil
	}))
	if len(gone) > 0 {
		must(c.t, c.plain.Update(c.t.Context(), func(context.Context, store.Reads) ([]store.Write, error) {
			return gone, nil
		}))
	}
	return len(gone)
}

// left counts the documents of the user by collection.
func (c *cloud) left() map[string]int {
	c.t.Helper()
	n := map[string]int{}
	must(c.t, c.admins().Walk(c.t.Context(), user, func(page []store.Raw) error {
		for _, raw := range page {
			n[raw.Ref.Coll]++
		}
		return nil
	}))
	return n
}

func (c *cloud) admins() *store.Admin { return store.NewAdmin(c.beside.DB) }

// size returns the size of the user's documents as JSON, in bytes.
func (c *cloud) size() (n int) {
	c.t.Helper()
	must(c.t, c.admins().Walk(c.t.Context(), user, func(page []store.Raw) error {
		for _, raw := range page {
			if t, ok := raw.Fields[store.PurgeField].(time.Time); ok {
				raw.Fields[store.PurgeField] = t.Truncate(time.Second) // as text, a fraction has no fixed length
			}
			text, err := json.Marshal(raw.Fields)
			if err != nil {
				return err
			}
			n += len(text) + len(raw.Ref.Coll) + len(raw.Ref.ID)
		}
		return nil
	}))
	return n
}
