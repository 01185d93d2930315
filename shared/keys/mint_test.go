package keys

import (
	"strings"
	"testing"

	"parley.internal/shared/identity"
)

func TestAMintedKeyNamesItsUser(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, user := range []string{"u", "U", "a.b-c_d", "0", strings.Repeat("x", 100)} {
		for range 20 {
			secret, id := mint(keyPrefix, user)
			got, gotID, ok := parse(keyPrefix, secret)
			if !ok || got != user || gotID != id || seen[secret] || seen[id] || len(id) != 64 {
				t.Fatalf("%s: %q, %s, %v", secret, got, gotID, ok)
			}
			seen[secret], seen[id] = true, true
		}
	}
}

// Every input is refused or names a valid user, and no other input has the id of a given key.
func FuzzParse(f *testing.F) {
	good, id := mint(keyPrefix, "u")
	for _, seed := range []string{good, strings.ToUpper(good), "parley_", "parley__" + strings.Repeat("a", 52), "",
		"parley_ou_" + strings.Repeat("!", 52), good + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		user, got, ok := parse(keyPrefix, secret)
		if !ok {
			if user != "" || got != "" {
				t.Fatalf("refused, and yet %q %q", user, got)
			}
			return
		}
		if !identity.ValidName(user) || len(got) != 64 || len(secret) > 512 || (got == id) != (secret == good) {
			t.Fatalf("%q is of %q with id %q", secret, user, got)
		}
	})
}

func FuzzMint(f *testing.F) {
	f.Add("u")
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, user string) {
		secret, id := mint(keyPrefix, user)
		got, gotID, ok := parse(keyPrefix, secret)
		if identity.ValidName(user) != ok || (ok && (got != user || gotID != id)) {
			t.Fatalf("%q: %q, %v", user, got, ok)
		}
	})
}
