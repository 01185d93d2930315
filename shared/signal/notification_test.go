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

func TestAQuestionSendsEveryDeviceOnePush(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		d.device("browser", "web")
		id := d.ask(AskInput{Question: "Ship\nit?  " + strings.Repeat("é", 200), Options: []string{"yes", "no"},
			Priority: task.High, TTL: 90})
		e := d.event(id)
		d.Pass(30 * time.Second)
		for range 2 {
			d.react(e)
		}
		sent := d.sender.sent()
		if len(sent) != 1 {
			t.Fatalf("%d pushes were sent: %+v", len(sent), sent)
		}
		n := sent[0]
		slices.Sort(n.tokens)
		if !slices.Equal(n.tokens, []string{"browser", "phone"}) || n.Title != "alpha needs your answer" ||
			n.Channel != push.Questions || n.Type != "question" || n.TaskID != id ||
			n.Priority != push.High || n.URL != "https://parley.example/q/"+id ||
			!slices.Equal(n.Options, []string{"yes", "no"}) || n.TTL != time.Minute || n.Badge != nil {
			t.Errorf("the pushes are %+v", n)
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
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		var again, done atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				switch err := d.notifyOf(t.Context(), e); {
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
			t.Errorf("none sent it, %d are to try again", again.Load())
		}
		d.react(e) // as the callers that were told to try again
		if sent := d.sender.sent(); len(sent) != 1 {
			t.Errorf("%d pushes were sent", len(sent))
		}
	})
}

// The first process dies: after its lease another sends the push, which replaces one that may
// have arrived.
func TestAnotherProcessSendsThePushOfADeadOne(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		if _, open, err := d.begin(t.Context(), "u", e.ID, &notification{about: Questions}, d.Clock.Now()); err != nil ||
			!open {
			t.Fatal(open, err)
		}
		d.Pass(leaseFor - time.Second)
		domaintest.Refused(t, "while it may be at it", d.notifyOf(t.Context(), e), fault.Unavailable)
		d.Pass(time.Second)
		d.react(e)
		d.react(e)
		if sent := d.sender.sent(); len(sent) != 1 {
			t.Errorf("%d pushes were sent", len(sent))
		}
	})
}

func TestAFailedDeviceIsTriedAgainAndADeadOneDeleted(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		good, bad, dead := d.device("good", "android"), d.device("bad", "web"), d.device("dead", "android")
		d.sender.answer = func(token string) push.Result {
			return map[string]push.Result{"good": push.Sent, "bad": push.Failed, "dead": push.Dead}[token]
		}
		e := d.event(d.ask(AskInput{}))
		domaintest.Refused(t, "while one fails", d.notifyOf(t.Context(), e), fault.Unavailable, "1 devices")
		if sent := d.sender.sent(); len(sent) != 1 || len(sent[0].tokens) != 3 {
			t.Errorf("the pushes are %+v", sent)
		}
		if left := d.devices(); len(left) != 2 || slices.Contains(left, dead) || !slices.Contains(left, good) ||
			!slices.Contains(left, bad) {
			t.Errorf("left are %v", left)
		}
		d.sender.answer = nil
		d.react(e)
		if sent := d.sender.sent(); len(sent) != 1 || !slices.Equal(sent[0].tokens, []string{"bad"}) {
			t.Errorf("again the pushes are %+v", sent)
		}
		d.react(e)
		if sent := d.sender.sent(); len(sent) != 0 {
			t.Errorf("done, the pushes are %+v", sent)
		}
	})
}

func TestAfterAnErrorAllDevicesAreTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		d.sender.err = fault.New(fault.Unavailable, "down")
		domaintest.Refused(t, "while it is down", d.notifyOf(t.Context(), e), fault.Unavailable, "down")
		d.sender.err = errors.New("a bug")
		domaintest.Refused(t, "with a bug", d.notifyOf(t.Context(), e), fault.Internal)
		d.sender.err = nil
		d.react(e)
		if sent := d.sender.sent(); len(sent) != 1 {
			t.Errorf("the pushes are %+v", sent)
		}
	})
}

