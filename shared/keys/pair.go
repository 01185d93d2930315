package keys

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Paired says how a key came to be that a person approved for another machine.
type Paired struct {
	// ApprovedBy is the id of the approver's key, or the name of another way to sign in.
	ApprovedBy string             `json:"approvedBy,omitempty"`
	Assurance  identity.Assurance `json:"assurance" jsonschema:"of the person who approved"`
	// From is the address of the approver, and Address that of the machine.
	From    string `json:"from,omitempty" jsonschema:"the address of the person"`
	Address string `json:"address,omitempty" jsonschema:"the address of the machine that asked"`
}

// PairingChange is a change of a pairing, for the log of the server. It holds no secret.
type PairingChange struct {
	// Change is requested, approved, denied or collected.
	Change string
	// User, KeyID and From are those of the person who decided; KeyID is that of the new key once it is collected.
	User, KeyID, From                            string
	Client, Program, Machine, Directory, Address string
}

func (s *Service) tell(change string, p pairing, by identity.Caller) {
	if s.Pairings == nil {
		return
	}
	c := PairingChange{Change: change, User: by.User, KeyID: by.KeyID, From: by.Address, Client: p.Client, Program: p.Program,
		Machine: p.Machine, Directory: p.Directory, Address: p.Address}
	if p.Grant != nil {
		c.Program = p.Grant.Program
	}
	s.Pairings(c)
}

// RequestPairing keeps a request for a key until a person approves it. It needs no user. Too many requests that wait, from
// the caller's network or in all, are Exhausted; names that are not printable, and scopes beyond an agent's, Invalid.
func (s *Service) RequestPairing(ctx context.Context, c identity.Caller, in RequestPairingInput) (RequestPairingOutput, error) {
	now := s.Now()
	p := pairing{Program: in.Program, Address: c.Address, State: pairingPending, CreatedAt: now, ExpiresAt: now.Add(pairingFor),
		PurgeAt: now.Add(pairingFor + collectFor)}
	err := checkProgram(in.Program)
	for _, f := range []struct {
		name, text string
		to         *string
	}{{"client", in.Client, &p.Client}, {"machine", in.Machine, &p.Machine}, {"directory", in.Directory, &p.Directory}} {
		if err == nil {
			*f.to, err = oneLine(f.name, f.text)
		}
	}
	if err == nil {
		p.Scopes, err = s.pairedScopes(in.Scopes, []string{identity.ScopeRead, identity.ScopeWrite}, "read and write")
	}
	if err != nil {
		return RequestPairingOutput{}, err
	}
	for range 3 { // of 2.5e10 codes the next one is free
		code := newUserCode()
		var secret string
		secret, p.Device = newDeviceCode(code)
		err = s.DB.User(waitingRoom).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			r, err := rooms.Get(ctx, tx, theRoom)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
			r, err = r.admit(waiting{code, identity.Network(c.Address), p.ExpiresAt}, now)
			if err != nil {
				return err
			}
			pairings.Create(tx, code, p)
			rooms.Put(tx, theRoom, r)
			return nil
		})
		if fault.Is(err, fault.Exists) {
			continue
		}
		if err != nil {
			return RequestPairingOutput{}, err
		}
		s.tell("requested", p, c)
		at := strings.TrimSuffix(s.PublicURL, "/") + "/pair"
		return RequestPairingOutput{DeviceCode: secret, UserCode: shownCode(code), VerificationURI: at,
			VerificationURIComplete: at + "/" + shownCode(code), ExpiresAt: p.ExpiresAt, IntervalSeconds: int(pollEvery / time.Second)}, nil
	}
	return RequestPairingOutput{}, fault.Wrap(fault.Unavailable, err, "no code is free; try again")
}

