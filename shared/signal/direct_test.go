package signal

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/push/direct"
	"parley.internal/shared/push/ntfy/ntfytest"
	"parley.internal/shared/push/webpush"
	"parley.internal/shared/push/webpush/webpushtest"
	"parley.internal/shared/store"
)

// paired is a person who acts from a paired device.
var paired = identity.Caller{User: "u", KeyID: "0a0b0c", Kind: identity.Human, Assurance: identity.Device}

// rung are the pushes that one device of a platform received.
type rung struct {
	title, body string
	answer      push.Answer // of the first option, where there is one
	key         string
}

// bell is a device with a stand-in for its service.
type bell struct {
	in DeviceInput
	// refuse makes the service answer the next push with a status.
	refuse func(status int)
	// rung returns the pushes that arrived since the last call.
	rung func() []rung
}

// bells returns a device of each platform, by its name.
func (d *fixture) bells() map[string]bell {
	d.t.Helper()
	d.Service.Direct = direct.New(direct.Options{Keys: domaintest.Must(webpush.NewKeys())(d.t), Private: true,
		Now: d.Clock.Now})
	return map[string]bell{"webpush": d.browser(), "ntfy": d.topic(), "webhook": d.hook()}
}

func (d *fixture) browser() bell {
	s := webpushtest.New(d.t)
	sub := s.Subscribe()
	return bell{
		in: DeviceInput{Platform: "webpush", Name: "n", Subscription: &Subscription{Endpoint: sub.Endpoint,
			Keys: SubscriptionKeys{P256dh: sub.P256dh, Auth: sub.Auth}}},
		refuse: func(status int) {
			s.Answer(sub.Endpoint, func(w http.ResponseWriter, _ int) int {
				w.Header().Set("Retry-After", "120")
				answered := status
				status = http.StatusCreated
				return answered
			})
		},
		rung: func() (out []rung) {
			for _, m := range s.Messages() {
				var text struct {
					Notification struct{ Title, Body, Tag string }
					Parley       struct{ Answer string }
				}
				if m.Status >= 300 {
					continue
				}
				domaintest.Check(d.t, json.Unmarshal(m.Text, &text))
				out = append(out, rung{text.Notification.Title, text.Notification.Body,
					push.Answer{Token: text.Parley.Answer, Option: 1}, text.Notification.Tag})
			}
			return out
		},
	}
}

func (d *fixture) topic() bell {
	s, read := ntfytest.New(d.t), 0
	return bell{
		in:     DeviceInput{Platform: "ntfy", Name: "n", URL: s.URL + "/bell", Token: "tk_secret"},
		refuse: func(status int) { s.Refuse(ntfytest.Status{Code: status, After: "120"}) },
		rung: func() (out []rung) {
			for _, m := range s.Messages("bell")[read:] {
				read++
				r := rung{title: m.Title, body: m.Message, key: m.SequenceID}
				if len(m.Actions) > 0 && m.Actions[0].Action == "http" {
					domaintest.Check(d.t, json.Unmarshal([]byte(m.Actions[0].Body), &r.answer))
				}
				out = append(out, r)
			}
			return out
		},
	}
}

func (d *fixture) hook() bell {
	var mu sync.Mutex
	var got []rung
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var text struct {
			Data struct{ Title, Body, Key string }
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &text); err != nil {
			d.t.Error(err)
		}
		if status == http.StatusOK {
			got = append(got, rung{title: text.Data.Title, body: text.Data.Body, key: text.Data.Key})
		}
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(status)
		status = http.StatusOK
	}))
	d.t.Cleanup(s.Close)
	return bell{
		in: DeviceInput{Platform: "webhook", Name: "n", URL: s.URL + "/hook",
			Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8G"},
		refuse: func(next int) {
			mu.Lock()
			defer mu.Unlock()
			status = next
		},
		rung: func() []rung {
			mu.Lock()
			defer mu.Unlock()
			out := got
			got = nil
			return out
		},
	}
}

func (d *fixture) register(c identity.Caller, in DeviceInput) string {
	d.t.Helper()
	return domaintest.Must(d.Register(d.t.Context(), c, in))(d.t).DeviceID
}

