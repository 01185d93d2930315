package app

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
)

// browsers are the keys of browsers that passkeys sign in.
type browsers struct{ *keys.Service }

// ByPasskey implements passkeys.Keys.
func (b browsers) ByPasskey(
	ctx context.Context, tx *store.Tx, user, passkey, name string,
) (passkeys.SignIn, func(), func(), error) {
	made, write, done, err := b.Service.ByPasskey(ctx, tx, user, passkey, name)
	return passkeys.SignIn{Key: made.Key, ExpiresAt: made.ExpiresAt, Assurance: made.Assurance}, write, done, err
}

// replies are the answers to questions that passkeys give.
type replies struct{ *signal.Service }

// Waits implements passkeys.Questions.
func (r replies) Waits(ctx context.Context, c identity.Caller, id string) error {
	a, err := r.Response(ctx, c, signal.ResponseInput{QuestionID: id})
	if err == nil && a.Status != signal.Pending {
		return fault.New(fault.Precondition, "the question waits for no answer: it is %s", a.Status)
	}
	return err
}

// Answer implements passkeys.Questions.
func (r replies) Answer(ctx context.Context, c identity.Caller, id, response string) (passkeys.Answered, error) {
	v, err := r.Service.Answer(ctx, c, signal.AnswerInput{QuestionID: id, Response: response})
	return passkeys.Answered{QuestionID: v.ID, Status: string(v.Status), Response: v.Response, AnsweredAt: v.AnsweredAt,
		AnsweredBy: v.AnsweredBy, AnsweredWith: v.AnsweredWith}, err
}
