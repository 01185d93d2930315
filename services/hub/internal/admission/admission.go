package admission

import (
	"fmt"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Claim is the custom claim that admits a person if its value is true.
const Claim = "parley"

// reserved is the user of the keys from the first start of a server. It is never a signed-in person.
const reserved = "local"

// List is the list of the people whom a server admits. The zero value admits those with the claim only.
type List struct {
	users, addresses, domains []string
}

// Parse returns the list of the given entries: user ids, e-mail addresses, and domains written @example.org. It refuses
// everything else, because an entry that admits nobody is a mistake.
func Parse(entries []string) (List, error) {
	var l List
	for _, e := range entries {
		e = strings.TrimSpace(e)
		name, domain, isAddress := cutAddress(e)
		switch {
		case isAddress && name == "" && validDomain(domain):
			l.domains = append(l.domains, lower(domain))
		case isAddress && name != "" && validDomain(domain) && !strings.ContainsAny(name, "@*,; \t"):
			l.addresses = append(l.addresses, lower(e))
		case !isAddress && strings.EqualFold(e, reserved):
			return List{}, fmt.Errorf("%q is the server's own user, which nobody can sign in as", e)
		case !isAddress && identity.ValidName(e):
			l.users = append(l.users, e)
		default:
			return List{}, fmt.Errorf("%q is neither a user id, nor an e-mail address, nor a domain written @example.org", e)
		}
	}
	return l, nil
}

// validDomain reports whether a domain can have people: it has a dot, and none of the characters of patterns and lists.
func validDomain(domain string) bool {
	return strings.Contains(domain, ".") && !strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") &&
		!strings.ContainsAny(domain, "@*?, \t/")
}

// Len returns the number of entries.
func (l List) Len() int { return len(l.users) + len(l.addresses) + len(l.domains) }

// Person is a signed-in person.
type Person struct {
	UID, Email string
	// Verified says that the person has proven to own Email.
	Verified bool
	// Claims are the custom claims of the account.
	Claims map[string]any
}

// Admit returns nil if the person is admitted, and otherwise a Forbidden fault that says why not. The answer about an
// unverified e-mail address does not tell whether the address is on the list.
func (l List) Admit(p Person) error {
	if strings.EqualFold(p.UID, reserved) {
		return fault.New(fault.Forbidden, "the user id %q is the server's own user, which nobody can sign in as", p.UID)
	}
	if admitted, _ := p.Claims[Claim].(bool); admitted || slices.Contains(l.users, p.UID) {
		return nil
	}
	email := lower(p.Email)
	if p.Verified && email != "" {
		name, domain, ok := cutAddress(email)
		if ok && name != "" && (slices.Contains(l.addresses, email) || slices.Contains(l.domains, domain)) {
			return nil
		}
	}
	why := ""
	switch {
	case p.Email == "": // the user id says enough
	case p.Verified:
		why = fmt.Sprintf(" (%s)", p.Email)
	default:
		why = fmt.Sprintf(" (the e-mail address %s does not count before it is verified: verify it and sign in again)",
			p.Email)
	}
	return fault.New(fault.Forbidden, "the user %s%s is not admitted to this server; its operator can admit people with "+
		"--sign-in-allow, or with the custom claim %s: true", p.UID, why, Claim)
}

// cutAddress splits an address at its last @, because a quoted local part may contain others.
func cutAddress(s string) (name, domain string, ok bool) {
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// lower returns s with the ASCII letters in lower case. Other letters stay: Unicode maps some of them to ASCII letters,
// which would make two addresses one.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
