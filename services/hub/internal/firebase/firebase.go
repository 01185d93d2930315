package firebase

import (
	"context"
	"fmt"
	"time"

	sdk "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/option"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Verifier verifies the ID tokens of one Firebase project. It is safe for concurrent use.
type Verifier struct {
	client *auth.Client
	allow  admission.List
}

// New returns a verifier of the tokens of a project, for the people whom the list admits. If the variable
// FIREBASE_AUTH_EMULATOR_HOST is set, the Firebase library asks that emulator and checks no signature; package config
// refuses the variable beside a real Firestore and on a server that listens on more than loopback.
func New(ctx context.Context, project string, allow admission.List, opts ...option.ClientOption) (*Verifier, error) {
	app, err := sdk.NewApp(ctx, &sdk.Config{ProjectID: project}, opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot verify sign-ins of project %s: %w", project, err)
	}
	client, err := app.Auth(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot verify sign-ins of project %s: %w", project, err)
	}
	return &Verifier{client, allow}, nil
}

// keyID identifies sign-ins where calls are told apart by the id of their key.
const keyID = "firebase"

// Lookup returns the caller that a token belongs to, a human with the id of the Firebase user, and the time at which
// the token expires. It fails with Unauthenticated if the token is forged, expired, revoked, of another project or of a
// disabled user; with Forbidden if the list does not admit the person, the sign-in is anonymous or the user id cannot be
// a user's of Parley; and with Unavailable if Firebase cannot be asked.
func (v *Verifier) Lookup(ctx context.Context, token string) (caller identity.Caller, until time.Time, err error) {
	// Firebase is asked about people who are admitted only: a stranger's valid token must not cost a call.
	t, err := v.client.VerifyIDToken(ctx, token)
	if err != nil {
		return caller, until, invalid(err)
	}
	if t.Firebase.SignInProvider == "anonymous" { // as in firestore.rules
		return caller, until, fault.New(fault.Forbidden,
			"an anonymous sign-in cannot be a user here; sign in with an account")
	}
	if !identity.ValidName(t.UID) {
		return caller, until, fault.New(fault.Forbidden,
			"the user id must be 1 to 100 letters, digits, dots, underscores and hyphens, not %q", t.UID)
	}
	email, _ := t.Claims["email"].(string)
	verified, _ := t.Claims["email_verified"].(bool)
	if err := v.allow.Admit(admission.Person{UID: t.UID, Email: email, Verified: verified, Claims: t.Claims}); err != nil {
		return caller, until, err
	}
	u, err := v.client.GetUser(ctx, t.UID)
	if err != nil {
		return caller, until, invalid(err)
	}
	if u.Disabled || t.IssuedAt*1000 < u.TokensValidAfterMillis {
		return caller, until, errRevoked
	}
	// A token keeps the claims of its issue for an hour. The account as it is now decides.
	if err := v.allow.Admit(admission.Person{UID: u.UID, Email: u.Email, Verified: u.EmailVerified,
		Claims: u.CustomClaims}); err != nil {
		return caller, until, err
	}
	caller = identity.Caller{User: t.UID, KeyID: keyID, Kind: identity.Human, Assurance: identity.Device}
	return caller, time.Unix(t.Expires, 0), nil
}

var errRevoked = fault.New(fault.Unauthenticated, "this sign-in was revoked; sign in again")

// invalid returns the fault for an error of the Firebase library.
func invalid(err error) error {
	switch {
	case auth.IsIDTokenExpired(err):
		return fault.Wrap(fault.Unauthenticated, err, "this sign-in expired; sign in again")
	case auth.IsIDTokenRevoked(err), auth.IsUserDisabled(err), auth.IsUserNotFound(err):
		return fault.Wrap(fault.Unauthenticated, err, "%s", errRevoked.Message)
	case auth.IsIDTokenInvalid(err):
		return fault.Wrap(fault.Unauthenticated, err, "this is not a sign-in of this server's project")
	}
	return fault.Wrap(fault.Unavailable, err, "sign-ins cannot be verified now; try again")
}
