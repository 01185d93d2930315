package functions_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"parley.internal/functions/internal/event"
	"parley.internal/shared/app"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/op"
	"parley.internal/shared/push/fcm"
	"parley.internal/shared/push/fcm/fcmtest"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
)

// tape is a recorded change feed.
type tape struct {
	events []store.Event
	acked  chan int64
}

// Feed implements app.Feed.
func (f *tape) Feed(context.Context, ...store.Follow) (store.Feed, error) { return f, nil }

// Next implements store.Feed.
func (f *tape) Next(ctx context.Context, after int64, _ int) ([]store.Event, error) {
	if after < int64(len(f.events)) {
		return f.events[after:], nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Ack implements store.Feed.
func (f *tape) Ack(_ context.Context, seq int64) error {
	f.acked <- seq
	return nil
}

// counted is the part of a push that depends on the time until an expiry.
var counted = regexp.MustCompile(`(ttl|TTL):\d+`)

// said returns the pushes, sorted.
func said(all []fcmtest.Message) []string {
	var out []string
	for _, m := range all {
		out = append(out, fmt.Sprintf("%s | %s | %s | %v | %v | %v", m.Token, m.Title, m.Body, m.Data, m.Android,
			m.Webpush))
		out[len(out)-1] = counted.ReplaceAllString(out[len(out)-1], "$1:")
	}
	slices.Sort(out)
	return out
}

// decoded returns the change as the hub's feed reports it.
func decoded(t *testing.T, c change, seq int) store.Event {
	t.Helper()
	ce := cloudevents.NewEvent()
	ce.SetID(fmt.Sprint("feed-", seq))
	ce.SetType(event.Type(c.kind))
	ce.SetSource("test")
	ce.SetTime(c.at)
	if err := ce.SetData("application/protobuf", c.body); err != nil {
		t.Fatal(err)
	}
	e, err := event.Decode(ce)
	if err != nil {
		t.Fatal(err)
	}
	e.Seq = int64(seq)
	return e
}

// The hub's loop on a laptop and the functions call the same methods. For the same sequence of events both send the
// same pushes to the same devices and mark each event as handled.
func TestTheHubsLoopAndTheFunctionsSendTheSamePushes(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone", "tablet")
	ctx := t.Context()
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?", Options: []string{"yes", "no"}, TTL: 86_400})
	alert, err := w.Signal.Alert(ctx, alpha,
		op.Fill(signal.AlertInput{Message: "it burns", AlertType: "error", TTL: 86_400}))
	must(w, alert, err)
	quiet, err := w.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{Title: "no push", Target: "beta"}))
	must(w, quiet, err)
	_, blocked := w.blocked()
	_, stuck := w.stuck()
	events := []change{asked, w.event("OnTaskCreate", nil, w.doc("tasks/"+alert.AlertID)),
		w.event("OnTaskCreate", nil, w.doc("tasks/"+quiet.TaskID)), blocked, stuck}

	here := fcmtest.New(t)
	sender, err := fcm.New(ctx, fcm.Options{Project: w.project, Endpoint: here.Endpoint()})
	must(w, sender, err)
	laptop := app.New(w.DB, app.Ports{Sender: sender, PublicURL: "https://parley.example"})
	feed := &tape{acked: make(chan int64, 10)}
	for i := range events {
		events[i].id = fmt.Sprint("trigger-", i+1)
		feed.events = append(feed.events, decoded(t, events[i], i+1))
	}
	var log bytes.Buffer
	follower, err := laptop.Follow(ctx, feed, slog.New(slog.NewTextHandler(&log, nil)))
	must(w, follower, err)
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		follower.Run(running)
	}()
	for acked := int64(0); acked < int64(len(events)); {
		select {
		case acked = <-feed.acked:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
	stop()
	<-done
	for _, e := range events {
		if status := w.post(e); status != http.StatusOK {
			t.Fatalf("%s %s answers %d\n%s", e.function, e.id, status, w.logs)
		}
	}
	loop, functions := said(here.Messages()), said(w.fcm.Messages())
	if !slices.Equal(loop, functions) || len(loop) != 8 {
		t.Errorf("the loop sent\n%s\nthe functions\n%s\n%s", strings.Join(loop, "\n"), strings.Join(functions, "\n"),
			log.String())
	}
	for i, e := range events {
		for _, id := range []string{e.id, feed.events[i].ID} {
			if told, err := w.Signal.Told(ctx, "u", id); err != nil || told != (i != 2) {
				t.Errorf("%s: told is %t, %v", id, told, err)
			}
		}
	}
}
