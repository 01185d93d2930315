package keys

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// device is a machine that asks for a key, at an address.
type device struct {
	r   *fixture
	out RequestPairingOutput
}

func (r *fixture) pairing(address string) device {
	r.t.Helper()
	out, err := r.RequestPairing(r.t.Context(), identity.Caller{Address: address}, RequestPairingInput{Client: "claude", Program: "claude",
		Machine: "build-vm", Directory: "/srv/shop"})
	return device{r, domaintest.Must(out, err)(r.t)}
}

func (d device) collect() (CreateOutput, error) {
	return d.r.CollectPairing(d.r.t.Context(), identity.Caller{}, CollectPairingInput{DeviceCode: d.out.DeviceCode})
}

func (d device) approve(c identity.Caller, in ApprovePairingInput) (PairingView, error) {
	in.UserCode = d.out.UserCode
	return d.r.ApprovePairing(d.r.t.Context(), c, in)
}

func (d device) approved(c identity.Caller) PairingView {
	d.r.t.Helper()
	return domaintest.Must(d.approve(c, ApprovePairingInput{}))(d.r.t)
}

// word checks that an error holds a word of RFC 8628.
func word(t *testing.T, what string, err error, kind fault.Kind, want string) {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Kind != kind || len(f.Problems) != 1 || f.Problems[0].Message != want {
		t.Errorf("%s: got %+v, want %v with %s", what, f, kind, want)
	}
}

func TestAnApprovedPairingGivesAnAgentsKey(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		var told []string
		r.Pairings = func(c PairingChange) {
			told = append(told, fmt.Sprintf("%s %s %s@%s", c.Change, c.User, c.Program, c.Address))
		}
		own := r.create(CreateInput{Kind: identity.Human})
		r.create(CreateInput{Program: "Claude"})
		person := identity.Caller{User: "u", Kind: identity.Human, KeyID: own.ID, Assurance: identity.Local, Address: "198.51.100.7"}
		d := r.pairing("192.0.2.1")
		if d.out.IntervalSeconds != 2 || !d.out.ExpiresAt.Equal(t0.Add(10*time.Minute)) || d.out.VerificationURI != "/pair" ||
			d.out.VerificationURIComplete != "/pair/"+d.out.UserCode || len(d.out.UserCode) != 9 {
			t.Errorf("it is shown %+v", d.out)
		}
		_, err := d.collect()
		word(t, "before", err, fault.Precondition, "authorization_pending")
		seen := domaintest.Must(r.GetPairing(t.Context(), person, PairingInput{UserCode: strings.ToLower(d.out.UserCode)}))(t)
		if seen.State != "pending" || seen.Client != "claude" || seen.Machine != "build-vm" || seen.Directory != "/srv/shop" ||
			seen.Address != "192.0.2.1" || seen.Requested != "claude" || seen.Program != "claude-2" || fmt.Sprint(seen.Scopes) != "[read write]" {
			t.Errorf("the person sees %+v", seen)
		}
		if done := d.approved(person); done.State != "approved" || done.Program != "claude-2" {
			t.Errorf("approved: %+v", done)
		}
		got := domaintest.Must(d.collect())(t)
		if got.Kind != identity.Agent || got.Program != "claude-2" || got.Name != "claude on build-vm in /srv/shop" ||
			fmt.Sprint(got.Scopes) != "[read write]" || got.ParentID != own.ID || !got.ExpiresAt.IsZero() || got.Paired == nil {
			t.Fatalf("the key is %+v", got)
		}
		if want := (Paired{ApprovedBy: own.ID, Assurance: identity.Local, From: "198.51.100.7", Address: "192.0.2.1"}); *got.Paired != want {
			t.Errorf("its record says %+v, want %+v", *got.Paired, want)
		}
		c, _, err := r.Lookup(t.Context(), got.Key)
		if err != nil || c.User != "u" || c.Program != "claude-2" || c.IsAdmin() || c.IsHuman() {
			t.Errorf("it calls as %+v, %v", c, err)
		}
		want := "[requested  claude@192.0.2.1 approved u claude-2@192.0.2.1 collected u claude-2@192.0.2.1]"
		if fmt.Sprint(told) != want {
			t.Errorf("the log has %v, want %s", told, want)
		}
	})
}