func TestDevicesReceivePushesInBatchesOfFiveHundred(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
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
		d.sender.answer = func(token string) push.Result {
			if token == "7" {
				return push.Failed
			}
			return push.Dead
		}
		e := d.event(d.ask(AskInput{}))
		domaintest.Refused(t, "one of 1100 fails", d.notifyOf(t.Context(), e), fault.Unavailable)
		var sizes []int
		seen := map[string]bool{}
		for _, r := range d.sender.sent() {
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
	each(t, func(t *testing.T, d *fixture) {
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
		if sent := d.sender.sent(); len(sent) != 0 {
			t.Errorf("the pushes are %+v", sent)
		}
	})
}

func TestQuietHoursHoldBackQuietPushes(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		d.set(SettingsInput{Quiet: &QuietHours{From: "11:00", To: "13:00"}}) // it is noon
		for _, kind := range []string{"info", "success", "info"} {
			e := d.event(d.alert(kind))
			d.react(e)
			d.react(e) // counted once
		}
		if sent := d.sender.sent(); len(sent) != 0 {
			t.Errorf("the pushes are %+v", sent)
		}
		d.react(d.event(d.alert("error")))
		d.react(d.event(d.ask(AskInput{})))
		sent := d.sender.sent()
		if len(sent) != 2 || sent[0].Title != "Error from alpha" || sent[0].Body != "error\nand 3 more" ||
			sent[1].Body != "which?" {
			t.Errorf("the pushes are %+v", sent)
		}
		d.Pass(time.Hour)
		d.react(d.event(d.alert("info")))
		if sent := d.sender.sent(); len(sent) != 1 || sent[0].Body != "info" {
			t.Errorf("after them the pushes are %+v", sent)
		}
	})
}

func TestCategoriesThatAreOffSendNoPushAndAreNotCounted(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		d.set(SettingsInput{Off: []About{Alerts, Changes}})
		d.react(d.event(d.alert("error")))
		if err := d.NotifyChange(t.Context(), "u", "e", push.Notice{Title: "x is blocked", SessionID: "s",
			Type: "session"}); err != nil {
			t.Fatal(err)
		}
		d.react(d.event(d.ask(AskInput{})))
		if sent := d.sender.sent(); len(sent) != 1 || sent[0].Body != "which?" {
			t.Errorf("the pushes are %+v", sent)
		}
	})
}

func TestTheLimitOfChangesLeavesRoomForQuestions(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		d.set(SettingsInput{ChangesPerHour: new(2)})
		for i := range 5 {
			n := push.Notice{Title: "x is blocked", SessionID: fmt.Sprint("s", i), Type: "session"}
			if err := d.NotifyChange(t.Context(), "u", fmt.Sprint("e", i), n); err != nil {
				t.Fatal(err)
			}
		}
		if sent := d.sender.sent(); len(sent) != 2 || sent[0].URL != "https://parley.example/q" ||
			sent[0].TTL != 24*time.Hour || sent[0].Key == sent[1].Key {
			t.Errorf("the pushes are %+v", sent)
		}
		d.react(d.event(d.ask(AskInput{})))
		if sent := d.sender.sent(); len(sent) != 1 || sent[0].Body != "which?\nand 3 more" {
			t.Errorf("the pushes are %+v", sent)
		}
	})
}

func TestTheBadgeCountsPendingQuestions(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "ios")
		d.ask(AskInput{})
		d.ask(AskInput{TTL: 1})
		answered := d.ask(AskInput{})
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: answered, Response: "yes"}); err != nil {
			t.Fatal(err)
		}
		d.Pass(time.Second)
		d.react(d.event(d.ask(AskInput{})))
		sent := d.sender.sent()
		if len(sent) != 1 || sent[0].Badge == nil || *sent[0].Badge != 2 {
			t.Errorf("the pushes are %+v", sent)
		}
	})
}

// One event id of two users is two events.
func TestEventsOfUsersAreSeparate(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		n := push.Notice{Title: "x is blocked", SessionID: "s", Type: "session"}
		for _, user := range []string{"u", "v"} {
			if err := d.NotifyChange(t.Context(), user, "e", n); err != nil {
				t.Fatal(err)
			}
		}
		sent := d.sender.sent()
		if len(sent) != 2 || len(sent[0].tokens) != 1 || len(sent[1].tokens) != 0 {
			t.Errorf("the pushes are %+v", sent)
		}
	})
}
