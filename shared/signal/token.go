package signal

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

// An answer token lets a device answer one question, for as long as the question waits. It names the user, the question
// and the device, and carries a signature with the device's key; so pushes store nothing, and the token ends with the
// answer, with the device, and with the key that registered it.
type answerToken struct{ user, question, device string }

const tokenSeparator = "\n" // no id has one

// String returns the token without its signature.
func (t answerToken) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(t.user + tokenSeparator + t.question + tokenSeparator + t.device))
}

// sign returns the token with its signature by the device's key.
func (t answerToken) sign(key string) string { return t.String() + "." + signature(t.String(), key) }

func signature(text, key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("answer\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// parseToken returns the parts of a token, whose signature it does not check.
func parseToken(token string) (t answerToken, sig string, ok bool) {
	text, sig, ok := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(b), tokenSeparator)
	if !ok || err != nil || len(parts) != 3 || !identity.ValidName(parts[0]) || parts[1] == "" || parts[2] == "" {
		return t, "", false
	}
	return answerToken{parts[0], parts[1], parts[2]}, sig, true
}

var errToken = fault.New(fault.Unauthenticated, "this answer token is not valid: the device was removed, or registered "+
	"anew; answer on the page of the question")

const (
	maxToken  = 1000
	maxAnswer = 4000 // as of answer_question
)

// AnswerByToken records the answer of a device to a question. The device answers with the assurance of the key that
// registered it, as long as that key is valid. A token that is not valid is Unauthenticated; all else is as for
// [Service.Answer].
func (s *Service) AnswerByToken(ctx context.Context, in push.Answer) error {
	if len(in.Token) > maxToken {
		return errToken
	}
	t, sig, ok := parseToken(in.Token)
	if !ok {
		return errToken
	}
	c, err := s.answerer(ctx, t, sig)
	if err != nil {
		return err
	}
	response, err := s.chosen(ctx, t, in)
	if err != nil {
		return err
	}
	_, err = s.Answer(ctx, c, AnswerInput{QuestionID: t.question, Response: response})
	return err
}

// answerer returns the person who acts with a token.
func (s *Service) answerer(ctx context.Context, t answerToken, sig string) (c identity.Caller, err error) {
	var a address
	var d Device
	at, dev := addresses.Fetch(t.device, &a), devices.Fetch(t.device, &d)
	if err := store.Load(ctx, s.DB.User(t.user), at, dev); err != nil {
		if fault.Is(err, fault.Invalid) { // an id that no document can have
			return c, errToken
		}
		return c, err
	}
	if !at.Found || !dev.Found || !hmac.Equal([]byte(sig), []byte(signature(t.String(), a.AnswerKey))) {
		return c, errToken
	}
	c = identity.Caller{User: t.user, KeyID: a.KeyID, Kind: identity.Human, Assurance: a.Assurance}
	if s.Registrant == nil {
		return c, nil
	}
	assurance, err := s.Registrant(ctx, t.user, a.KeyID)
	if err != nil {
		return c, err
	}
	if !assurance.Meets(a.Assurance) {
		c.Assurance = assurance
	}
	return c, nil
}

// chosen returns the words of an answer.
func (s *Service) chosen(ctx context.Context, t answerToken, in push.Answer) (string, error) {
	switch {
	case in.Option == 0 && in.Text == "":
		return "", fault.Field("option", "give option, the number of an option counted from 1, or text")
	case in.Option != 0 && in.Text != "":
		return "", fault.Field("text", "give option or text, not both")
	case len([]rune(in.Text)) > maxAnswer:
		return "", fault.Field("text", "must have at most %d characters", maxAnswer)
	case in.Text != "":
		return in.Text, nil
	}
	q, err := s.question(ctx, s.DB.User(t.user), t.question)
	if err != nil {
		return "", err
	}
	if in.Option < 1 || in.Option > len(q.Question.Options) {
		return "", fault.Field("option", "must be from 1 to %d, the number of the question's options",
			len(q.Question.Options))
	}
	return q.Question.Options[in.Option-1], nil
}
