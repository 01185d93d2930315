package passkeys_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/passkeys/softkey"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
)

const (
	address = "https://parley.example.org"
	rpID    = "parley.example.org"
)

// fixture is the application on an empty store, with a clock that the test sets.
type fixture struct {
	*app.App
	domaintest.Clock
	t *testing.T
}

func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	domaintest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		f := &fixture{t: t}
		f.App = app.New(db, app.Ports{Now: f.Clock.Now, PublicURL: address})
		test(t, f)
	})
}

// browser signs a browser of the user in by a link, and returns its caller.
func (f *fixture) browser(user string) identity.Caller {
	f.t.Helper()
	link := domaintest.Must(f.Keys.MakeLink(f.t.Context(), user, true))(f.t)
	return f.lookup(domaintest.Must(f.Keys.Redeem(f.t.Context(), link.Code))(f.t).Key)
}

func (f *fixture) lookup(key string) identity.Caller {
	f.t.Helper()
	c, _, err := f.Keys.Lookup(f.t.Context(), key)
	domaintest.Check(f.t, err)
	return c
}

// soft returns the passkey with the number n of a user.
func soft(n byte, user string) *softkey.Key { return softkey.New(n, rpID, address, user) }

// as turns JSON of the authenticator into an input.
func as[T any](t *testing.T, v any) T {
	t.Helper()
	var out T
	raw, err := json.Marshal(v)
	domaintest.Check(t, err)
	domaintest.Check(t, json.Unmarshal(raw, &out))
	return out
}

func (f *fixture) sign(k *softkey.Key, challenge string) passkeys.Assertion {
	f.t.Helper()
	return as[passkeys.Assertion](f.t, k.Signed(challenge))
}

// add adds a passkey, with a proof by another one where given.
func (f *fixture) add(c identity.Caller, k, by *softkey.Key) (passkeys.View, error) {
	f.t.Helper()
	var in passkeys.BeginInput
	if by != nil {
		proof := f.sign(by, f.manage(c))
		in.Proof = &proof
	}
	begun, err := f.Passkeys.Begin(f.t.Context(), c, in)
	if err != nil {
		return passkeys.View{}, err
	}
	return f.finish(c, k, begun.Request.Challenge)
}

func (f *fixture) finish(c identity.Caller, k *softkey.Key, challenge string) (passkeys.View, error) {
	f.t.Helper()
	return f.Passkeys.Add(f.t.Context(), c, passkeys.AddInput{Name: "my phone",
		Credential: as[passkeys.Created](f.t, k.Created(challenge))})
}

// manage returns a challenge to add or remove a passkey.
func (f *fixture) manage(c identity.Caller) string {
	f.t.Helper()
	return domaintest.Must(f.Passkeys.Prove(f.t.Context(), c, passkeys.ProveInput{}))(f.t).Request.Challenge
}

func (f *fixture) begin() string {
	f.t.Helper()
	return domaintest.Must(f.Passkeys.BeginSignIn(f.t.Context()))(f.t).Request.Challenge
}

func (f *fixture) signIn(k *softkey.Key) (passkeys.SignIn, error) {
	f.t.Helper()
	return f.Passkeys.FinishSignIn(f.t.Context(), f.sign(k, f.begin()))
}

// ask asks a question that demands a passkey.
func (f *fixture) ask(user string) string {
	f.t.Helper()
	in := op.Fill(signal.AskInput{Question: "Shall I?", Assurance: identity.Passkey})
	return domaintest.Must(f.Signal.Ask(f.t.Context(), domaintest.Bound(user, "alpha"), in))(f.t).QuestionID
}

func (f *fixture) answer(c identity.Caller, question, words string) string {
	f.t.Helper()
	in := passkeys.ProveInput{QuestionID: question, Response: words}
	return domaintest.Must(f.Passkeys.Prove(f.t.Context(), c, in))(f.t).Request.Challenge
}

