package signal

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/push/ntfy/ntfytest"
	"parley.internal/shared/store"
)

// asks asks a question and returns the answer that the device's first button gives.
func (d *fixture) asks(b bell, in AskInput) (id string, first push.Answer) {
	d.t.Helper()
	in.Options = []string{"yes", "no"}
	id = d.ask(in)
	d.react(d.event(id))
	got := b.rung()
	if len(got) != 1 || got[0].answer.Token == "" {
		d.t.Fatalf("rung: %+v", got)
	}
	return id, got[0].answer
}

func TestAButtonAnswersOnceWithTheAssuranceOfWhoRegisteredTheDevice(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for name, b := range d.bells() {
			if name == "webhook" {
				continue
			}
			d.register(paired, b.in)
			id, answer := d.asks(b, AskInput{Assurance: identity.Device})
			domaintest.Check(t, d.AnswerByToken(t.Context(), answer))
			if got := d.response(id); got.Response != "yes" || got.AnsweredWith != identity.Device ||
				got.AnsweredBy != "key:0a0b0c" {
				t.Errorf("%s: %+v", name, got)
			}
			domaintest.Refused(t, name+", twice", d.AnswerByToken(t.Context(), answer), fault.Precondition, "was answered")
			id, answer = d.asks(b, AskInput{})
			domaintest.Check(t, d.AnswerByToken(t.Context(), push.Answer{Token: answer.Token, Text: "later"}))
			if got := d.response(id); got.Response != "later" {
				t.Errorf("%s, a text: %+v", name, got)
			}
		}
	})
}

func TestAttackADeviceThatAKeyOnTheMachineRegisteredAnswersNoMoreThanThatKey(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["ntfy"]
		d.register(person, b.in)
		_, answer := d.asks(b, AskInput{Assurance: identity.Device})
		domaintest.Refused(t, "a demanded device", d.AnswerByToken(t.Context(), answer), fault.Forbidden, "demands")
		id, answer := d.asks(b, AskInput{})
		_, demanding := d.asks(b, AskInput{Assurance: identity.Device})
		d.register(paired, b.in)
		domaintest.Refused(t, "a token of before", d.AnswerByToken(t.Context(), demanding), fault.Forbidden, "demands")
		domaintest.Check(t, d.AnswerByToken(t.Context(), answer))
		if got := d.response(id); got.AnsweredWith != identity.Local {
			t.Errorf("%+v", got)
		}
	})
}

func TestATokenEndsWithItsDeviceAndItsKey(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		var answers error
		assurance := identity.Device
		d.Registrant = func(_ context.Context, user, key string) (identity.Assurance, error) {
			if user != "u" || key != paired.KeyID {
				t.Errorf("%s of %s is asked for", key, user)
			}
			return assurance, answers
		}
		b := d.bells()["webpush"]
		device := d.register(paired, b.in)
		_, answer := d.asks(b, AskInput{Assurance: identity.Device})
		d.register(paired, b.in) // as at every start of the page
		answers = fault.New(fault.Unauthenticated, "this key was revoked")
		domaintest.Refused(t, "a revoked key", d.AnswerByToken(t.Context(), answer), fault.Unauthenticated, "revoked")
		answers, assurance = nil, identity.Local
		domaintest.Refused(t, "a key that is no device's any more", d.AnswerByToken(t.Context(), answer), fault.Forbidden)
		assurance = identity.Device
		domaintest.Must(d.Unregister(t.Context(), person, DeviceIDInput{DeviceID: device}))(t)
		domaintest.Refused(t, "a removed device", d.AnswerByToken(t.Context(), answer), fault.Unauthenticated, "removed")
	})
}