func TestEveryPlatformIsRungOncePerEventWithTheSameKey(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		all := d.bells()
		for _, b := range all {
			d.register(person, b.in)
		}
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{Question: "Ship it?", Options: []string{"yes", "no"}}))
		for range 2 {
			d.react(e)
		}
		apps := d.sender.sent()
		if len(apps) != 1 || len(apps[0].tokens) != 1 {
			t.Fatalf("the app: %+v", apps)
		}
		for name, b := range all {
			if got := b.rung(); len(got) != 1 || got[0].title != "alpha needs your answer" || got[0].body != "Ship it?" ||
				got[0].key != apps[0].Key {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

func TestCapsAndQuietHoursHoldForEveryPlatform(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		all := d.bells()
		for _, b := range all {
			d.register(person, b.in)
		}
		count := func(when string, want int) {
			t.Helper()
			for name, b := range all {
				if got := b.rung(); len(got) != want {
					t.Errorf("%s, %s: %+v, want %d", when, name, got, want)
				}
			}
		}
		d.set(SettingsInput{Quiet: &QuietHours{From: "00:00", To: "23:59"}})
		d.react(d.event(d.alert("info")))
		count("in quiet hours, news", 0)
		d.react(d.event(d.alert("error")))
		count("in quiet hours, an error", 1)
		d.set(SettingsInput{Off: []About{Alerts}})
		d.react(d.event(d.alert("error")))
		count("switched off", 0)
		d.set(SettingsInput{PerHour: new(3)})
		for range 4 {
			d.react(d.event(d.ask(AskInput{})))
		}
		count("with three an hour, of which one is spent", 2)
		d.Pass(61 * time.Minute)
		d.react(d.event(d.ask(AskInput{})))
		for name, b := range all {
			if got := b.rung(); len(got) != 1 || !strings.HasSuffix(got[0].body, "\nand 2 more") {
				t.Errorf("an hour later, %s: %+v", name, got)
			}
		}
	})
}

func TestADeviceThatIsGoneIsRemovedWithItsAddress(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		all := d.bells()
		for name, b := range all {
			id := d.register(person, b.in)
			b.refuse(http.StatusGone)
			d.react(d.event(d.ask(AskInput{})))
			_, err := addresses.Get(t.Context(), d.DB.User("u"), id)
			if left := d.devices(); len(left) != 0 || !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: left are %v, %v", name, left, err)
			}
		}
		b := all["webpush"]
		d.register(person, b.in)
		b.refuse(http.StatusForbidden)
		d.react(d.event(d.ask(AskInput{})))
		if left := d.devices(); len(left) != 1 {
			t.Errorf("after a refusal of the key: %v", left)
		}
	})
}

func TestAServiceThatAsksForAPauseIsLeftInPeace(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for name, b := range d.bells() {
			id := d.register(person, b.in)
			first, second := d.event(d.ask(AskInput{})), d.event(d.ask(AskInput{}))
			b.refuse(http.StatusTooManyRequests)
			err := d.notifyOf(t.Context(), first)
			domaintest.Refused(t, name, err, fault.Unavailable, "to 1 devices")
			if wait := fault.From(err).RetryAfter; wait != 2*time.Minute {
				t.Errorf("%s: after %v", name, wait)
			}
			d.Pass(119 * time.Second)
			for _, e := range []store.Event{first, second} {
				domaintest.Refused(t, name, d.notifyOf(t.Context(), e), fault.Unavailable)
			}
			if got := b.rung(); len(got) != 0 {
				t.Errorf("%s: rung in the pause: %+v", name, got)
			}
			d.Pass(time.Second)
			d.react(first)
			d.react(second)
			if got := b.rung(); len(got) != 2 {
				t.Errorf("%s: rung after the pause: %+v", name, got)
			}
			domaintest.Must(d.Unregister(t.Context(), person, DeviceIDInput{DeviceID: id}))(t)
		}
	})
}

func TestAServiceThatIsDownKeepsNoOtherDeviceWaiting(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["webhook"]
		d.register(person, b.in)
		d.device("phone", "android")
		e := d.event(d.ask(AskInput{}))
		for range 2 {
			b.refuse(http.StatusBadGateway)
			domaintest.Refused(t, "while it is down", d.notifyOf(t.Context(), e), fault.Unavailable)
			d.Pass(30 * time.Minute)
		}
		b.refuse(http.StatusBadGateway)
		d.react(e)
		if got := d.sender.sent(); len(got) != 1 {
			t.Errorf("the phone was rung %d times", len(got))
		}
	})
}

