package admission_test

import (
	"strings"
	"testing"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/shared/fault"
)

func parse(t *testing.T, entries ...string) admission.List {
	t.Helper()
	l, err := admission.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func claims(value any) map[string]any { return map[string]any{"parley": value} }

func TestNobodyIsAdmittedByDefault(t *testing.T) {
	t.Parallel()
	for _, p := range []admission.Person{
		{UID: "ann"}, {UID: "ann", Email: "ann@example.org", Verified: true}, {},
	} {
		err := admission.List{}.Admit(p)
		if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "--sign-in-allow") ||
			!strings.Contains(err.Error(), p.UID) {
			t.Errorf("%+v: got %v, want a refusal that names the user and the flag", p, err)
		}
	}
}

func TestPeopleAreAdmittedByUserIDVerifiedAddressDomainOrClaim(t *testing.T) {
	t.Parallel()
	list := parse(t, "uid-1", "Ann@Example.org", " @corp.example ")
	if list.Len() != 3 {
		t.Errorf("got %d entries, want 3", list.Len())
	}
	for name, c := range map[string]struct {
		person admission.Person
		want   bool
	}{
		"a listed user id":               {admission.Person{UID: "uid-1"}, true},
		"a user id in other case":        {admission.Person{UID: "UID-1"}, false},
		"a listed address":               {admission.Person{UID: "u", Email: "ann@example.org", Verified: true}, true},
		"a listed address in other case": {admission.Person{UID: "u", Email: "ANN@example.ORG", Verified: true}, true},
		"another address of its domain":  {admission.Person{UID: "u", Email: "ben@example.org", Verified: true}, false},
		"an address of a listed domain":  {admission.Person{UID: "u", Email: "ben@CORP.example", Verified: true}, true},
		"a subdomain of a listed domain": {admission.Person{UID: "u", Email: "ben@a.corp.example", Verified: true}, false},
		"a domain that ends in a listed one": {
			admission.Person{UID: "u", Email: "ben@evil-corp.example", Verified: true}, false},
		"a listed address as a user id": {admission.Person{UID: "ann@example.org"}, false},
		"the claim":                     {admission.Person{UID: "u", Claims: claims(true)}, true},
		"the claim with the value false": {
			admission.Person{UID: "u", Claims: claims(false)}, false},
		"the claim with a text":    {admission.Person{UID: "u", Claims: claims("true")}, false},
		"the claim with a number":  {admission.Person{UID: "u", Claims: claims(1.0)}, false},
		"another claim":            {admission.Person{UID: "u", Claims: map[string]any{"Parley": true}}, false},
		"a verified empty address": {admission.Person{UID: "u", Verified: true}, false},
	} {
		err := list.Admit(c.person)
		if (err == nil) != c.want || (err != nil && !fault.Is(err, fault.Forbidden)) {
			t.Errorf("%s: got %v, admitted should be %t", name, err, c.want)
		}
	}
}

func TestAttackAnUnverifiedAddressOfTheListAdmitsNobody(t *testing.T) {
	t.Parallel()
	list := parse(t, "ann@example.org", "@corp.example")
	words := func(email string) string {
		err := list.Admit(admission.Person{UID: "u", Email: email})
		if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "verify it and sign in again") {
			t.Errorf("%s: got %v, want a refusal that says how to verify", email, err)
			return ""
		}
		return strings.ReplaceAll(err.Error(), email, "EMAIL")
	}
	listed := words("ann@example.org")
	if words("boss@corp.example") != listed || words("stranger@example.com") != listed {
		t.Error("the refusal of an unverified address tells whether the address is on the list")
	}
}

func TestAttackAnAddressThatOnlyLooksListedAdmitsNobody(t *testing.T) {
	t.Parallel()
	list := parse(t, "kate@example.org", "@corp.example")
	for _, email := range []string{
		`"boss@corp.example"@evil.example`, "boss@corp.example@evil.example", "boss@corp.example.evil.example",
		"\u212Aate@example.org", // the Kelvin sign, which Unicode lowers to k
		"kate@example.org ", " kate@example.org", "kate@example.org\x00", "boss@corp.example.", "@corp.example@x.example",
		"corp.example", "@corp.example", "@", "kate@example.org,boss@corp.example.evil",
	} {
		err := list.Admit(admission.Person{UID: "u", Email: email, Verified: true})
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("%q: got %v, want Forbidden", email, err)
		}
	}
}

func TestAttackTheUserLocalIsNeverASignIn(t *testing.T) {
	t.Parallel()
	list := parse(t, "@corp.example")
	for _, uid := range []string{"local", "LOCAL", "Local"} {
		p := admission.Person{UID: uid, Email: "boss@corp.example", Verified: true, Claims: claims(true)}
		if err := list.Admit(p); !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "own user") {
			t.Errorf("%s: got %v, want Forbidden", uid, err)
		}
		if _, err := admission.Parse([]string{uid}); err == nil {
			t.Errorf("%s is accepted as an entry", uid)
		}
	}
}

func TestAnEntryThatAdmitsNobodyIsRefused(t *testing.T) {
	t.Parallel()
	for _, e := range []string{"", " ", "*", "@", "@*", "@*.example.org", "*@example.org", "*@example.org ann", "ann@",
		"ann@localhost", "@localhost", "@.org", "@example.", "a b", "ann@example.org,ben@example.org", "ann@@example.org", "-ann",
		"https://example.org", "@example.org/"} {
		if _, err := admission.Parse([]string{"ann", e}); err == nil || !strings.Contains(err.Error(), "@example.org") {
			t.Errorf("%q: got %v, want an error that says what an entry is", e, err)
		}
	}
}