func TestAPasskeySignsItsPersonInUntilItIsRemoved(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c, k := f.browser("u"), soft(1, "u")
		view, err := f.add(c, k, nil)
		domaintest.Check(t, err)
		f.Clock.Pass(time.Minute)
		in, err := f.signIn(k)
		domaintest.Check(t, err)
		by := f.lookup(in.Key)
		if in.Assurance != identity.Passkey || by.User != "u" || !by.IsHuman() || by.Assurance != identity.Passkey ||
			fmt.Sprint(by.Scopes) != "[console]" || !in.ExpiresAt.Equal(f.Clock.Now().Add(90*24*time.Hour)) {
			t.Errorf("it gave %+v, the key of %+v", in, by)
		}
		list := domaintest.Must(f.Passkeys.List(t.Context(), by, passkeys.ListInput{}))(t)
		if len(list.Passkeys) != 1 || list.Passkeys[0].Name != "my phone" || list.Origin != address ||
			!list.Passkeys[0].LastUsedAt.Equal(f.Clock.Now()) || list.Passkeys[0].ID != view.ID {
			t.Errorf("the list is %+v", list)
		}
		out, err := f.Passkeys.Remove(t.Context(), c, passkeys.RemoveInput{PasskeyID: view.ID, Proof: f.sign(k, f.manage(c))})
		if err != nil || out.ID != view.ID {
			t.Errorf("removed %+v: %v", out, err)
		}
		if _, _, err := f.Keys.Lookup(t.Context(), in.Key); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("its key afterwards: %v", err)
		}
		domaintest.Refused(t, "a sign-in afterwards", domaintest.Err(f.signIn(k)), fault.Unauthenticated)
	})
}

func TestASignInIsRefusedUnlessItIsFreshAndOfAPasskeyThatIsKept(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		domaintest.Must(f.add(f.browser("u"), soft(1, "u"), nil))(t)
		domaintest.Must(f.add(f.browser("w"), soft(2, "w"), nil))(t)
		old := f.begin()
		f.Clock.Pass(5 * time.Minute)
		forged := func(change func(*softkey.Key)) passkeys.Assertion {
			k := soft(1, "u")
			change(k)
			return f.sign(k, f.begin())
		}
		foreign := f.sign(soft(1, "u"), f.begin())
		foreign.ID = f.sign(soft(2, "w"), "x").ID
		for name, a := range map[string]passkeys.Assertion{
			"a challenge that is 5 minutes old": f.sign(soft(1, "u"), old),
			"a challenge of the caller's own":   f.sign(soft(1, "u"), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
			"another user's name":               forged(func(k *softkey.Key) { k.User = "w" }),
			"a user that there is not":          forged(func(k *softkey.Key) { k.User = "nobody" }),
			"no user":                           forged(func(k *softkey.Key) { k.User = "" }),
			"a name that is none":               forged(func(k *softkey.Key) { k.User = "../u" }),
			"another passkey's id":              foreign,
			"a passkey that nobody keeps":       f.sign(soft(3, "u"), f.begin()),
		} {
			domaintest.Refused(t, name, domaintest.Err(f.Passkeys.FinishSignIn(t.Context(), a)), fault.Unauthenticated)
		}
		for name, a := range map[string]passkeys.Assertion{
			"a page of another origin":       forged(func(k *softkey.Key) { k.Origin = "https://evil.example.org" }),
			"a page below the origin's host": forged(func(k *softkey.Key) { k.Origin = "https://x.parley.example.org" }),
			"the same host without HTTPS":    forged(func(k *softkey.Key) { k.Origin = "http://parley.example.org" }),
			"the same host at another port":  forged(func(k *softkey.Key) { k.Origin = address + ":8443" }),
			"a passkey for another host":     forged(func(k *softkey.Key) { k.RPID = "example.org" }),
			"a passkey that saw nobody":      forged(func(k *softkey.Key) { k.Unverified = true }),
			"a signature of another passkey": resigned(f, t),
			"a signature of other data": func() passkeys.Assertion {
				a := forged(func(*softkey.Key) {})
				a.Signature = foreign.Signature
				return a
			}(),
		} {
			err := domaintest.Err(f.Passkeys.FinishSignIn(t.Context(), a))
			if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "not accepted") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// resigned is an assertion in which one passkey signs under the id of another.
func resigned(f *fixture, t *testing.T) passkeys.Assertion {
	t.Helper()
	k := soft(2, "u")
	k.ID = soft(1, "u").ID
	return f.sign(k, f.begin())
}

func TestAnAssertionCountsOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c, k := f.browser("u"), soft(1, "u")
		view := domaintest.Must(f.add(c, k, nil))(t)
		a := f.sign(k, f.begin())
		domaintest.Must(f.Passkeys.FinishSignIn(t.Context(), a))(t)
		domaintest.Refused(t, "a sign-in again", domaintest.Err(f.Passkeys.FinishSignIn(t.Context(), a)), fault.Unauthenticated)
		wrong := soft(1, "u")
		wrong.Unverified = true
		challenge := f.begin()
		_ = domaintest.Err(f.Passkeys.FinishSignIn(t.Context(), f.sign(wrong, challenge)))
		domaintest.Refused(t, "a challenge after it was refused",
			domaintest.Err(f.Passkeys.FinishSignIn(t.Context(), f.sign(k, challenge))), fault.Unauthenticated)

		question := f.ask("u")
		a = f.sign(k, f.answer(c, question, "yes"))
		domaintest.Must(f.Passkeys.Answer(t.Context(), c, passkeys.AnswerInput{Credential: a}))(t)
		domaintest.Refused(t, "an answer again",
			domaintest.Err(f.Passkeys.Answer(t.Context(), c, passkeys.AnswerInput{Credential: a})), fault.Precondition)

		challenge = f.manage(c)
		_ = domaintest.Err(f.Passkeys.Remove(t.Context(), c, passkeys.RemoveInput{PasskeyID: view.ID, Proof: f.sign(wrong, challenge)}))
		domaintest.Refused(t, "a proof after it was refused", domaintest.Err(f.Passkeys.Remove(t.Context(), c,
			passkeys.RemoveInput{PasskeyID: view.ID, Proof: f.sign(k, challenge)})), fault.Precondition)
	})
}

