package keys

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// redeem uses a link and returns its key.
func (r *fixture) redeem(code string) CreateOutput {
	r.t.Helper()
	return domaintest.Must(r.Redeem(r.t.Context(), code))(r.t)
}

// caller returns the caller of a key.
func (r *fixture) caller(key string) identity.Caller {
	r.t.Helper()
	c, _, err := r.Lookup(r.t.Context(), key)
	domaintest.Check(r.t, err)
	return c
}

// approved uses a link that a device makes.
func (r *fixture) approved(device identity.Caller, in LinkInput) CreateOutput {
	r.t.Helper()
	return r.redeem(domaintest.Must(r.CreateLink(r.t.Context(), device, in))(r.t).Code)
}

func TestThePersonsKeysAreLocal(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		out := r.create(CreateInput{Kind: identity.Human})
		if c := r.caller(out.Key); c.Assurance != identity.Local || out.Assurance != identity.Local {
			t.Errorf("a human's: %+v, %+v", out, c)
		}
		_, secret := r.made(Key{Kind: identity.Human})
		if old := r.caller(secret); old.Assurance != identity.Local {
			t.Errorf("a human's from before: %+v", old)
		}
		_, secret = r.made(Key{Kind: identity.Agent, Assurance: identity.Device})
		if odd := r.caller(secret); odd.Assurance != "" {
			t.Errorf("an agent's: %+v", odd)
		}
		device := r.caller(r.redeem(domaintest.Must(r.MakeLink(t.Context(), "u", true))(t).Code).Key)
		child, err := r.Create(t.Context(), device, CreateInput{Kind: identity.Human, Scopes: []string{identity.ScopeAnswer}})
		if err != nil || child.Assurance != identity.Local {
			t.Errorf("one that a device makes: %+v, %v", child, err)
		}
	})
}

func TestTheFirstLinkPairsADeviceAndAFurtherOneDoesNot(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		early := r.link("u")
		if len(early.Devices) != 0 {
			t.Errorf("before: %+v", early.Devices)
		}
		first := r.redeem(r.link("u").Code)
		if first.Assurance != identity.Device || first.Name != "paired device" || !first.ExpiresAt.Equal(t0.Add(deviceFor)) {
			t.Errorf("the first: %+v", first)
		}
		if got, err := r.Devices(t.Context(), "u"); err != nil || len(got) != 1 || got[0].ID != first.ID {
			t.Errorf("the devices: %+v, %v", got, err)
		}
		later := r.link("u")
		if len(later.Devices) != 1 || later.Devices[0].ID != first.ID {
			t.Errorf("a later link tells of %+v", later.Devices)
		}
		for name, code := range map[string]string{"later": later.Code, "made before the first was used": early.Code} {
			if out := r.redeem(code); out.Assurance != identity.Local || !out.ExpiresAt.Equal(t0.Add(linkKeyFor)) ||
				r.caller(out.Key).Assurance != identity.Local {
				t.Errorf("%s: %+v", name, out)
			}
		}
		if out := r.redeem(r.link("v").Code); out.Assurance != identity.Device {
			t.Errorf("another user's first: %+v", out)
		}
	})
}

func TestOfConcurrentFirstLinksOnePairsADevice(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		var codes [4]string
		for i := range codes {
			codes[i] = r.link("u").Code
		}
		var got [len(codes)]identity.Assurance
		failed := domaintest.Together(len(codes), func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				out, err := r.Redeem(t.Context(), codes[i])
				got[i] = out.Assurance
				return err
			})
		})
		slices.Sort(got[:])
		if want := [...]identity.Assurance{identity.Device, identity.Local, identity.Local, identity.Local}; len(failed) > 0 ||
			got != want {
			t.Errorf("got %q, %v", got, failed)
		}
	})
}

