package passkeys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// purpose is the use of a challenge. A signature for one purpose serves no other.
type purpose string

const (
	toSignIn purpose = "sign in"
	toAdd    purpose = "add"
	toManage purpose = "manage"
	toAnswer purpose = "answer"
)

// ceremony is the document of a challenge. It is deleted when the challenge is used.
type ceremony struct {
	Challenge string  `json:"challenge"`
	Purpose   purpose `json:"purpose"`
	// KeyID is the key that asked for it, empty to sign in.
	KeyID string `json:"keyId,omitempty"`
	// QuestionID and Response are the answer that it is for.
	QuestionID string `json:"questionId,omitempty"`
	Response   string `json:"response,omitempty"`
	// Had is the number of passkeys that there were when one was begun to be added.
	Had       int       `json:"had,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
	PurgeAt   time.Time `json:"purgeAt"`
}

var ceremonies = store.Collection[ceremony]{Name: "passkeyCeremonies", PartOf: "a challenge",
	Unindexed: []string{"challenge", "purpose", "keyId", "questionId", "response", "expiresAt"}}

// ceremonyFor is the time for which a challenge is good.
const ceremonyFor = 5 * time.Minute

// The numbers of places. A challenge has a place by its hash. Where all those that are tried are taken, it takes one from
// an older challenge: who fills them ends the sign-ins of others by chance alone.
const (
	places       = 256
	signInPlaces = 4096
)

// nobody is the user with whose data the challenges of sign-ins are kept, as a server's own: who signs in is not known yet.
const nobody = "local"

// place returns the id of the ceremony of a challenge.
func place(p purpose, challenge string) string {
	sum := sha256.Sum256([]byte(challenge))
	n := binary.BigEndian.Uint32(sum[:4])
	if p == toSignIn {
		return fmt.Sprintf("sign-in-%04d", n%signInPlaces)
	}
	return fmt.Sprintf("own-%03d", n%places)
}

// newChallenge returns 32 random bytes in base64url.
func newChallenge() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return encoding.EncodeToString(b)
}

// maxTries is the number of challenges that are tried for a place that no other has.
const maxTries = 8

// open keeps a new challenge and returns it.
func (s *Service) open(ctx context.Context, user string, c ceremony) (string, error) {
	now := s.Now()
	c.ExpiresAt, c.PurgeAt = now.Add(ceremonyFor), now.Add(ceremonyFor)
	err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		for range maxTries {
			c.Challenge = newChallenge()
			other, err := ceremonies.Get(ctx, tx, place(c.Purpose, c.Challenge))
			if fault.Is(err, fault.NotFound) || err == nil && !now.Before(other.ExpiresAt) {
				break
			}
			if err != nil {
				return err
			}
		}
		ceremonies.Put(tx, place(c.Purpose, c.Challenge), c)
		return nil
	})
	return c.Challenge, err
}

var errUsed = fault.New(fault.Precondition, "this use of the passkey was for something else, took longer than 5 minutes, or "+
	"counts already; begin again")

// take reads the ceremony of the challenge that a browser's data name. One that is unknown, used, expired, for another
// purpose is Precondition, and one of another key Forbidden.
func take(
	ctx context.Context, r store.Reader, p purpose, keyID, clientData string, now time.Time,
) (c ceremony, id string, err error) {
	raw, err := decode(field{"clientDataJSON", clientData})
	if err != nil {
		return c, "", err
	}
	var data struct{ Challenge string }
	if err := json.Unmarshal(raw[0], &data); err != nil || data.Challenge == "" {
		return c, "", fault.Field("credential.clientDataJSON", "must be the browser's data, with its challenge")
	}
	id = place(p, data.Challenge)
	c, err = ceremonies.Get(ctx, r, id)
	if fault.Is(err, fault.NotFound) {
		return c, "", errUsed
	}
	if err != nil {
		return c, "", err
	}
	if c.KeyID != keyID {
		return c, "", fault.New(fault.Forbidden, "this challenge is for another key of yours; begin again with this one")
	}
	same := subtle.ConstantTimeCompare([]byte(c.Challenge), []byte(data.Challenge)) == 1
	if !same || c.Purpose != p || !now.Before(c.ExpiresAt) {
		return c, "", errUsed
	}
	return c, id, nil
}

// consume runs fn with the ceremony of a challenge in a transaction, which ends the ceremony whether or not fn fails.
// What fn writes is kept only if it does not: fn reads, and returns its writes.
func (s *Service) consume(
	ctx context.Context, user string, p purpose, keyID, clientData string,
	fn func(ctx context.Context, tx *store.Tx, c ceremony) (write func(), err error),
) error {
	now := s.Now()
	var failed error
	err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, id, err := take(ctx, tx, p, keyID, clientData, now)
		if err != nil {
			return err
		}
		write, err := fn(ctx, tx, c)
		if kind := fault.Of(err); err != nil && (kind.Redeliver() || kind == fault.Internal) {
			return err // of the store
		}
		if failed = err; err == nil {
			write()
		}
		ceremonies.Delete(tx, id)
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

// prove returns the ceremony for which a person has used a passkey, and notes the use. It is over then, also if the
// passkey is refused.
func (s *Service) prove(ctx context.Context, c identity.Caller, p purpose, a Assertion) (done ceremony, err error) {
	at, err := s.place()
	if err != nil {
		return done, err
	}
	now := s.Now()
	return done, s.consume(ctx, c.User, p, c.KeyID, a.ClientDataJSON,
		func(ctx context.Context, tx *store.Tx, begun ceremony) (func(), error) {
			done = begun
			docs, err := all(ctx, tx)
			if err != nil {
				return nil, err
			}
			d, err := proof(at, person{c.User, docs}, begun.Challenge, a, now)
			return func() { passkeys.Put(tx, d.ID, d.Value) }, err
		})
}

// proof returns the passkey of a person that made an assertion, with its use noted.
func proof(at Place, who person, challenge string, a Assertion, now time.Time) (store.Doc[Passkey], error) {
	found, err := at.signed(who, challenge, a)
	if err != nil {
		return store.Doc[Passkey]{}, err
	}
	id := idOf(found.ID)
	for _, d := range who.docs {
		if d.ID == id {
			d.Value.used(found, now)
			return d, nil
		}
	}
	return store.Doc[Passkey]{}, refused(fmt.Errorf("the passkey %s is not kept", id))
}