func TestOfConcurrentSignInsWithOneChallengeOneWins(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		k := soft(1, "u")
		domaintest.Must(f.add(f.browser("u"), k, nil))(t)
		a := f.sign(k, f.begin())
		lost := domaintest.Together(domaintest.Crowd(t, 8, 3), func(int) error {
			return domaintest.Err(f.Passkeys.FinishSignIn(t.Context(), a))
		})
		if want := domaintest.Crowd(t, 8, 3) - 1; len(lost) != want {
			t.Errorf("%d lost, want %d", len(lost), want)
		}
	})
}

func TestAQuestionThatDemandsAPasskeyTakesOneUsedForThatAnswer(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c, k := f.browser("u"), soft(1, "u")
		domaintest.Must(f.add(c, k, nil))(t)
		in := domaintest.Must(f.signIn(k))(t)
		question, other := f.ask("u"), f.ask("u")
		give := func(c identity.Caller) error {
			return domaintest.Err(f.Signal.Answer(t.Context(), c, signal.AnswerInput{QuestionID: question, Response: "yes"}))
		}
		domaintest.Refused(t, "a paired device", give(c), fault.Forbidden)
		domaintest.Refused(t, "a browser that a passkey signed in", give(f.lookup(in.Key)), fault.Forbidden)

		a := f.sign(k, f.answer(c, question, "yes"))
		another := f.browser("u")
		domaintest.Refused(t, "another key of the person",
			domaintest.Err(f.Passkeys.Answer(t.Context(), another, passkeys.AnswerInput{Credential: a})), fault.Forbidden)
		managing := f.sign(k, f.manage(c))
		domaintest.Refused(t, "a use for something else",
			domaintest.Err(f.Passkeys.Answer(t.Context(), c, passkeys.AnswerInput{Credential: managing})), fault.Precondition)
		out, err := f.Passkeys.Answer(t.Context(), c, passkeys.AnswerInput{Credential: a})
		if err != nil || out.QuestionID != question || out.Response != "yes" || out.AnsweredWith != identity.Passkey {
			t.Errorf("the answer is %+v: %v", out, err)
		}
		got := domaintest.Must(f.Signal.Response(t.Context(), c, signal.ResponseInput{QuestionID: question}))(t)
		left := domaintest.Must(f.Signal.Response(t.Context(), c, signal.ResponseInput{QuestionID: other}))(t)
		if got.AnsweredWith != identity.Passkey || got.Response != "yes" || left.Status != signal.Pending {
			t.Errorf("the record is %+v, that of another question %+v", got, left)
		}
		domaintest.Refused(t, "a challenge for what is answered", domaintest.Err(f.Passkeys.Prove(t.Context(), c,
			passkeys.ProveInput{QuestionID: question, Response: "no"})), fault.Precondition)
	})
}

