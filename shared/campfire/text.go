package campfire

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

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

// trimName returns the name of another than the caller, in Unicode NFC and without surrounding white space. It refuses
// an empty name, and characters that are not printable, because names that differ in them only would look the same.
func trimName(field, name string) (string, error) {
	name, err := trim(field, field, name)
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", fault.Field(field, "must be one line of printable characters")
	}
	return norm.NFC.String(name), nil
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
func optionalVoice(c identity.Caller, field, name string) (Voice, error) {
	whole, verified, err := c.Character(field, name)
	return Voice{Name: whole, Verified: verified, caller: c}, err
}
