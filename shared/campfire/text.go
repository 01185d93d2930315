package campfire

import (
	"fmt"
	"strings"
	"unicode"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// errField returns [fault.Invalid] for a field. Unlike with [fault.Field], the text is the whole message, without the
// name of the field before it.
func errField(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &fault.Error{Kind: fault.Invalid, Message: text, Problems: []fault.Problem{{Path: field, Message: text}}}
}

// trim returns text without surrounding white space, and [fault.Invalid] if nothing is left. The message calls the
// text by name.
func trim(field, name, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", errField(field, "%s cannot be empty.", name)
	}
	return text, nil
}

// trimName returns name without surrounding white space. It refuses characters that are not printable, because names
// that differ in them only would look the same.
func trimName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", errField(field, "%s must be one line of printable characters.", field)
	}
	return name, nil
}

// requiredVoice returns the speaker of a call whose name must be given, unless the key is bound to a program.
func requiredVoice(c identity.Caller, field, name string) (Voice, error) {
	if _, err := trim(field, field, name); err != nil && !c.Bound() {
		return Voice{}, err
	}
	return optionalVoice(c, field, name)
}

// optionalVoice returns the speaker of a call, a character of the caller. Without a name it is the program of the key.
// It fails as [identity.Caller.Character] does.
func optionalVoice(c identity.Caller, field, name string) (v Voice, err error) {
	if name, err = trimName(field, name); err != nil {
		return v, err
	}
	v.caller = c
	v.Name, v.Verified, err = c.Character(field, name)
	return v, err
}
