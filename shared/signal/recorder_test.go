package signal

import (
	"context"
	"slices"
	"sync"

	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// recorder is a sender that records its pushes.
type recorder struct {
	mu   sync.Mutex
	list []sentPush
	// answer returns the result for a token; nil means Sent for all.
	answer func(token string) push.Result
	err    error
	during func()
}

type sentPush struct {
	push.Notice
	tokens []string
}

// Send implements push.Sender.
func (b *recorder) Send(_ context.Context, n push.Notice, tokens []string) ([]push.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.during != nil {
		b.during()
	}
	if b.err != nil {
		return nil, b.err
	}
	b.list = append(b.list, sentPush{n, slices.Clone(tokens)})
	out := make([]push.Result, len(tokens))
	for i, token := range tokens {
		if b.answer != nil {
			out[i] = b.answer(token)
		}
	}
	return out, nil
}

// sent returns the pushes since the last call.
func (b *recorder) sent() []sentPush {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.list
	b.list = nil
	return out
}

func (d *fixture) device(token, platform string) string {
	d.t.Helper()
	out, err := d.Register(d.t.Context(), person, DeviceInput{Token: token, Platform: platform, Name: "n"})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.DeviceID
}

func (d *fixture) devices() (ids []string) {
	d.t.Helper()
	out, err := d.Devices(d.t.Context(), person, DevicesInput{Limit: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, v := range out.Devices {
		ids = append(ids, v.DeviceID)
	}
	return ids
}

func (d *fixture) set(in SettingsInput) {
	d.t.Helper()
	if _, err := d.Service.Set(d.t.Context(), person, in); err != nil {
		d.t.Fatal(err)
	}
}

// event returns the event of a task's creation, as a change feed delivers it.
func (d *fixture) event(id string) store.Event {
	return d.eventNamed("created-"+id, id)
}

func (d *fixture) eventNamed(event, id string) store.Event {
	d.t.Helper()
	t, err := task.Tasks.Get(d.t.Context(), d.DB.User("u"), id)
	if err != nil {
		d.t.Fatal(err)
	}
	after, err := task.Tasks.Encode(t)
	if err != nil {
		d.t.Fatal(err)
	}
	return store.Event{ID: event, At: d.Clock.Now(), Kind: store.Created,
		Ref: store.Ref{User: "u", Coll: "tasks", ID: id}, After: after}
}

func (d *fixture) alert(kind string) string {
	d.t.Helper()
	out, err := d.Alert(d.t.Context(), alpha, AlertInput{Message: kind, AlertType: kind})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.AlertID
}

func (d *fixture) react(e store.Event) {
	d.t.Helper()
	if err := d.notifyOf(d.t.Context(), e); err != nil {
		d.t.Fatal(err)
	}
}
