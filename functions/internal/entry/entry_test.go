package entry

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/googleapis/google-cloudevents-go/cloud/firestoredata"
	"google.golang.org/protobuf/proto"

	"parley.internal/functions/internal/event"
	"parley.internal/shared/app"
	"parley.internal/shared/cloudlog"
	"parley.internal/shared/identity"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

// handlers returns the functions over a store, and a function that moves their clock forward.
func handlers(t *testing.T, db *store.DB, sweepFor time.Duration) (p *Handlers, log *bytes.Buffer,
	pass func(time.Duration)) {
	t.Helper()
	log, passed := &bytes.Buffer{}, time.Duration(0)
	a := app.New(db, app.Ports{Now: func() time.Time {
		return time.Now().UTC().Truncate(time.Microsecond).Add(passed)
	}})
	return &Handlers{Now: time.Now, Log: cloudlog.New(log), services: &services{App: a, admin: store.NewAdmin(db),
		sweepFor: sweepFor}}, log, func(d time.Duration) { passed += d }
}

// open returns an empty store in an emulator. This module does not have the SQLite store.
func open(t *testing.T, host string) *store.DB {
	t.Helper()
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: host, Project: emulator.Project(t)})
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, app.Schema())
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// change returns an event that a reaction handles.
func change(t *testing.T) cloudevents.Event {
	t.Helper()
	text := func(s string) *firestoredata.Value {
		return &firestoredata.Value{ValueType: &firestoredata.Value_StringValue{StringValue: s}}
	}
	body, err := proto.Marshal(&firestoredata.DocumentEventData{Value: &firestoredata.Document{
		Name: "projects/p/databases/(default)/documents/users/u/tasks/t",
		Fields: map[string]*firestoredata.Value{"target": text("user"), "type": text("alert"),
			"status": text("created")}}})
	if err != nil {
		t.Fatal(err)
	}
	e := cloudevents.NewEvent()
	e.SetID("e")
	e.SetSource("s")
	e.SetType(event.Type(store.Created))
	e.SetTime(time.Now())
	if err := e.SetData("application/protobuf", body); err != nil {
		t.Fatal(err)
	}
	return e
}

type swept struct {
	status int
	body   string
	answer
}

func post(t *testing.T, f http.HandlerFunc) swept {
	t.Helper()
	w := httptest.NewRecorder()
	f(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody))
	s := swept{status: w.Code, body: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &s.answer); err != nil {
		t.Fatal(err, s.body)
	}
	return s
}

func TestAFailedStartIsRepeatedByTheNextCall(t *testing.T) {
	t.Parallel()
	env, log := map[string]string{}, &bytes.Buffer{}
	p := &Handlers{Env: func(name string) string { return env[name] }, Now: time.Now, Log: cloudlog.New(log)}
	react, sweep := p.React("OnTaskUpdate"), p.Sweep("CleanupLedger")
	if err := react(t.Context(), change(t)); err == nil {
		t.Error("an event was handled without a configuration")
	}
	if got := post(t, sweep); got.status != http.StatusServiceUnavailable || got.Success ||
		got.Error.Code != "UNAVAILABLE" || strings.Contains(got.body, "GOOGLE") {
		t.Errorf("a sweep answers %d %s", got.status, got.body)
	}
	if n := strings.Count(log.String(), "GOOGLE_CLOUD_PROJECT"); n != 2 {
		t.Errorf("the log names the missing variable %d times:\n%s", n, log)
	}
	env["GOOGLE_CLOUD_PROJECT"], env["FIRESTORE_EMULATOR_HOST"] = "demo-parley", "127.0.0.1:1"
	if err := react(t.Context(), change(t)); err != nil { // for another reaction
		t.Errorf("with everything set: %v", err)
	}
	delete(env, "GOOGLE_CLOUD_PROJECT")
	if err := react(t.Context(), change(t)); err != nil {
		t.Errorf("it started once more: %v", err)
	}
	if err := p.services.DB.Close(); err != nil {
		t.Error(err)
	}
}

func TestASweepReportsMoreWorkAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	p, log, pass := handlers(t, open(t, emulator.Shared(t)), 0)
	if _, err := p.services.Relay.Send(t.Context(), identity.Caller{User: "u", Program: "alpha"},
		relay.SendInput{Message: "hi", Target: "beta", MessageType: "STATUS", TTL: 60}); err != nil {
		t.Fatal(err)
	}
	pass(time.Hour)
	sweep := p.Sweep("CleanupExpiredRelay")
	if got := post(t, sweep); got.status != http.StatusOK || !got.Success || !got.Data.More || got.Data.Total() != 0 {
		t.Errorf("without any time: %d %s", got.status, got.body)
	}
	p.services.sweepFor = time.Minute
	if got := post(t, sweep); got.status != http.StatusOK || got.Data.More || got.Data.Handled["messages"] != 1 {
		t.Errorf("with time: %d %s", got.status, got.body)
	}
	if !strings.Contains(log.String(), `"severity":"INFO","message":"sweep","sweep":"relay",`+
		`"handled":{"messages":1},"more":false`) {
		t.Errorf("the log is\n%s", log)
	}
}

func TestTheCauseOfAFailureIsLoggedAndNotInTheAnswer(t *testing.T) {
	t.Parallel()
	db := open(t, "127.0.0.1:1")
	p, log, _ := handlers(t, db, time.Minute)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var known app.App
	for _, s := range known.Sweeps() {
		log.Reset()
		got := post(t, p.Sweep(s.Function))
		if got.status < 500 || got.Success || got.Error == nil || got.Data == nil || got.Data.Sweep != s.Name ||
			strings.Contains(got.body, "grpc") {
			t.Errorf("%s answers %d %s", s.Function, got.status, got.body)
		}
		if !strings.Contains(log.String(), `"severity":"ERROR"`) || !strings.Contains(log.String(), `"cause":`) {
			t.Errorf("%s: the log is\n%s", s.Function, log)
		}
	}
	err := p.React("OnTaskCreate")(t.Context(), change(t))
	if err == nil || err.Error() != errRedeliver.Error() {
		t.Errorf("a reaction answers %v", err)
	}
}

func TestTheEndOfAnotherCallsContextEndsNoReaction(t *testing.T) {
	t.Parallel()
	p, log, _ := handlers(t, open(t, emulator.Shared(t)), time.Minute)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.React("OnTaskCreate")(ended, change(t)); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
}
