package identity

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestAnAssuranceMeetsItselfAndWhatIsLess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		has, demanded Assurance
		want          bool
	}{
		{Local, Local, true}, {Device, Local, true}, {Device, Device, true},
		{Local, Device, false}, {"", Local, false}, {"", Device, false},
		{Device, Passkey, false}, {Passkey, Passkey, true}, {Passkey, Device, true}, {Passkey, Local, true},
		{Passkey, "an oath", false}, {"an oath", "an oath", false}, {"an oath", Local, false}, {Device, "", false},
		{Passkey, Paired, false}, {Paired, Local, false},
	} {
		if got := c.has.Meets(c.demanded); got != c.want {
			t.Errorf("%q where %q is demanded: %v, want %v", c.has, c.demanded, got, c.want)
		}
	}
}

func TestAnActWithLessAssuranceIsForbiddenWithWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by       Caller
		demanded Assurance
		words    string // of the refusal; empty where the act is allowed
	}{
		"a key on this machine":                     {Caller{Kind: Human, Assurance: Local}, Local, ""},
		"a key from before":                         {Caller{Kind: Human}, Local, ""},
		"where nothing is demanded":                 {Caller{Kind: Human}, "", ""},
		"a device":                                  {Caller{Kind: Human, Assurance: Device}, Device, ""},
		"a device where less is demanded":           {Caller{Kind: Human, Assurance: Device}, Local, ""},
		"a key on this machine instead of a device": {Caller{Kind: Human, Assurance: Local}, Device, "paired device"},
		"a key from before instead of a device":     {Caller{Kind: Human}, Device, "`parley link`"},
		"a device where a passkey is demanded":      {Caller{Kind: Human, Assurance: Device}, Passkey, "the console"},
		"a browser that a passkey signed in, where one is demanded": {Caller{Kind: Human, Assurance: Passkey}, Passkey,
			"used for it"},
		"a browser that a passkey signed in, in place of a device": {Caller{Kind: Human, Assurance: Passkey}, Device, ""},
		"a passkey used for the act":                               {Caller{Kind: Human, Assurance: Local, Proved: true}, Passkey, ""},
		"a device where something unknown is demanded":             {Caller{Kind: Human, Proved: true}, "an oath", "an oath"},
		"an agent that claims a passkey":                           {Caller{Kind: Agent, Program: "alpha", Proved: true}, Passkey, "alpha"},
		"an agent":                                                 {Caller{Kind: Agent, Program: "alpha"}, Local, `"alpha"`},
		"an agent instead of a device":                             {Caller{Kind: Agent, Program: "alpha"}, Device, `"alpha"`},
		"an agent whose key has an assurance anyway":               {Caller{Kind: Agent, Program: "alpha", Assurance: Device}, Local, "alpha"},
	} {
		err := c.by.Assured(c.demanded, "this question")
		switch {
		case c.words == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.words != "" && (!fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), c.words) ||
			!strings.HasPrefix(err.Error(), "this question demands")):
			t.Errorf("%s: %v; want Forbidden with %q", name, err, c.words)
		}
	}
}

func TestPermissionsDemandADeviceOnceOneIsPaired(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		named  Assurance
		paired bool
		want   Assurance
	}{{"", false, Local}, {"", true, Device}, {Local, true, Local}, {Device, false, Device},
		{Paired, false, Local}, {Paired, true, Device}} {
		if got := Demand(c.named, c.paired); got != c.want {
			t.Errorf("named %q, paired %v: %q, want %q", c.named, c.paired, got, c.want)
		}
	}
}
