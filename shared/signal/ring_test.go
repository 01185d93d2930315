package signal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// bell is a sender that records its pushes.
type bell struct {
	mu   sync.Mutex
	rung []rung
	// answer returns the result for a token; nil means Sent for all.
	answer func(token string) push.Result
	err    error
	during func()
}

type rung struct {
	push.Notice
	tokens []string
}

// Send implements push.Sender.
func (b *bell) Send(_ context.Context, n push.Notice, tokens []string) ([]push.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.during != nil {
		b.during()
	}
	if b.err != nil {
		return nil, b.err
	}
	b.rung = append(b.rung, rung{n, slices.Clone(tokens)})
	out := make([]push.Result, len(tokens))
	for i, token := range tokens {
		if b.answer != nil {
			out[i] = b.answer(token)
		}
	}
	return out, nil
}

// heard returns the pushes since the last call.
func (b *bell) heard() []rung {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.rung
	b.rung = nil
	return out
}

func (d *desk) device(token, platform string) string {
	d.t.Helper()
	out, err := d.Register(d.t.Context(), person, DeviceInput{Token: token, Platform: platform, Name: "n"})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.DeviceID
}

func (d *desk) devices() (ids []string) {
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

func (d *desk) set(in SettingsInput) {
	d.t.Helper()
	if _, err := d.Service.Set(d.t.Context(), person, in); err != nil {
		d.t.Fatal(err)
	}
}

// event returns the event of a task's creation, as a change feed delivers it.
func (d *desk) event(id string) store.Event {
	return d.eventNamed("created-"+id, id)
}

func (d *desk) eventNamed(event, id string) store.Event {
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

func (d *desk) alert(kind string) string {
	d.t.Helper()
	out, err := d.Alert(d.t.Context(), alpha, AlertInput{Message: kind, AlertType: kind})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.AlertID
}

func (d *desk) react(e store.Event) {
	d.t.Helper()
	if err := d.ringFor(d.t.Context(), e); err != nil {
		d.t.Fatal(err)
	}
}

func TestAQuestionSendsEveryDeviceOnePush(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		d.device("browser", "web")
		id := d.ask(AskInput{Question: "Ship\nit?  " + strings.Repeat("é", 200), Options: []string{"yes", "no"},
			Priority: task.High, TTL: 90})
		e := d.event(id)
		d.Pass(30 * time.Second)
		for range 2 {
			d.react(e)
		}
		heard := d.bell.heard()
		if len(heard) != 1 {
			t.Fatalf("it rang %d times: %+v", len(heard), heard)
		}
		n := heard[0]
		slices.Sort(n.tokens)
		if !slices.Equal(n.tokens, []string{"browser", "phone"}) || n.Title != "alpha needs your answer" ||
			n.Channel != push.Questions || n.Type != "question" || n.TaskID != id ||
			n.Priority != push.High || n.URL != "https://parley.example/q/"+id ||
			!slices.Equal(n.Options, []string{"yes", "no"}) || n.TTL != time.Minute || n.Badge != nil {
			t.Errorf("it rang %+v", n)
		}
		if !strings.HasPrefix(n.Body, "Ship it? é") || len([]rune(n.Body)) != 100 {
			t.Errorf("it says %q", n.Body)
		}
		if len(n.Key) == 0 || len(n.Key) > 32 {
			t.Errorf("its key is %q", n.Key)
		}
	})
}

func TestConcurrentDeliveriesOfAnEventSendOnePush(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		var again, done atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				switch err := d.ringFor(t.Context(), e); {
				case err == nil:
					done.Add(1)
				case fault.Of(err).Redeliver():
					again.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if done.Load() == 0 {
			t.Errorf("none rang it, %d are to try again", again.Load())
		}
		d.react(e) // as the callers that were told to try again
		if heard := d.bell.heard(); len(heard) != 1 {
			t.Errorf("it rang %d times", len(heard))
		}
	})
}

