package auth_test

import (
	"context"
	"testing"
	"time"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/identity"
)

// looked is a look-up that finds the same caller for every secret.
type looked string

// Lookup implements [auth.Keys].
func (l looked) Lookup(context.Context, string) (identity.Caller, time.Time, error) {
	return identity.Caller{User: string(l)}, time.Time{}, nil
}

func TestATokenIsLookedUpBesideTheKeys(t *testing.T) {
	t.Parallel()
	both, keysAlone := auth.Beside{Keys: looked("key"), Tokens: looked("token")}, auth.Beside{Keys: looked("key")}
	for secret, want := range map[string]string{"parley_ou_abc": "key", "": "key", "a.b.c": "token", "a.b": "key",
		"a.b.c.d": "key"} {
		if got, _, err := both.Lookup(t.Context(), secret); err != nil || got.User != want {
			t.Errorf("%q was looked up as a %s: %v", secret, got.User, err)
		}
		if got, _, err := keysAlone.Lookup(t.Context(), secret); err != nil || got.User != "key" {
			t.Errorf("without sign-ins %q was looked up as a %s: %v", secret, got.User, err)
		}
	}
}
