package campfire

import (
	"fmt"
	"strings"
	"unicode"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// wrong is the Invalid fault of a field whose text is the whole message.
func wrong(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &fault.Error{Kind: fault.Invalid, Message: text, Problems: []fault.Problem{{Path: field, Message: text}}}
}

// trim trims a text, and refuses one that is then empty. What names it in the fault.
func trim(field, what, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", wrong(field, "%s cannot be empty.", what)
	}
	return text, nil
}

// trimName trims a name. What cannot be seen would make two names of one.
func trimName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", wrong(field, "%s must be one line of printable characters.", field)
	}
	return name, nil
}

// speaks returns the speaker by a name that must be given.
func speaks(c identity.Caller, field, name string) (Voice, error) {
	if _, err := trim(field, field, name); err != nil {
		return Voice{}, err
	}
	return speaksMaybe(c, field, name)
}

// speaksMaybe returns the speaker, who goes by the key's program where no name is given.
func speaksMaybe(c identity.Caller, field, name string) (v Voice, err error) {
	if name, err = trimName(field, name); err != nil {
		return v, err
	}
	v.Name, v.Verified, err = c.SpeaksAs(name)
	return v, err
}