func TestAttackNoOtherTokenAnswers(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["webpush"]
		d.register(paired, b.in)
		id, answer := d.asks(b, AskInput{})
		user, secret, _ := strings.Cut(answer.Token, ".")
		another := base64.RawURLEncoding.EncodeToString([]byte("v"))
		for name, in := range map[string]push.Answer{
			"none":                 {Option: 1},
			"no token":             {Token: "x.y", Option: 1},
			"another user's":       {Token: another + "." + secret, Option: 1},
			"of a user of no name": {Token: base64.RawURLEncoding.EncodeToString([]byte("../u")) + "." + secret, Option: 1},
			"without its secret":   {Token: user + ".", Option: 1},
			"cut":                  {Token: answer.Token[:len(answer.Token)-1], Option: 1},
			"its hash":             {Token: tokenID(answer.Token), Option: 1},
			"endless":              {Token: answer.Token + strings.Repeat("A", 2000), Option: 1},
		} {
			domaintest.Refused(t, name, d.AnswerByToken(t.Context(), in), fault.Unauthenticated)
		}
		for name, in := range map[string]push.Answer{
			"nothing": {}, "both": {Option: 1, Text: "x"}, "option 3": {Option: 3}, "option -1": {Option: -1},
			"a long text": {Text: strings.Repeat("é", 4001)},
		} {
			in.Token = answer.Token
			domaintest.Refused(t, name, d.AnswerByToken(t.Context(), in), fault.Invalid)
		}
		if got := d.response(id); got.Status != Pending {
			t.Errorf("%+v", got)
		}
	})
}

// following calls test while the service follows reply topics, and waits for their end.
func (d *fixture) following(log *bytes.Buffer, test func()) {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		d.FollowReplies(ctx, store.NewAdmin(d.DB), slog.New(slog.NewJSONHandler(log, nil)))
	})
	test()
	stop()
	all.Wait()
}

func TestAnAnswerFromAReplyTopicIsTakenAndNothingElse(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.bells()
		d.Listens = true
		s, log := ntfytest.New(t), &bytes.Buffer{}
		in := DeviceInput{Platform: "ntfy", URL: s.URL + "/bell", Reply: s.URL + "/answers"}
		ring := func() (string, ntfytest.Action) {
			id := d.ask(AskInput{Options: []string{"yes", "no"}, Assurance: identity.Device})
			d.react(d.event(id))
			list := s.Messages("bell")
			return id, list[len(list)-1].Actions[1]
		}
		answered := func(id string) {
			t.Helper()
			domaintest.Eventually(t, "the answer", func() bool { return d.response(id).Status == Answered })
			if got := d.response(id); got.Response != "no" || got.AnsweredWith != identity.Device {
				t.Errorf("%+v", got)
			}
		}
		var late string
		d.following(log, func() {
			d.register(paired, in) // after the service follows
			id, no := ring()
			for _, junk := range []string{"hello", "{}", `{"token":"x.y","option":1}`, `{"token":1}`} {
				s.Publish("answers", junk)
			}
			if status := no.Press(t); status != http.StatusOK {
				t.Errorf("pressed: %d", status)
			}
			answered(id)
			no.Press(t)
			late, no = ring()
			no.Press(t)
			answered(late)
		})
		id, no := ring()
		no.Press(t) // while the server is off
		d.following(log, func() { answered(id) })
		if strings.Contains(log.String(), s.URL) || strings.Contains(log.String(), no.Body) {
			t.Errorf("the log has %s", log)
		}
	})
}

// An agent can read the file of the store on its own machine.
func TestAttackTheStoreHasNoTokenThatAnswers(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["webpush"]
		d.register(paired, b.in)
		_, answer := d.asks(b, AskInput{Assurance: identity.Device})
		_, secret, _ := strings.Cut(answer.Token, ".")
		seen := 0
		domaintest.Check(t, store.NewAdmin(d.DB).Walk(t.Context(), "u", func(page []store.Raw) error {
			for _, doc := range page {
				seen++
				if strings.Contains(fmt.Sprint(doc), secret) {
					t.Errorf("%s/%s has the token", doc.Ref.Coll, doc.Ref.ID)
				}
			}
			return nil
		}))
		if seen < 4 {
			t.Errorf("%d documents were seen", seen)
		}
	})
}

func TestAReplyTopicAnswersForItsOwnDeviceOnly(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["webpush"]
		d.register(paired, b.in)
		id, answer := d.asks(b, AskInput{})
		text := string(domaintest.Must(json.Marshal(answer))(t))
		err := d.reply(t.Context(), store.Ref{User: "u", ID: "another"}, "m1", text, slog.New(slog.DiscardHandler))
		if got := d.response(id); err != nil || got.Status != Pending {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