// The first process dies: after its lease another sends the push, which replaces one that may
// have arrived.
func TestAnotherProcessSendsThePushOfADeadOne(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		if _, open, err := d.begin(t.Context(), "u", e.ID, &ring{about: Questions}, d.Clock.Now()); err != nil ||
			!open {
			t.Fatal(open, err)
		}
		d.Pass(leaseFor - time.Second)
		domaintest.Refused(t, "while it may be at it", d.ringFor(t.Context(), e), fault.Unavailable)
		d.Pass(time.Second)
		d.react(e)
		d.react(e)
		if heard := d.bell.heard(); len(heard) != 1 {
			t.Errorf("it rang %d times", len(heard))
		}
	})
}

func TestAFailedDeviceIsTriedAgainAndADeadOneDeleted(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		good, bad, dead := d.device("good", "android"), d.device("bad", "web"), d.device("dead", "android")
		d.bell.answer = func(token string) push.Result {
			return map[string]push.Result{"good": push.Sent, "bad": push.Failed, "dead": push.Dead}[token]
		}
		e := d.event(d.ask(AskInput{}))
		domaintest.Refused(t, "while one fails", d.ringFor(t.Context(), e), fault.Unavailable, "1 devices")
		if heard := d.bell.heard(); len(heard) != 1 || len(heard[0].tokens) != 3 {
			t.Errorf("it rang %+v", heard)
		}
		if left := d.devices(); len(left) != 2 || slices.Contains(left, dead) || !slices.Contains(left, good) ||
			!slices.Contains(left, bad) {
			t.Errorf("left are %v", left)
		}
		d.bell.answer = nil
		d.react(e)
		if heard := d.bell.heard(); len(heard) != 1 || !slices.Equal(heard[0].tokens, []string{"bad"}) {
			t.Errorf("again it rang %+v", heard)
		}
		d.react(e)
		if heard := d.bell.heard(); len(heard) != 0 {
			t.Errorf("done, it rang %+v", heard)
		}
	})
}

func TestAfterAnErrorAllDevicesAreTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		d.bell.err = fault.New(fault.Unavailable, "down")
		domaintest.Refused(t, "while it is down", d.ringFor(t.Context(), e), fault.Unavailable, "down")
		d.bell.err = errors.New("a bug")
		domaintest.Refused(t, "with a bug", d.ringFor(t.Context(), e), fault.Internal)
		d.bell.err = nil
		d.react(e)
		if heard := d.bell.heard(); len(heard) != 1 {
			t.Errorf("it rang %+v", heard)
		}
	})
}

func TestDevicesReceivePushesInBatchesOfFiveHundred(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for first := 0; first < 1100; first += 400 {
			err := d.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				for i := first; i < min(first+400, 1100); i++ {
					devices.Put(tx, deviceID(fmt.Sprint(i)), Device{Token: fmt.Sprint(i), Platform: "web"})
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		d.bell.answer = func(token string) push.Result {
			if token == "7" {
				return push.Failed
			}
			return push.Dead
		}
		e := d.event(d.ask(AskInput{}))
		domaintest.Refused(t, "one of 1100 fails", d.ringFor(t.Context(), e), fault.Unavailable)
		var sizes []int
		seen := map[string]bool{}
		for _, r := range d.bell.heard() {
			sizes = append(sizes, len(r.tokens))
			for _, token := range r.tokens {
				seen[token] = true
			}
		}
		if !slices.Equal(sizes, []int{500, 500, 100}) || len(seen) != 1100 {
			t.Errorf("rung by %v, %d in all", sizes, len(seen))
		}
		if left := d.devices(); len(left) != 1 || left[0] != deviceID("7") {
			t.Errorf("left are %v", left)
		}
	})
}

func TestExpiredAndEndedTasksSendNoPush(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		answered, late, gone := d.ask(AskInput{}), d.ask(AskInput{TTL: 60}), d.ask(AskInput{})
		events := []store.Event{d.event(answered), d.event(late), d.event(gone)}
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: answered, Response: "yes"}); err != nil {
			t.Fatal(err)
		}
		err := d.DB.User("u").Update(t.Context(), func(_ context.Context,
			tx *store.Tx) error {
			task.Tasks.Delete(tx, gone)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Pass(time.Minute)
		for _, e := range events {
			d.react(e)
		}
		if heard := d.bell.heard(); len(heard) != 0 {
			t.Errorf("it rang %+v", heard)
		}
	})
}