func TestADeviceThatAsksAgainWithinAMinuteGetsTheSameKey(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		d.approved(human)
		first := domaintest.Must(d.collect())(t)
		r.Clock.Pass(repeatFor - time.Microsecond)
		if again := domaintest.Must(d.collect())(t); again.Key != first.Key || again.ID != first.ID {
			t.Errorf("it got %s, then %s", first.ID, again.ID)
		}
		if all := domaintest.Must(r.List(t.Context(), human, ListInput{}))(t); len(all.Keys) != 1 {
			t.Errorf("there are %d keys, want 1", len(all.Keys))
		}
		r.Clock.Pass(time.Microsecond)
		domaintest.Refused(t, "later", domaintest.Err(d.collect()), fault.Unauthenticated, "start another")
	})
}

func TestTwoServersApproveAndCollectAsOne(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		other := &fixture{t: t, Service: &Service{DB: r.DB, Now: r.Clock.Now, Toolsets: r.Toolsets}}
		d := r.pairing("192.0.2.1")
		elsewhere := device{other, d.out}
		person := identity.Caller{User: "u", Kind: identity.Human}
		lost := domaintest.Together(4, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				return domaintest.Err([]device{d, elsewhere}[i%2].approve(person, ApprovePairingInput{}))
			})
		})
		if len(lost) != 3 {
			t.Errorf("%d approved: %v", 4-len(lost), lost)
		}
		for _, err := range lost {
			domaintest.Refused(t, "one that lost", err, fault.Precondition, "approved already")
		}
		ids := make([]string, 4)
		failed := domaintest.Together(4, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				out, err := []device{d, elsewhere}[i%2].collect()
				ids[i] = out.ID
				return err
			})
		})
		if len(failed) > 0 || ids[0] == "" || ids[1] != ids[0] || ids[2] != ids[0] || ids[3] != ids[0] {
			t.Errorf("they collected %v, %v", ids, failed)
		}
	})
}

func TestADenialReachesTheDeviceAndStands(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		domaintest.Must(r.DenyPairing(t.Context(), human, PairingInput{UserCode: d.out.UserCode}))(t)
		_, err := d.collect()
		word(t, "denied", err, fault.Forbidden, "access_denied")
		domaintest.Refused(t, "approved after that", domaintest.Err(d.approve(human, ApprovePairingInput{})), fault.Precondition,
			"denied already")
	})
}

func TestAPairingExpiresAndAnApprovalLeavesTimeToCollect(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		late, just := r.pairing(""), r.pairing("")
		r.Clock.Pass(pairingFor - time.Microsecond)
		just.approved(human)
		r.Clock.Pass(time.Microsecond)
		domaintest.Refused(t, "too late", domaintest.Err(late.approve(human, ApprovePairingInput{})), fault.Precondition, "expired")
		_, err := late.collect()
		word(t, "too late", err, fault.Precondition, "expired_token")
		r.Clock.Pass(collectFor - 2*time.Microsecond)
		domaintest.Must(just.collect())(t)
	})
}

func TestADeviceThatAsksTooOftenIsToldToSlowDown(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		pending := func(what string) {
			t.Helper()
			_, err := d.collect()
			word(t, what, err, fault.Precondition, "authorization_pending")
		}
		pending("at first")
		r.Clock.Pass(time.Second)
		_, err := d.collect()
		word(t, "a second later", err, fault.Exhausted, "slow_down")
		if after := fault.From(err).RetryAfter; after != pollEvery {
			t.Errorf("it may ask after %v", after)
		}
		r.Clock.Pass(time.Second)
		pending("after the interval")
		d.approved(human)
		domaintest.Must(d.collect())(t) // what is ready does not wait
	})
}

func TestADeviceCodeOfAnotherPairingGivesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		victim, thief := r.pairing("192.0.2.1"), r.pairing("192.0.2.2")
		victim.approved(human)
		_, random, _ := strings.Cut(strings.TrimPrefix(thief.out.DeviceCode, devicePrefix), "_")
		code := strings.ToLower(strings.ReplaceAll(victim.out.UserCode, "-", ""))
		for name, secret := range map[string]string{
			"the secret of another": devicePrefix + code + "_" + random,
			"the code shown":        victim.out.UserCode, "no secret": devicePrefix + code + "_",
			"zeros": devicePrefix + code + "_" + strings.Repeat("a", 52), "in capitals": strings.ToUpper(victim.out.DeviceCode),
			"longer": victim.out.DeviceCode + "a", "empty": "",
		} {
			_, err := r.CollectPairing(t.Context(), identity.Caller{}, CollectPairingInput{DeviceCode: secret})
			domaintest.Refused(t, name, err, fault.Unauthenticated)
		}
		domaintest.Must(victim.collect())(t)
	})
}

