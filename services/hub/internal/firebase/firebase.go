package firebase

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/option"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Verifier knows people by their ID tokens.
type Verifier struct{ client *auth.Client }

// New is a verifier of the tokens of one project. Where FIREBASE_AUTH_EMULATOR_HOST is
// set the library asks that emulator and checks no signature; the caller must see to it
// that this is never so where it matters.
func New(ctx context.Context, project string, opts ...option.ClientOption) (*Verifier, error) {
	app, err := sdk.NewApp(ctx, &sdk.Config{ProjectID: project}, opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot verify sign-ins of project %s: %w", project, err)
	}
	client, err := app.Auth(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot verify sign-ins of project %s: %w", project, err)
	}
	return &Verifier{client}, nil
}

// IsToken says whether a secret has the form of an ID token.
func IsToken(secret string) bool { return strings.Count(secret, ".") == 2 }

// Keys looks keys up; until is when one expires, zero for never.
type Keys interface {
	Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error)
}

// Beside looks up keys, and tokens where there is a verifier.
type Beside struct {
	Keys   Keys
	Tokens *Verifier
}

// Lookup finds who a secret is.
func (b Beside) Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error) {
	if b.Tokens != nil && IsToken(secret) {
		return b.Tokens.Lookup(ctx, secret)
	}
	return b.Keys.Lookup(ctx, secret)
}

// keyID stands for the token where calls are told apart by their keys.
const keyID = "firebase"

// Lookup finds who a token is: the user of Parley with the Firebase user's id. One that
// is expired, revoked, of another project, of a disabled user or forged is
// Unauthenticated; until is when it expires.
func (v *Verifier) Lookup(ctx context.Context, token string) (caller identity.Caller, until time.Time, err error) {
	t, err := v.client.VerifyIDTokenAndCheckRevoked(ctx, token)
	switch {
	case err == nil:
	case auth.IsIDTokenExpired(err):
		return caller, until, fault.Wrap(fault.Unauthenticated, err, "this sign-in expired; sign in again")
	case auth.IsIDTokenRevoked(err), auth.IsUserDisabled(err), auth.IsUserNotFound(err):
		return caller, until, fault.Wrap(fault.Unauthenticated, err, "this sign-in was revoked; sign in again")
	case auth.IsIDTokenInvalid(err):
		return caller, until, fault.Wrap(fault.Unauthenticated, err, "this is no sign-in of this server's project")
	default:
		return caller, until, fault.Wrap(fault.Unavailable, err, "sign-ins cannot be verified now; try again")
	}
	if t.Firebase.SignInProvider == "anonymous" { // as under firestore.rules
		return caller, until, fault.New(fault.Forbidden,
			"an anonymous sign-in cannot be a user here: nobody can come back as one; sign in with an account")
	}
	if !identity.ValidName(t.UID) {
		return caller, until, fault.New(fault.Forbidden,
			"the user id %q cannot be a user's here: 1 to 100 letters, digits, dots, underscores and hyphens", t.UID)
	}
	return identity.Caller{User: t.UID, KeyID: keyID, Kind: identity.Human}, time.Unix(t.Expires, 0), nil
}
