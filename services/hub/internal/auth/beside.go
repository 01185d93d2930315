package auth

import (
	"context"
	"strings"
	"time"

	"parley.internal/shared/identity"
)

// IsToken reports whether a secret has the form of an ID token, with which a person signs in.
func IsToken(secret string) bool { return strings.Count(secret, ".") == 2 }

// Beside looks up keys in Keys and ID tokens in Tokens. If Tokens is nil, every secret is looked up as a key.
type Beside struct{ Keys, Tokens Keys }

// Lookup implements [Keys].
func (b Beside) Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error) {
	if b.Tokens != nil && IsToken(secret) {
		return b.Tokens.Lookup(ctx, secret)
	}
	return b.Keys.Lookup(ctx, secret)
}