func TestTheStoreHoldsNoSecretOfAPairing(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		d.approved(human)
		got := domaintest.Must(d.collect())(t)
		n := 0
		for _, user := range []string{waitingRoom, "u"} {
			domaintest.Check(t, store.NewAdmin(r.DB).Walk(t.Context(), user, func(page []store.Raw) error {
				for _, doc := range page {
					n++
					text := fmt.Sprint(doc)
					for _, secret := range []string{d.out.DeviceCode, got.Key} {
						if strings.Contains(text, secret) || strings.Contains(text, secret[strings.LastIndexByte(secret, '_')+1:]) {
							t.Errorf("%s has a secret: %s", user, text)
						}
					}
				}
				return nil
			}))
		}
		if n < 3 {
			t.Errorf("%d documents were looked at", n)
		}
	})
}

func TestAPairedKeyEndsWithThePersonsOwnKeyAndOutlivesALinks(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		own := r.create(CreateInput{Kind: identity.Human})
		link := domaintest.Must(r.MakeLink(t.Context(), "u", true))(t)
		browser := domaintest.Must(r.Redeem(t.Context(), link.Code))(t)
		for _, c := range []struct {
			by      CreateOutput
			outlast bool
		}{{own, false}, {browser, true}} {
			person, _, err := r.Lookup(t.Context(), c.by.Key)
			domaintest.Check(t, err)
			d, uncollected := r.pairing(""), r.pairing("")
			d.approved(person)
			uncollected.approved(person)
			got := domaintest.Must(d.collect())(t)
			if (got.ParentID == "") != c.outlast || got.Paired.ApprovedBy != c.by.ID || got.Paired.Assurance != person.Assurance {
				t.Errorf("the key is %+v", got)
			}
			domaintest.Must(r.Revoke(t.Context(), identity.Caller{User: "u", Kind: identity.Human}, RevokeInput{KeyID: c.by.ID}))(t)
			if _, _, err := r.Lookup(t.Context(), got.Key); (err == nil) != c.outlast {
				t.Errorf("after the revocation of %s it is %v", c.by.Name, err)
			}
			_, err = uncollected.collect()
			word(t, "what was approved with a revoked key", err, fault.Forbidden, "access_denied")
		}
	})
}

func TestAPersonChoosesTheProgramAndNarrowsTheScopes(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		for name, in := range map[string]ApprovePairingInput{
			"admin": {Scopes: []string{"read", "admin"}}, "console": {Scopes: []string{"console"}}, "answer": {Scopes: []string{"answer"}},
			"runner": {Scopes: []string{"runner"}}, "all": {Program: "all"}, "a label with a line": {Label: "a\nb"},
			"no scope": {Scopes: []string{}},
		} {
			domaintest.Refused(t, name, domaintest.Err(d.approve(human, in)), fault.Invalid)
		}
		narrow := human
		narrow.Scopes = []string{"read", "write", "relay"}
		domaintest.Refused(t, "more than the person's key", domaintest.Err(d.approve(narrow, ApprovePairingInput{})), fault.Forbidden)
		_, err := d.approve(human, ApprovePairingInput{Program: "reviewer", Scopes: []string{"relay", "read", "relay"}, Label: "mine"})
		domaintest.Check(t, err)
		got := domaintest.Must(d.collect())(t)
		if got.Program != "reviewer" || got.Name != "mine" || fmt.Sprint(got.Scopes) != "[read relay]" {
			t.Errorf("the key is %+v", got)
		}
	})
}

func TestWrongCodesAreLimitedForEachPerson(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		guess := func(c identity.Caller, code string) error {
			return domaintest.Err(r.GetPairing(t.Context(), c, PairingInput{UserCode: code}))
		}
		wrong := "BBBB-BBBB"
		if wrong == d.out.UserCode {
			wrong = "BBBB-BBBC"
		}
		domaintest.Refused(t, "no code", guess(human, "ABC"), fault.Invalid) // which is no guess
		for range maxGuesses {
			domaintest.Refused(t, "a wrong code", guess(human, wrong), fault.NotFound)
		}
		err := guess(human, d.out.UserCode)
		domaintest.Refused(t, "the right code after ten", err, fault.Exhausted)
		if after := fault.From(err).RetryAfter; after != guessesFor {
			t.Errorf("the person waits %v", after)
		}
		domaintest.Refused(t, "an approval after ten", domaintest.Err(d.approve(human, ApprovePairingInput{})), fault.Exhausted)
		domaintest.Check(t, guess(identity.Caller{User: "v", Kind: identity.Human}, d.out.UserCode))
		r.Clock.Pass(guessesFor)
		domaintest.Refused(t, "a wrong code an hour later", guess(human, wrong), fault.NotFound)
	})
}