func TestADevicePairsAnotherThatIsNeverMoreThanItself(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		first := r.redeem(domaintest.Must(r.MakeLink(t.Context(), "u", true))(t).Code)
		device := r.caller(first.Key)
		second := r.approved(device, LinkInput{})
		if second.Assurance != identity.Device || second.ParentID != first.ID ||
			!slices.Equal(second.Scopes, []string{identity.ScopeAnswer}) || second.ExpiresAt.After(first.ExpiresAt) {
			t.Errorf("the second: %+v", second)
		}
		_, err := r.CreateLink(t.Context(), r.caller(second.Key), LinkInput{Console: true})
		domaintest.Refused(t, "for the console, by a device for answers", err, fault.Forbidden, "the scope console")
		if third := r.approved(r.caller(second.Key), LinkInput{}); third.Assurance != identity.Device {
			t.Errorf("the third: %+v", third)
		}
		r.Clock.Pass(24 * time.Hour)
		if late := r.approved(device, LinkInput{Console: true}); !late.ExpiresAt.Equal(first.ExpiresAt) {
			t.Errorf("it expires at %v, its maker at %v", late.ExpiresAt, first.ExpiresAt)
		}
		waiting := domaintest.Must(r.CreateLink(t.Context(), device, LinkInput{}))(t)
		if !strings.HasPrefix(waiting.Path, "/q#link="+waiting.Code) {
			t.Errorf("it is opened at %s", waiting.Path)
		}
		domaintest.Must(r.Revoke(t.Context(), device, RevokeInput{KeyID: first.ID}))(t)
		r.unknown("the second", second.Key, "this key was revoked")
		_, err = r.Redeem(t.Context(), waiting.Code)
		domaintest.Refused(t, "a link of a revoked device", err, fault.Unauthenticated)
	})
}

func TestADeviceThatUsesALinkItselfStaysTheSameDevice(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		first := r.redeem(r.link("u").Code)
		child := r.approved(r.caller(first.Key), LinkInput{})
		var dropped []string
		r.Revoked = func(id string) { dropped = append(dropped, id) }
		r.Clock.Pass(24 * time.Hour)
		console := domaintest.Must(r.MakeLink(t.Context(), "u", true))(t)
		got := domaintest.Must(r.RedeemOn(t.Context(), console.Code, first.Key))(t)
		if got.Key != first.Key || got.ID != first.ID || got.Assurance != identity.Device ||
			!slices.Equal(got.Scopes, []string{identity.ScopeConsole}) || !got.ExpiresAt.Equal(r.Clock.Now().Add(deviceFor)) ||
			!slices.Equal(dropped, []string{first.ID}) {
			t.Errorf("the console's link: %+v, dropped %q", got, dropped)
		}
		_, err := r.RedeemOn(t.Context(), console.Code, first.Key)
		domaintest.Refused(t, "a second time", err, fault.Unauthenticated, "was used or has expired")
		if got = domaintest.Must(r.RedeemOn(t.Context(), r.link("u").Code, first.Key))(t); got.ID != first.ID ||
			!slices.Equal(got.Scopes, []string{identity.ScopeConsole}) {
			t.Errorf("a link for answers takes from it: %+v", got)
		}
		if got = domaintest.Must(r.RedeemOn(t.Context(), r.link("u").Code, child.Key))(t); got.ID != child.ID ||
			!got.ExpiresAt.Equal(child.ExpiresAt) {
			t.Errorf("a device below it: %+v", got)
		}
		local := r.redeem(r.link("u").Code)
		for name, present := range map[string]string{
			"a local browser": local.Key, "the human's key": r.create(CreateInput{Kind: identity.Human}).Key,
			"an agent's key": r.create(CreateInput{}).Key, "no key": "", "a text": "parley_x",
		} {
			got, err := r.RedeemOn(t.Context(), r.link("u").Code, present)
			if err != nil || got.Key == present || got.Assurance != identity.Local {
				t.Errorf("with %s: %+v, %v", name, got, err)
			}
		}
		foreign := domaintest.Must(r.RedeemOn(t.Context(), r.link("v").Code, first.Key))(t)
		if again := domaintest.Must(r.RedeemOn(t.Context(), r.link("u").Code, foreign.Key))(t); foreign.ID == first.ID ||
			again.Assurance != identity.Local {
			t.Errorf("with a device of another user: %+v, then %+v", foreign, again)
		}
	})
}