// CollectPairing gives the device its key, once a person has approved. Until then it returns a fault that holds a word of
// RFC 8628: authorization_pending, slow_down, access_denied or expired_token. A code that is not known, or whose key was
// collected more than a minute ago, is Unauthenticated. Calls within that minute give the same key.
func (s *Service) CollectPairing(ctx context.Context, _ identity.Caller, in CollectPairingInput) (CreateOutput, error) {
	code, ok := parseDeviceCode(in.DeviceCode)
	if !ok {
		return CreateOutput{}, errDevice
	}
	now, room := s.Now(), s.DB.User(waitingRoom)
	p, err := pairings.Get(ctx, room, code)
	switch {
	case fault.Is(err, fault.NotFound):
		return CreateOutput{}, errDevice
	case err != nil:
		return CreateOutput{}, err
	case subtle.ConstantTimeCompare([]byte(p.Device), []byte(hash(in.DeviceCode))) != 1:
		return CreateOutput{}, errDevice
	}
	polled, err := p.collectable(now)
	if polled {
		if e := room.Update(ctx, func(_ context.Context, tx *store.Tx) error {
			pairings.Patch(tx, code, store.Set("polledAt", now))
			return nil
		}); e != nil {
			return CreateOutput{}, e
		}
	}
	if err != nil {
		return CreateOutput{}, err
	}
	out, made, err := s.collected(ctx, p, in.DeviceCode, now)
	if err != nil {
		return CreateOutput{}, err
	}
	if p.CollectedAt.IsZero() {
		err = room.Update(ctx, func(_ context.Context, tx *store.Tx) error {
			pairings.Patch(tx, code, store.Set("collectedAt", now), store.Set("purgeAt", now.Add(repeatFor)))
			return nil
		})
	}
	if err != nil {
		return CreateOutput{}, err
	}
	if made {
		s.changed(p.DecidedBy)
		s.tell("collected", p, identity.Caller{User: p.DecidedBy, KeyID: out.ID, Address: p.Grant.From})
	}
	return out, nil
}

// collected makes the key of an approved pairing in its user's tenant, or finds it if another call has made it.
func (s *Service) collected(ctx context.Context, p pairing, deviceCode string, now time.Time) (out CreateOutput, made bool, err error) {
	user := p.DecidedBy
	secret, id, err := pairedSecret(user, deviceCode, p.Grant.Salt)
	if err != nil {
		return out, false, err
	}
	var k Key
	err = s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		k, err = apiKeys.Get(ctx, tx, id)
		if made = fault.Is(err, fault.NotFound); !made {
			if err == nil {
				err = k.valid(now)
			}
			return err
		}
		if k, err = s.pairedKey(ctx, tx, p, now); err != nil {
			return err
		}
		apiKeys.Create(tx, id, k)
		return nil
	})
	return CreateOutput{Key: secret, View: view(id, k)}, made, err
}

// pairedKey returns the key that was approved. It is a child of the approver's key, unless a link gave that one: such a key
// ends before the agent's work does, and is no person's own. The approver's key must be valid still; the grant notes that it
// is stored.
func (s *Service) pairedKey(ctx context.Context, r store.Reader, p pairing, now time.Time) (Key, error) {
	g := p.Grant
	k := Key{Name: g.Name, Kind: identity.Agent, Program: g.Program, Scopes: g.Scopes, CreatedAt: now,
		Paired: &Paired{ApprovedBy: g.By, Assurance: g.Assurance, From: g.From, Address: p.Address}}
	if g.By == "" {
		return k, nil
	}
	by, err := apiKeys.Get(ctx, r, g.By)
	if fault.Is(err, fault.NotFound) && !g.Stored {
		return k, nil // a person who signed in
	}
	if err == nil {
		g.Stored = true
		_, err = s.validUntil(ctx, r, by)
	}
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
		return k, outcome(fault.Forbidden, wordDenied, "the key with which this pairing was approved is not valid any more")
	}
	if err != nil || slices.Contains(by.Scopes, identity.ScopeConsole) {
		return k, err
	}
	if _, err = k.beneath(ctx, r, g.By, now); err != nil {
		return k, err
	}
	if err = k.narrow(by); err != nil {
		return k, err
	}
	if !k.ExpiresAt.IsZero() {
		k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	}
	return k, nil
}

// waits returns the pairing of a user code, for the person who wrote it. A code that no pairing has, or that another user
// decided about, is NotFound and counts as a guess; after 10 of them within an hour every code is Exhausted.
func (s *Service) waits(ctx context.Context, c identity.Caller, userCode string) (code string, p pairing, err error) {
	if code, err = parseUserCode(userCode); err != nil {
		return code, p, err
	}
	now, own := s.Now(), s.DB.User(c.User)
	g, err := guessed.Get(ctx, own, theGuesses)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return code, p, err
	}
	if err := g.left(now); err != nil {
		return code, p, err
	}
	p, err = pairings.Get(ctx, s.DB.User(waitingRoom), code)
	if err == nil && (p.DecidedBy == "" || p.DecidedBy == c.User) {
		return code, p, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return code, p, err
	}
	err = own.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		g, err := guessed.Get(ctx, tx, theGuesses)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err := g.left(now); err != nil {
			return err
		}
		guessed.Put(tx, theGuesses, g.more(now))
		return nil
	})
	if err == nil {
		err = fault.New(fault.NotFound, "no pairing has the code %s: compare it with what the machine shows, which is good for 10 "+
			"minutes", shownCode(code))
	}
	return code, pairing{}, err
}