func TestQuietHoursHoldBackQuietPushes(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		d.set(SettingsInput{Quiet: &QuietHours{From: "11:00", To: "13:00"}}) // it is noon
		for _, kind := range []string{"info", "success", "info"} {
			e := d.event(d.alert(kind))
			d.react(e)
			d.react(e) // counted once
		}
		if heard := d.bell.heard(); len(heard) != 0 {
			t.Errorf("it rang %+v", heard)
		}
		d.react(d.event(d.alert("error")))
		d.react(d.event(d.ask(AskInput{})))
		heard := d.bell.heard()
		if len(heard) != 2 || heard[0].Title != "Error from alpha" || heard[0].Body != "error\nand 3 more" ||
			heard[1].Body != "which?" {
			t.Errorf("it rang %+v", heard)
		}
		d.Pass(time.Hour)
		d.react(d.event(d.alert("info")))
		if heard := d.bell.heard(); len(heard) != 1 || heard[0].Body != "info" {
			t.Errorf("after them it rang %+v", heard)
		}
	})
}

func TestCategoriesThatAreOffSendNoPushAndAreNotCounted(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		d.set(SettingsInput{Off: []About{Alerts, Changes}})
		d.react(d.event(d.alert("error")))
		if err := d.RingChange(t.Context(), "u", "e", push.Notice{Title: "x is blocked", SessionID: "s",
			Type: "session"}); err != nil {
			t.Fatal(err)
		}
		d.react(d.event(d.ask(AskInput{})))
		if heard := d.bell.heard(); len(heard) != 1 || heard[0].Body != "which?" {
			t.Errorf("it rang %+v", heard)
		}
	})
}

func TestTheLimitOfChangesLeavesRoomForQuestions(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		d.set(SettingsInput{ChangesPerHour: new(2)})
		for i := range 5 {
			n := push.Notice{Title: "x is blocked", SessionID: fmt.Sprint("s", i), Type: "session"}
			if err := d.RingChange(t.Context(), "u", fmt.Sprint("e", i), n); err != nil {
				t.Fatal(err)
			}
		}
		if heard := d.bell.heard(); len(heard) != 2 || heard[0].URL != "https://parley.example/q" ||
			heard[0].TTL != 24*time.Hour || heard[0].Key == heard[1].Key {
			t.Errorf("it rang %+v", heard)
		}
		d.react(d.event(d.ask(AskInput{})))
		if heard := d.bell.heard(); len(heard) != 1 || heard[0].Body != "which?\nand 3 more" {
			t.Errorf("it rang %+v", heard)
		}
	})
}

func TestTheBadgeCountsPendingQuestions(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "ios")
		d.ask(AskInput{})
		d.ask(AskInput{TTL: 1})
		answered := d.ask(AskInput{})
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: answered, Response: "yes"}); err != nil {
			t.Fatal(err)
		}
		d.Pass(time.Second)
		d.react(d.event(d.ask(AskInput{})))
		heard := d.bell.heard()
		if len(heard) != 1 || heard[0].Badge == nil || *heard[0].Badge != 2 {
			t.Errorf("it rang %+v", heard)
		}
	})
}

// One event id of two users is two events.
func TestEventsOfUsersAreSeparate(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.device("phone", "android")
		n := push.Notice{Title: "x is blocked", SessionID: "s", Type: "session"}
		for _, user := range []string{"u", "v"} {
			if err := d.RingChange(t.Context(), user, "e", n); err != nil {
				t.Fatal(err)
			}
		}
		heard := d.bell.heard()
		if len(heard) != 2 || len(heard[0].tokens) != 1 || len(heard[1].tokens) != 0 {
			t.Errorf("it rang %+v", heard)
		}
	})
}
