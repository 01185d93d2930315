package passkeys

import (
	"context"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service implements the operations of passkeys. All methods are safe for concurrent use.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Address is the address of the server for a person's browser, which passkeys are bound to; empty if it is not known.
	// It must not change while people use the service.
	Address string
	// Keys makes and revokes the keys of browsers.
	Keys Keys
	// Questions are answered with a passkey.
	Questions Questions
}

// Keys are the keys of browsers that passkeys sign in.
type Keys interface {
	// Paired reports whether a user has a paired device.
	Paired(ctx context.Context, r store.Reader) (bool, error)
	// ByPasskey makes a key, as part of a transaction. It reads, and returns the writes. After the commit, done must be
	// called.
	ByPasskey(ctx context.Context, tx *store.Tx, user, passkey, name string) (made SignIn, write, done func(), err error)
	// EndPasskey revokes the keys that a passkey made, in the same way.
	EndPasskey(ctx context.Context, tx *store.Tx, user, passkey string) (write func(), done func(context.Context) error, err error)
}

// SignIn is the result of a sign-in: a key, its expiry, and its assurance.
type SignIn struct {
	Key       string             `json:"key"`
	ExpiresAt time.Time          `json:"expiresAt"`
	Assurance identity.Assurance `json:"assurance"`
}

// Questions are the questions of agents.
type Questions interface {
	// Waits returns an error if a question does not exist, or waits for no answer.
	Waits(ctx context.Context, c identity.Caller, id string) error
	// Answer records the answer of a person.
	Answer(ctx context.Context, c identity.Caller, id, response string) (Answered, error)
}

// Defs declares the collections of passkeys and of their challenges.
func (*Service) Defs() []*store.Def { return []*store.Def{passkeys.Def(), ceremonies.Def()} }

func (s *Service) place() (Place, error) { return At(s.Address) }

// maxHandle is the number of bytes of a user's name that an authenticator keeps.
const maxHandle = 64

// List returns the passkeys of a user, the oldest first, and where passkeys work.
func (s *Service) List(ctx context.Context, c identity.Caller, _ ListInput) (ListOutput, error) {
	out := ListOutput{Passkeys: []View{}}
	if at, err := s.place(); err != nil {
		out.Why = fault.From(err).Public()
	} else {
		out.Origin = at.Origin
	}
	docs, err := all(ctx, s.DB.User(c.User))
	for _, d := range docs {
		out.Passkeys = append(out.Passkeys, view(d.ID, d.Value))
	}
	return out, err
}

// Begin begins to add a passkey. The first one demands a paired device if the user has one; any other demands a proof by
// one that there is. Less is Forbidden.
func (s *Service) Begin(ctx context.Context, c identity.Caller, in BeginInput) (BeginOutput, error) {
	var out BeginOutput
	at, err := s.place()
	if err != nil {
		return out, err
	}
	if len(c.User) > maxHandle {
		return out, fault.New(fault.Precondition, "a user whose name has more than %d characters cannot have passkeys", maxHandle)
	}
	if in.Proof != nil {
		if _, err := s.prove(ctx, c, toManage, *in.Proof); err != nil {
			return out, err
		}
	}
	u := s.DB.User(c.User)
	docs, err := all(ctx, u)
	if err != nil {
		return out, err
	}
	if err := s.mayAdd(ctx, u, c, len(docs), in.Proof != nil); err != nil {
		return out, err
	}
	challenge, err := s.open(ctx, c.User, ceremony{Purpose: toAdd, KeyID: c.KeyID, Had: len(docs)})
	if err != nil {
		return out, err
	}
	out.Request = Creation{Challenge: challenge, RPID: at.RPID, Origin: at.Origin, UserID: encoding.EncodeToString([]byte(c.User)),
		UserName: c.User, Exclude: person{c.User, docs}.ids(), TimeoutMs: ceremonyFor.Milliseconds()}
	for _, a := range algorithms {
		out.Request.Algorithms = append(out.Request.Algorithms, int(a))
	}
	return out, nil
}

// mayAdd returns an error if a person who has passkeys, or none, may not add one.
func (s *Service) mayAdd(ctx context.Context, r store.Reader, c identity.Caller, has int, proved bool) error {
	switch {
	case has >= maxPasskeys:
		return fault.New(fault.Precondition, "you have %d passkeys, which is as many as one may have; remove one first", has)
	case proved && has > 0:
		return nil
	case has > 0:
		return fault.New(fault.Forbidden, "adding a passkey where there is one demands a proof by that one: get a challenge "+
			"with POST /v1/passkeys/proofs, as the console does")
	}
	paired, err := s.Keys.Paired(ctx, r)
	if err != nil {
		return err
	}
	return c.Assured(identity.Demand("", paired), "adding a passkey")
}