func TestAPairingOfAnotherPersonIsNotFoundOnceItIsDecided(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		d := r.pairing("")
		d.approved(human)
		_, err := r.GetPairing(t.Context(), identity.Caller{User: "v", Kind: identity.Human}, PairingInput{UserCode: d.out.UserCode})
		domaintest.Refused(t, "another person", err, fault.NotFound)
		if v := domaintest.Must(r.GetPairing(t.Context(), human, PairingInput{UserCode: d.out.UserCode}))(t); v.State != "approved" {
			t.Errorf("the person who approved sees %+v", v)
		}
	})
}

func TestAFloodFromOneNetworkLeavesRoomForOthers(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		ask := func(address string) error {
			_, err := r.RequestPairing(t.Context(), identity.Caller{Address: address}, RequestPairingInput{Client: "c", Program: "p", Machine: "m"})
			return err
		}
		first := r.pairing("2001:db8::1")
		for i := range maxWaitingNetwork - 1 {
			domaintest.Check(t, ask(fmt.Sprintf("2001:db8::%d", i+2)))
		}
		r.Clock.Pass(time.Minute)
		err := ask("2001:db8::ffff")
		domaintest.Refused(t, "one more from the network", err, fault.Exhausted, "from this address")
		if after := fault.From(err).RetryAfter; after != pairingFor-time.Minute {
			t.Errorf("there is room after %v", after)
		}
		domaintest.Check(t, ask("2001:db8:0:1::1"))
		first.approved(human) // which makes room
		domaintest.Check(t, ask("2001:db8::ffff"))
		domaintest.Refused(t, "and one more", ask("2001:db8::ffff"), fault.Exhausted)
		r.Clock.Pass(pairingFor)
		domaintest.Check(t, ask("2001:db8::ffff"))
	})
}

func TestTheRoomIsBoundedInAll(t *testing.T) {
	t.Parallel()
	var r room
	var err error
	for i := range maxWaiting {
		if r, err = r.admit(waiting{fmt.Sprint(i), fmt.Sprintf("10.0.%d.%d", i/250, i%250), t0.Add(time.Minute)}, t0); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.admit(waiting{"more", "192.0.2.1", t0.Add(time.Hour)}, t0)
	domaintest.Refused(t, "one more", err, fault.Exhausted, "at this server")
	if r, err = r.admit(waiting{"more", "192.0.2.1", t0.Add(time.Hour)}, t0.Add(time.Minute)); err != nil || len(r.Waiting) != 1 {
		t.Errorf("once they expired there are %d, %v", len(r.Waiting), err)
	}
	for _, network := range []string{"127.0.0.1", "::/64", ""} {
		many := room{}
		for i := range maxWaitingNetwork + 1 {
			if many, err = many.admit(waiting{fmt.Sprint(i), network, t0.Add(time.Minute)}, t0); err != nil {
				t.Errorf("%q: %v", network, err)
			}
		}
	}
}

func TestUserCodesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"BCDF-GHJK": "BCDFGHJK", "bcdfghjk": "BCDFGHJK", " bcdf ghjk ": "BCDFGHJK",
		"BCDF-GHJ": "", "BCDF-GHJKL": "", "ABCD-EFGH": "", "BCDF-GHJ1": "", "": "", "../../..": "",
	} {
		got, err := parseUserCode(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	letters := map[rune]bool{}
	for range 200 {
		code := newUserCode()
		if got, err := parseUserCode(shownCode(code)); got != code || err != nil {
			t.Errorf("%s: %s, %v", code, got, err)
		}
		for _, c := range code {
			letters[c] = true
		}
	}
	if len(letters) != len(userCodeLetters) {
		t.Errorf("200 codes have %d letters, want %d", len(letters), len(userCodeLetters))
	}
}
