package identity

import "parley.internal/shared/fault"

// Assurance is the certainty that a person acted. A process of an account can read whatever the account can, a human's
// key too, so an act with such a key may be that of an agent.
type Assurance string

// The assurances of people, in rising order. An agent has none.
const (
	// Local is a key or a command on the machine: anything that runs on the person's account may have used it.
	Local Assurance = "local"
	// Device is a paired browser or phone, or a person who signed in.
	Device Assurance = "device"
	// Passkey is a person who used a passkey: of a key, to sign in; of an act, for this very act.
	Passkey Assurance = "passkey"
)

// Paired is a demand that nobody meets as it is: [Demand] resolves it to Device once the person has paired one, and to
// Local before.
const Paired Assurance = "paired"

// rank returns the order of an assurance, 0 for one that is not known.
func (a Assurance) rank() int {
	switch a {
	case Local:
		return 1
	case Device:
		return 2
	case Passkey:
		return 3
	}
	return 0
}

// Meets reports whether an act with the assurance is enough where another one is demanded. Nothing meets a demand that is
// not known.
func (a Assurance) Meets(demanded Assurance) bool {
	return demanded.rank() > 0 && a.rank() >= demanded.rank()
}

// Assured returns Forbidden if the caller's assurance is less than the demanded one, for an act of a person; what names
// its object, such as "this question". Without a demand it is Local. A passkey that is demanded must have been used for
// this very act: the key of a browser that signed in with one can be copied from its files.
func (c Caller) Assured(demanded Assurance, what string) error {
	if demanded == "" {
		demanded = Local
	}
	switch {
	case c.IsHuman() && c.Acting().Meets(demanded):
		return nil
	case c.IsHuman() && demanded == Passkey:
		return fault.New(fault.Forbidden, "%s demands a passkey, used for it: open it in the console, which asks for the "+
			"passkey; one is added there, in the settings", what)
	case c.IsHuman() && demanded == Device:
		return fault.New(fault.Forbidden, "%s demands the assurance device, and this key has local: %s", what, pairing)
	}
	return fault.New(fault.Forbidden, "%s demands a person with the assurance %s; %s", what, demanded, c)
}

// Acting returns the assurance of a person's act. A key that does not say its own is on the machine.
func (c Caller) Acting() Assurance {
	switch {
	case c.Proved:
		return Passkey
	case c.Assurance == "":
		return Local
	case c.Assurance == Passkey:
		return Device
	}
	return c.Assurance
}

// pairing is the advice where a device is demanded.
const pairing = "use a paired device, on its page /q; the browser that first opens a link of `parley link` pairs " +
	"as one, and a further one by a link that a paired device makes"

// Demand returns the assurance that a permission or an approval demands: the one that was named, else, and for Paired,
// device for a person with a paired device, and local for others.
func Demand(named Assurance, paired bool) Assurance {
	switch {
	case named != "" && named != Paired:
		return named
	case paired:
		return Device
	}
	return Local
}
