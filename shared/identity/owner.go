package identity

import "strconv"

// Owner is the caller that began something, kept with it. Ownership belongs to the program of a bound key, to an unbound
// key itself, or to the people of the account. The zero value has no owner but people.
type Owner struct {
	Program string `json:"program,omitempty"`
	KeyID   string `json:"keyId,omitempty"`
	// Human means that a person began it.
	Human bool `json:"human,omitempty"`
}

// Owner returns the owner of all that the caller begins.
func (c Caller) Owner() Owner {
	switch {
	case c.IsHuman():
		return Owner{KeyID: c.KeyID, Human: true}
	case c.Bound():
		return Owner{Program: c.Program}
	}
	return Owner{KeyID: c.KeyID}
}

// Is reports whether the caller has the rights of the owner: a person always, a bound key if its program is the owner, and
// an unbound key if it is itself.
func (o Owner) Is(c Caller) bool {
	switch {
	case c.IsHuman():
		return true
	case o.Human:
		return false
	case c.Bound():
		return o.Program != "" && Same(o.Program, c.Program)
	}
	return o.Program == "" && o.KeyID != "" && o.KeyID == c.KeyID
}

// String describes the owner in a message: its program in quotes, the short form of its key, or "a human".
func (o Owner) String() string {
	switch {
	case o.Program != "":
		return strconv.Quote(o.Program)
	case o.Human || o.KeyID == "":
		return "a human"
	}
	return "key:" + short(o.KeyID)
}

// Or describes the callers with the rights of the owner: `"alpha", which created the task, or a human`, where did is
// "created the task". For an owner that is a human it is "a human".
func (o Owner) Or(did string) string {
	if o.Program == "" && (o.Human || o.KeyID == "") {
		return "a human"
	}
	return o.String() + ", which " + did + ", or a human"
}

// Actor returns the name of the caller in records of its actions: its program, "human:" with the short form of the key
// of a person, or "key:" with that of an unbound key.
func (c Caller) Actor() string {
	switch {
	case c.IsHuman():
		return "human:" + short(c.KeyID)
	case c.Bound():
		return c.Program
	}
	return "key:" + short(c.KeyID)
}

// String describes the caller in a message to it: this key speaks for "alpha".
func (c Caller) String() string {
	switch {
	case c.IsHuman():
		return "this key is a human's"
	case c.Bound():
		return "this key speaks for " + strconv.Quote(c.Program)
	}
	return "this is key:" + short(c.KeyID) + ", which is bound to no program"
}

// shortID is the number of characters of a key's id in names and messages.
const shortID = 12

func short(keyID string) string { return keyID[:min(shortID, len(keyID))] }