// Add adds the passkey that a browser has made for a challenge of Begin.
func (s *Service) Add(ctx context.Context, c identity.Caller, in AddInput) (View, error) {
	var out View
	at, err := s.place()
	if err != nil {
		return out, err
	}
	now := s.Now()
	err = s.consume(ctx, c.User, toAdd, c.KeyID, in.Credential.ClientDataJSON,
		func(ctx context.Context, tx *store.Tx, begun ceremony) (func(), error) {
			docs, err := all(ctx, tx)
			if err != nil {
				return nil, err
			}
			// A challenge for the first passkey adds no second one: that demands a proof.
			if err := s.mayAdd(ctx, tx, c, len(docs), begun.Had > 0); err != nil {
				return nil, err
			}
			made, err := at.made(person{c.User, docs}, begun.Challenge, in.Credential)
			if err != nil {
				return nil, err
			}
			id := idOf(made.ID)
			for _, d := range docs {
				if d.ID == id {
					return nil, fault.New(fault.Exists, "this passkey is there already, as %q", d.Value.Name)
				}
			}
			p := newPasskey(strings.TrimSpace(in.Name), made, now)
			out = view(id, p)
			return func() { passkeys.Create(tx, id, p) }, nil
		})
	return out, err
}

// Remove removes a passkey, and revokes the keys that it made. It demands a proof by this passkey or another one.
func (s *Service) Remove(ctx context.Context, c identity.Caller, in RemoveInput) (View, error) {
	if _, err := passkeys.Get(ctx, s.DB.User(c.User), in.PasskeyID); err != nil {
		return View{}, missing(err, in.PasskeyID)
	}
	if _, err := s.prove(ctx, c, toManage, in.Proof); err != nil {
		return View{}, err
	}
	return s.Discard(ctx, c.User, in.PasskeyID)
}

// Discard removes a passkey of a user, and revokes the keys that it made. It checks no caller: it is for the operator at a
// terminal.
func (s *Service) Discard(ctx context.Context, user, id string) (View, error) {
	var out View
	var done func(context.Context) error
	err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		p, err := passkeys.Get(ctx, tx, id)
		if err != nil {
			return missing(err, id)
		}
		var write func()
		if write, done, err = s.Keys.EndPasskey(ctx, tx, user, id); err != nil {
			return err
		}
		out = view(id, p)
		passkeys.Delete(tx, id)
		write()
		return nil
	})
	if err != nil {
		return out, err
	}
	return out, done(ctx)
}

func missing(err error, id string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "no passkey with id %q", id)
	}
	return err
}

// Prove begins a use of a passkey: for the answer to a question, or to add or remove passkeys where no question is named.
func (s *Service) Prove(ctx context.Context, c identity.Caller, in ProveInput) (ProveOutput, error) {
	var out ProveOutput
	at, err := s.place()
	if err != nil {
		return out, err
	}
	begun := ceremony{Purpose: toManage, KeyID: c.KeyID}
	if in.QuestionID != "" {
		if strings.TrimSpace(in.Response) == "" {
			return out, fault.Field("response", "is required with questionId: the passkey is used for these words")
		}
		if err := s.Questions.Waits(ctx, c, in.QuestionID); err != nil {
			return out, err
		}
		begun.Purpose, begun.QuestionID, begun.Response = toAnswer, in.QuestionID, in.Response
	} else if in.Response != "" {
		return out, fault.Field("questionId", "is required with response")
	}
	docs, err := all(ctx, s.DB.User(c.User))
	if err != nil {
		return out, err
	}
	if len(docs) == 0 {
		return out, fault.New(fault.Precondition, "you have no passkey yet: add one in the settings of the console, at %s", at.Origin)
	}
	challenge, err := s.open(ctx, c.User, begun)
	out.Request = Request{Challenge: challenge, RPID: at.RPID, Origin: at.Origin, Allow: person{c.User, docs}.ids(),
		TimeoutMs: ceremonyFor.Milliseconds()}
	return out, err
}

// Answer gives the answer for which a passkey was used, with the assurance passkey.
func (s *Service) Answer(ctx context.Context, c identity.Caller, in AnswerInput) (Answered, error) {
	done, err := s.prove(ctx, c, toAnswer, in.Credential)
	if err != nil {
		return Answered{}, err
	}
	c.Proved = true
	return s.Questions.Answer(ctx, c, done.QuestionID, done.Response)
}
