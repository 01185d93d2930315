package signal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

// answerToken is the document of a token that lets a device answer one question, for as long as the question waits. Its
// id is the hash of the token, so that who reads the store cannot answer.
type answerToken struct {
	QuestionID string `json:"questionId"`
	DeviceID   string `json:"deviceId"`
	// KeyID and Assurance are those of the device when the push was sent. A device that a surer key registers later makes
	// no older token surer.
	KeyID     string             `json:"keyId"`
	Assurance identity.Assurance `json:"assurance"`
	PurgeAt   time.Time          `json:"purgeAt"`
}

var answerTokens = store.Collection[answerToken]{Name: "answerTokens",
	Unindexed: []string{"questionId", "deviceId", "keyId", "assurance"}}

// newToken returns a token of a user.
func newToken(user string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(user)) + "." + rand.Text()
}

func tokenID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// userOf returns the user of a token.
func userOf(token string) (user string, ok bool) {
	text, _, ok := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(text)
	user = string(b)
	return user, ok && err == nil && len(token) <= maxToken && identity.ValidName(user)
}

// mintTokens gives each target that can answer a question its token. The targets are those of the devices ids, with their
// addresses.
func (s *Service) mintTokens(ctx context.Context, user string, n push.Notice, ids []string, found []address,
	targets []push.Target, now time.Time) error {
	if n.Channel != push.Questions || n.TaskID == "" {
		return nil
	}
	made := map[string]answerToken{}
	for i := range targets {
		if t := &targets[i]; t.Platform != push.Webhook && !t.Private {
			t.Answer = newToken(user)
			made[tokenID(t.Answer)] = answerToken{QuestionID: n.TaskID, DeviceID: ids[i], KeyID: found[i].KeyID,
				Assurance: found[i].Assurance, PurgeAt: now.Add(n.TTL)}
		}
	}
	if len(made) == 0 {
		return nil
	}
	return s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		for id, t := range made {
			answerTokens.Create(tx, id, t)
		}
		return nil
	})
}

var errToken = fault.New(fault.Unauthenticated, "this answer token is not valid: the device was removed, or the question is "+
	"over; answer on the page of the question")

const (
	maxToken  = 1000
	maxAnswer = 4000 // as of answer_question
)

// AnswerByToken records the answer of a device to a question. The device answers with the assurance of the key that
// registered it, as long as that key is valid. A token that is not valid is Unauthenticated; all else is as for
// [Service.Answer].
func (s *Service) AnswerByToken(ctx context.Context, in push.Answer) error {
	return s.answerFrom(ctx, "", in)
}

// answerFrom records the answer of a device, or of any device if it is empty.
func (s *Service) answerFrom(ctx context.Context, device string, in push.Answer) error {
	user, ok := userOf(in.Token)
	if !ok {
		return errToken
	}
	t, err := answerTokens.Get(ctx, s.DB.User(user), tokenID(in.Token))
	if fault.Is(err, fault.NotFound) || err == nil && device != "" && device != t.DeviceID {
		return errToken
	}
	if err != nil {
		return err
	}
	c, err := s.answerer(ctx, user, t)
	if err != nil {
		return err
	}
	response, err := s.chosen(ctx, user, t, in)
	if err != nil {
		return err
	}
	_, err = s.Answer(ctx, c, AnswerInput{QuestionID: t.QuestionID, Response: response})
	return err
}

// answerer returns the person who acts with a token.
func (s *Service) answerer(ctx context.Context, user string, t answerToken) (c identity.Caller, err error) {
	if _, err := devices.Get(ctx, s.DB.User(user), t.DeviceID); fault.Is(err, fault.NotFound) {
		return c, errToken
	} else if err != nil {
		return c, err
	}
	c = identity.Caller{User: user, KeyID: t.KeyID, Kind: identity.Human, Assurance: t.Assurance}
	if s.Registrant == nil {
		return c, nil
	}
	assurance, err := s.Registrant(ctx, user, t.KeyID)
	if err != nil {
		return c, err
	}
	if !assurance.Meets(t.Assurance) {
		c.Assurance = assurance
	}
	return c, nil
}

// chosen returns the words of an answer.
func (s *Service) chosen(ctx context.Context, user string, t answerToken, in push.Answer) (string, error) {
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
	q, err := s.question(ctx, s.DB.User(user), t.QuestionID)
	if err != nil {
		return "", err
	}
	if in.Option < 1 || in.Option > len(q.Question.Options) {
		return "", fault.Field("option", "must be from 1 to %d, the number of the question's options",
			len(q.Question.Options))
	}
	return q.Question.Options[in.Option-1], nil
}