func TestAPersonWhoSignedInPairsADevice(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		r.redeem(r.link("u").Code)
		signedIn := identity.Caller{User: "u", KeyID: "firebase", Kind: identity.Human, Assurance: identity.Device}
		if out := r.approved(signedIn, LinkInput{Console: true}); out.Assurance != identity.Device || out.ParentID != "" {
			t.Errorf("it pairs %+v", out)
		}
	})
}

func TestAttackALocalKeyMakesNoDeviceAndEndsNone(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		local := r.caller(r.create(CreateInput{Kind: identity.Human}).Key)
		device := r.redeem(r.link("u").Code)
		browser := r.redeem(r.link("u").Code)
		for name, c := range map[string]identity.Caller{"the human's key": local, "a local browser": r.caller(browser.Key),
			"an agent": admin} {
			_, err := r.CreateLink(t.Context(), c, LinkInput{})
			domaintest.Refused(t, name+" pairs", err, fault.Forbidden, "the assurance device")
			_, err = r.Revoke(t.Context(), c, RevokeInput{KeyID: device.ID})
			domaintest.Refused(t, name+" revokes", err, fault.Forbidden)
		}
		if r.caller(device.Key).Assurance != identity.Device {
			t.Error("the device is none any more")
		}
		domaintest.Must(r.Revoke(t.Context(), local, RevokeInput{KeyID: browser.ID}))(t)
	})
}

func TestAfterTheLastDeviceTheNextLinkPairsAgain(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		pair := func() CreateOutput { t.Helper(); return r.redeem(r.link("u").Code) }
		operator := identity.Caller{User: "u", Kind: identity.Human}
		for name, end := range map[string]func(CreateOutput){
			"it revokes itself": func(d CreateOutput) {
				domaintest.Must(r.Revoke(t.Context(), r.caller(d.Key), RevokeInput{KeyID: d.ID}))(t)
			},
			"the operator revokes it": func(d CreateOutput) {
				domaintest.Must(r.Revoke(t.Context(), operator, RevokeInput{KeyID: d.ID}))(t)
			},
			"it expires": func(CreateOutput) { r.Clock.Pass(deviceFor) },
		} {
			d := pair()
			if d.Assurance != identity.Device || pair().Assurance != identity.Local {
				t.Fatalf("before %s: %+v", name, d)
			}
			end(d)
		}
		if d := pair(); d.Assurance != identity.Device {
			t.Errorf("after all: %+v", d)
		}
	})
}

func TestTheAssuranceOfAKeyEndsWithTheKey(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		of := func(id string) (identity.Assurance, error) { return r.Assurance(t.Context(), "u", id) }
		device := r.redeem(r.link("u").Code)
		below := domaintest.Must(r.Service.Create(t.Context(), r.caller(device.Key), CreateInput{Kind: identity.Human}))(t)
		local, agent := r.create(CreateInput{Kind: identity.Human}), r.create(CreateInput{Program: "alpha"})
		for name, c := range map[string]struct {
			id   string
			want identity.Assurance
		}{
			"a device": {device.ID, identity.Device}, "a key on the machine": {local.ID, identity.Local},
			"an agent": {agent.ID, ""}, "a person who signs in": {"firebase", identity.Device},
		} {
			if got, err := of(c.id); err != nil || got != c.want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		domaintest.Must(r.Revoke(t.Context(), r.caller(device.Key), RevokeInput{KeyID: device.ID}))(t)
		for name, id := range map[string]string{"a revoked device": device.ID, "a key that it made": below.ID,
			"a key that is nowhere": strings.Repeat("ab", 32)} {
			_, err := of(id)
			domaintest.Refused(t, name, err, fault.Unauthenticated)
		}
		_, err := r.Assurance(t.Context(), "v", local.ID)
		domaintest.Refused(t, "a key of another user", err, fault.Unauthenticated)
	})
}
