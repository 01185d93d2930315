package passkeys

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// BeginSignIn begins the sign-in of a person who is not known yet.
func (s *Service) BeginSignIn(ctx context.Context) (ProveOutput, error) {
	at, err := s.place()
	if err != nil {
		return ProveOutput{}, err
	}
	challenge, err := s.open(ctx, nobody, ceremony{Purpose: toSignIn})
	return ProveOutput{Request: Request{Challenge: challenge, RPID: at.RPID, Origin: at.Origin, Allow: []string{},
		TimeoutMs: ceremonyFor.Milliseconds()}}, err
}

// errSignIn tells a stranger nothing: neither whether there is such a user, nor such a passkey.
var errSignIn = fault.New(fault.Unauthenticated, "this passkey signs nobody in here: it was removed, is another server's, or "+
	"its use took longer than 5 minutes or counts already; try again, or sign in with a link")

// FinishSignIn signs in the person whose passkey was used, with a key like that of a paired browser. Whatever is wrong with
// the passkey is Unauthenticated, but a counter that went back is Forbidden.
func (s *Service) FinishSignIn(ctx context.Context, a Assertion) (SignIn, error) {
	at, err := s.place()
	if err != nil {
		return SignIn{}, err
	}
	raw, err := decode(field{"id", a.ID}, field{"userHandle", a.UserHandle})
	if err != nil {
		return SignIn{}, err
	}
	user := string(raw[1])
	if !identity.ValidName(user) {
		return SignIn{}, errSignIn
	}
	var begun ceremony
	err = s.consume(ctx, nobody, toSignIn, "", a.ClientDataJSON,
		func(_ context.Context, _ *store.Tx, c ceremony) (func(), error) {
			begun = c
			return func() {}, nil
		})
	if fault.Is(err, fault.Precondition) {
		return SignIn{}, errSignIn
	}
	if err != nil {
		return SignIn{}, err
	}
	return s.admit(ctx, at, user, idOf(raw[0]), begun.Challenge, a)
}

// admit makes the key of a sign-in with a passkey of a user.
func (s *Service) admit(ctx context.Context, at Place, user, id, challenge string, a Assertion) (SignIn, error) {
	now := s.Now()
	var made SignIn
	var done func()
	err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		p, err := passkeys.Get(ctx, tx, id)
		if fault.Is(err, fault.NotFound) {
			return errSignIn
		}
		if err != nil {
			return err
		}
		d, err := proof(at, person{user, []store.Doc[Passkey]{{ID: id, Value: p}}}, challenge, a, now)
		if err != nil {
			return err
		}
		var write func()
		if made, write, done, err = s.Keys.ByPasskey(ctx, tx, user, id, p.Name); err != nil {
			return err
		}
		passkeys.Put(tx, id, d.Value)
		write()
		return nil
	})
	if err != nil {
		return SignIn{}, err
	}
	done()
	return made, nil
}