// GetPairing returns the machine that asks by a user code, and the key that it would get. A wrong code is NotFound, and
// attempts are limited.
func (s *Service) GetPairing(ctx context.Context, c identity.Caller, in PairingInput) (PairingView, error) {
	code, p, err := s.waits(ctx, c, in.UserCode)
	if err != nil {
		return PairingView{}, err
	}
	out := p.view(code, s.Now())
	if p.Grant == nil {
		out.Program, err = s.freeProgram(ctx, c.User, p.Program)
	}
	return out, err
}

// freeProgram returns the first of name, name-2, … that no valid key of the user has.
func (s *Service) freeProgram(ctx context.Context, user, name string) (string, error) {
	taken, err := s.Programs(ctx, user)
	if err != nil {
		return "", err
	}
	for free, n := name, 2; ; n++ {
		if _, found := identity.Among(taken, free); !found {
			return free, nil
		}
		end := fmt.Sprintf("-%d", n)
		free = name[:min(len(name), maxName-len(end))] + end
	}
}

// ApprovePairing lets the device collect a key of the caller's user. A program that is left out is the requested one, or
// the next free name. A pairing that was decided about, or has expired, is Precondition; a program or scopes that an agent
// may not have are Invalid, and scopes that the caller's key does not have are Forbidden.
func (s *Service) ApprovePairing(ctx context.Context, c identity.Caller, in ApprovePairingInput) (PairingView, error) {
	code, p, err := s.waits(ctx, c, in.UserCode)
	if err != nil {
		return PairingView{}, err
	}
	now := s.Now()
	if err := p.undecided(now); err != nil {
		return PairingView{}, err
	}
	g := &grant{Program: in.Program, Scopes: p.Scopes, Name: p.name(), By: c.KeyID, Assurance: c.Assurance, From: c.Address, At: now,
		Salt: rand.Text()}
	if in.Label != "" {
		if g.Name, err = oneLine("label", in.Label); err != nil {
			return PairingView{}, err
		}
	}
	if g.Scopes, err = s.pairedScopes(in.Scopes, p.Scopes, "those that were asked for"); err != nil {
		return PairingView{}, err
	}
	if extra := beyond(g.Scopes, Key{Kind: c.Kind, Scopes: c.Scopes}); len(extra) > 0 {
		return PairingView{}, fault.New(fault.Forbidden, "this key does not have the scope %s, so it cannot give it; its scopes are %s",
			strings.Join(extra, ", "), strings.Join(c.Scopes, ", "))
	}
	if g.Program == "" {
		g.Program, err = s.freeProgram(ctx, c.User, p.Program)
	} else if err = checkProgram(g.Program); err == nil {
		g.Program, err = s.spelled(ctx, c.User, g.Program)
	}
	if err == nil {
		p.Grant = g
		_, err = s.pairedKey(ctx, s.DB.User(c.User), p, now)
	}
	if err != nil {
		return PairingView{}, err
	}
	return s.decide(ctx, c, code, pairingApproved, g)
}

// DenyPairing refuses a key to the device that asks. A pairing that was decided about, or has expired, is Precondition.
func (s *Service) DenyPairing(ctx context.Context, c identity.Caller, in PairingInput) (PairingView, error) {
	code, _, err := s.waits(ctx, c, in.UserCode)
	if err != nil {
		return PairingView{}, err
	}
	return s.decide(ctx, c, code, pairingDenied, nil)
}

// decide records the decision about a pairing. Of several at once exactly one succeeds.
func (s *Service) decide(ctx context.Context, c identity.Caller, code string, to pairingState, g *grant) (PairingView, error) {
	var p pairing
	now := s.Now()
	err := s.DB.User(waitingRoom).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var r room
		got := pairing{}
		of, all := pairings.Fetch(code, &got), rooms.Fetch(theRoom, &r)
		if err := store.Load(ctx, tx, of, all); err != nil {
			return err
		}
		if !of.Found {
			return fault.New(fault.Precondition, "this pairing expired: start another on the machine that asks")
		}
		if err := got.undecided(now); err != nil {
			return err
		}
		got.State, got.DecidedBy, got.Grant = to, c.User, g
		if least := now.Add(collectFor); got.ExpiresAt.Before(least) {
			got.ExpiresAt = least
		}
		got.PurgeAt = got.ExpiresAt.Add(collectFor)
		pairings.Put(tx, code, got)
		rooms.Put(tx, theRoom, r.swept(now, code))
		p = got
		return nil
	})
	if err != nil {
		return PairingView{}, err
	}
	s.tell(string(to), p, c)
	return p.view(code, now), nil
}
