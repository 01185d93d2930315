package rules

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	driver "parley.internal/shared/store/firestore"
	"parley.internal/shared/task"
)

// fixture is a user for one test, with an app and a server on which the user's agents ask questions.
type fixture struct {
	t *testing.T
	p *project
	*signal.Service
	user          signIn
	agent, person identity.Caller
	app, server   *firestore.Client
}

func (p *project) newFixture(t *testing.T) *fixture {
	t.Helper()
	u := signIn{uid: strings.ToLower(rand.Text()[:12]), provider: "phone"}
	return &fixture{t: t, p: p, Service: p.service(t, clock), user: u, app: p.as(t, u), server: p.as(t, admin),
		agent:  identity.Caller{User: u.uid, Program: "alpha", KeyID: "key-of-alpha", Kind: identity.Agent},
		person: identity.Caller{User: u.uid, KeyID: "firebase", Kind: identity.Human, Assurance: identity.Device}}
}

func clock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// service returns the service of a server over the same database.
func (p *project) service(t *testing.T, now func() time.Time) *signal.Service {
	t.Helper()
	d, err := driver.Open(t.Context(), driver.Options{EmulatorHost: p.addr, Project: p.id})
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, store.NewSchema(append(new(signal.Service).Defs(), task.Tasks.Def(), idempotency.Def())...))
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &signal.Service{DB: db, Now: now, NewID: rand.Text}
}

// ask asks a question as the agent and returns its id.
func (d *fixture) ask(options ...string) string {
	d.t.Helper()
	out, err := d.Ask(d.t.Context(), d.agent, op.Fill(signal.AskInput{
		Question: "which?",
		Options:  options,
		Context:  "of two",
	}))
	if err != nil {
		d.t.Fatal(err)
	}
	return out.QuestionID
}

// past returns the same fixture with a clock that is 25 hours behind.
func (d *fixture) past() *fixture {
	d.t.Helper()
	then := *d
	then.Service = d.p.service(d.t, func() time.Time { return clock().Add(-25 * time.Hour) })
	return &then
}

func (d *fixture) doc(path string) *firestore.DocumentRef {
	return d.app.Doc("users/" + d.user.uid + "/" + path)
}

// answer returns the paths and values that an app writes to answer a question.
func answer(text any) fields {
	return fields{
		"status":                "done",
		"completedAt":           firestore.ServerTimestamp,
		"changedAt":             firestore.ServerTimestamp,
		"question.response":     text,
		"question.answeredAt":   firestore.ServerTimestamp,
		"question.answeredBy":   "key:firebase",
		"question.answeredWith": "device",
	}
}

// update returns the updates that set the fields at the paths.
func update(at fields) []firestore.Update {
	var out []firestore.Update
	for path, v := range at {
		out = append(out, firestore.Update{Path: path, Value: v})
	}
	return out
}

// give writes an answer as the app does.
func (d *fixture) give(id string, written fields) error {
	_, err := d.doc("tasks/"+id).Update(d.t.Context(), update(written))
	return err
}

// kept returns the question as the domain reads it.
func (d *fixture) kept(id string) task.Task {
	d.t.Helper()
	v, err := task.Tasks.Get(d.t.Context(), d.DB.User(d.user.uid), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

// change changes a question without regard to the rules.
func (d *fixture) change(id string, change func(*task.Task)) {
	d.t.Helper()
	v := d.kept(id)
	change(&v)
	err := d.DB.User(d.user.uid).Update(d.t.Context(), func(_ context.Context, tx *store.Tx) error {
		task.Tasks.Put(tx, id, v)
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
}