func TestTheFirstPasskeyDemandsADeviceOnceThereIsOneAndOthersAPasskey(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		local := domaintest.Human("u")
		domaintest.Must(f.Passkeys.Begin(t.Context(), domaintest.Human("unpaired"), passkeys.BeginInput{}))(t)
		device := f.browser("u")
		domaintest.Refused(t, "a key on the machine, beside a device", domaintest.Err(f.add(local, soft(1, "u"), nil)), fault.Forbidden)
		early := domaintest.Must(f.Passkeys.Begin(t.Context(), device, passkeys.BeginInput{}))(t).Request.Challenge
		domaintest.Must(f.add(device, soft(1, "u"), nil))(t)
		domaintest.Refused(t, "a second one with a challenge for the first", domaintest.Err(f.finish(device, soft(2, "u"), early)),
			fault.Forbidden)
		domaintest.Refused(t, "a device without a proof", domaintest.Err(f.add(device, soft(2, "u"), nil)), fault.Forbidden)
		in := domaintest.Must(f.signIn(soft(1, "u")))(t)
		domaintest.Refused(t, "a browser that a passkey signed in, without a proof",
			domaintest.Err(f.add(f.lookup(in.Key), soft(2, "u"), nil)), fault.Forbidden)
		domaintest.Refused(t, "a proof by another passkey", domaintest.Err(f.add(device, soft(2, "u"), soft(3, "u"))), fault.Forbidden)
		domaintest.Must(f.add(device, soft(2, "u"), soft(1, "u")))(t)
		domaintest.Refused(t, "the same one again", domaintest.Err(f.add(device, soft(2, "u"), soft(1, "u"))), fault.Exists)
	})
}

func TestWhoHasAPasskeyIsNotPairedByBeingTheFirst(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		device := f.browser("u")
		domaintest.Must(f.add(device, soft(1, "u"), nil))(t)
		f.Clock.Pass(91 * 24 * time.Hour)
		link := domaintest.Must(f.Keys.MakeLink(t.Context(), "u", true))(t)
		made := domaintest.Must(f.Keys.Redeem(t.Context(), link.Code))(t)
		if made.Assurance != identity.Local || !link.Guarded {
			t.Errorf("after the last device a link gave %s, guarded: %v", made.Assurance, link.Guarded)
		}
		if in := domaintest.Must(f.signIn(soft(1, "u")))(t); f.lookup(in.Key).Assurance != identity.Passkey {
			t.Errorf("the passkey gave %+v", in)
		}
	})
}

func TestACounterThatWentBackIsRefused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		k := soft(1, "u")
		k.Count = 7
		domaintest.Must(f.add(f.browser("u"), k, nil))(t)
		k.Count = 8
		domaintest.Must(f.signIn(k))(t)
		for _, count := range []uint32{8, 3, 0} {
			k.Count = count
			err := domaintest.Err(f.signIn(k))
			if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "a copy of it may be in use") {
				t.Errorf("with the count %d: %v", count, err)
			}
		}
		k.Count = 9
		domaintest.Must(f.signIn(k))(t)
	})
}

func TestASecondUserWithTheSameCredentialStaysApart(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		u, w := f.browser("u"), f.browser("w")
		view := domaintest.Must(f.add(u, soft(1, "u"), nil))(t)
		domaintest.Refused(t, "another user's passkey", domaintest.Err(f.Passkeys.Remove(t.Context(), w,
			passkeys.RemoveInput{PasskeyID: view.ID})), fault.NotFound)
		domaintest.Must(f.add(w, soft(2, "w"), nil))(t)
		a := f.sign(soft(1, "u"), f.manage(w))
		domaintest.Refused(t, "a proof by another user's passkey",
			domaintest.Err(f.Passkeys.Begin(t.Context(), w, passkeys.BeginInput{Proof: &a})), fault.Forbidden)
	})
}

func TestOnlyTheNewestKeysOfAPasskeyStayValid(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		k := soft(1, "u")
		view := domaintest.Must(f.add(f.browser("u"), k, nil))(t)
		var made []string
		for range 22 {
			f.Clock.Pass(time.Minute)
			made = append(made, domaintest.Must(f.signIn(k))(t).Key)
		}
		valid := func() (n int) {
			for _, key := range made {
				if _, _, err := f.Keys.Lookup(t.Context(), key); err == nil {
					n++
				}
			}
			return n
		}
		if n := valid(); n != 20 {
			t.Errorf("%d of 22 keys are valid", n)
		}
		domaintest.Must(f.Passkeys.Discard(t.Context(), "u", view.ID))(t)
		if n := valid(); n != 0 {
			t.Errorf("%d are valid after the passkey was removed", n)
		}
	})
}