func TestAPushServiceOfAppsThatIsDownRingsNoOtherDeviceTwice(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["ntfy"]
		d.register(person, b.in)
		d.device("phone", "android")
		d.sender.err = fault.New(fault.Unavailable, "away")
		e := d.event(d.ask(AskInput{}))
		domaintest.Refused(t, "while it is down", d.notifyOf(t.Context(), e), fault.Unavailable)
		d.sender.err = nil
		d.react(e)
		if apps, got := d.sender.sent(), b.rung(); len(apps) != 1 || len(got) != 1 {
			t.Errorf("the phone %d times, the topic %d times", len(apps), len(got))
		}
	})
}

func TestNoAnswerHasASecretOfADevice(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		var secrets []string
		var answers []any
		for _, b := range d.bells() {
			if s := b.in.Subscription; s != nil {
				secrets = append(secrets, s.Endpoint, s.Keys.P256dh, s.Keys.Auth)
			} else {
				secrets = append(secrets, b.in.URL, b.in.Token+b.in.Secret)
			}
			view := domaintest.Must(d.Register(t.Context(), person, b.in))(t)
			answers = append(answers, view)
			_, err := d.Register(t.Context(), person, DeviceInput{Platform: "android", Token: "t",
				URL: secrets[len(secrets)-1], Secret: b.in.Secret})
			answers = append(answers, fmt.Sprint(err), fault.From(err).Problems)
		}
		answers = append(answers, domaintest.Must(d.Devices(t.Context(), person, DevicesInput{}))(t))
		for _, id := range d.devices() {
			answers = append(answers, domaintest.Must(d.Unregister(t.Context(), person, DeviceIDInput{DeviceID: id}))(t))
		}
		text := string(domaintest.Must(json.Marshal(answers))(t))
		page, err := d.DB.User("u").Log(t.Context(), "")
		domaintest.Check(t, err)
		text += fmt.Sprintf("%+v", page)
		for _, secret := range secrets {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
		if !strings.Contains(text, "webhook") {
			t.Errorf("no answers: %s", text)
		}
	})
}

func TestAnAddressIsRegisteredOnceAndReplaced(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for name, b := range d.bells() {
			first := d.register(person, b.in)
			again := b.in
			again.Private = true
			if id := d.register(person, again); id != first {
				t.Errorf("%s: another id", name)
			}
			d.react(d.event(d.ask(AskInput{Question: "Ship it?"})))
			if got := b.rung(); len(got) != 1 || got[0].title == "" || strings.Contains(got[0].body, "Ship") {
				t.Errorf("%s: %+v", name, got)
			}
			domaintest.Must(d.Unregister(t.Context(), person, DeviceIDInput{DeviceID: first}))(t)
		}
	})
}

func TestAServerWithoutTheMeansRefusesTheDevice(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		in := DeviceInput{Platform: "ntfy", URL: "https://n.example/t", Reply: "https://n.example/u"}
		_, err := d.Register(t.Context(), person, in)
		domaintest.Refused(t, "no sender", err, fault.Precondition, "platform ntfy")
		d.Service.Direct = direct.New(direct.Options{})
		_, err = d.Register(t.Context(), person, in)
		domaintest.Refused(t, "nobody listens", err, fault.Precondition, "leave reply out")
		d.Listens = true
		d.register(person, in)
		if v := domaintest.Must(d.Settings(t.Context(), person, SettingsQuery{}))(t); v.VAPIDPublicKey != "" {
			t.Errorf("there is a key: %+v", v)
		}
		d.bells()
		if v := domaintest.Must(d.Settings(t.Context(), person, SettingsQuery{}))(t); len(v.VAPIDPublicKey) != 87 {
			t.Errorf("there is no key: %+v", v)
		}
	})
}

func TestTheVAPIDKeyIsMadeOnce(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		var mu sync.Mutex
		made := 0
		create := func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			made++
			return fmt.Sprint("key", made), nil
		}
		got := make([]string, domaintest.Crowd(t, 8, 2))
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { got[i] = domaintest.Must(VAPIDKey(t.Context(), d.DB, create))(t) })
		}
		all.Wait()
		got = append(got, domaintest.Must(VAPIDKey(t.Context(), d.DB, create))(t))
		for _, k := range got {
			if k == "" || k != got[0] {
				t.Errorf("the keys are %v", got)
			}
		}
	})
}
