package keys

import (
	"context"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// link is the document of a link. Its id is the hash of the link's code. It is deleted when the
// link is used.
type link struct {
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	PurgeAt   time.Time `json:"purgeAt"`
	Console   bool      `json:"console,omitempty"`
	// Approved means that a device made the link, so that its key is a device's too.
	Approved bool `json:"approved,omitempty"`
	// MadeBy is the id of the device's key. It is empty for a person who signed in.
	MadeBy string `json:"madeBy,omitempty"`
}

var links = store.Collection[link]{Name: "links"}

// The lifetime of a link, and of the keys that it gives. When the key of the last device expires, the next link pairs as
// the first one does, so a device is paired for long.
const (
	linkFor    = 10 * time.Minute
	linkKeyFor = 7 * 24 * time.Hour
	deviceFor  = 90 * 24 * time.Hour
)

// The scopes of a browser that was signed in by a link: it may list and answer questions or, by a link for the console,
// do whatever a person may but make keys.
var (
	answerScopes  = []string{identity.ScopeAnswer}
	consoleScopes = []string{identity.ScopeConsole}
)

func (l link) scopes() []string {
	if l.Console {
		return consoleScopes
	}
	return answerScopes
}

const linkPrefix = "link_"

// Link signs a person's browser in. It works once, until ExpiresAt.
type Link struct {
	Code      string
	ExpiresAt time.Time
	// Devices are the person's paired devices. If there are none, the browser that uses the link first is paired, unless
	// the person is Guarded by a passkey.
	Devices []View
	Guarded bool
}

// MakeLink creates a link for a user. It works once, within 10 minutes, and gives a key with the scope answer, or with
// the scope console. MakeLink checks no caller: it is for the operator at a terminal. A malformed user name is Invalid.
func (s *Service) MakeLink(ctx context.Context, user string, console bool) (Link, error) {
	if !identity.ValidName(user) {
		return Link{}, errUserName
	}
	now := s.Now()
	devices, err := s.devices(ctx, s.DB.User(user), now)
	if err != nil {
		return Link{}, err
	}
	guarded := false
	if s.Guarded != nil {
		if guarded, err = s.Guarded(ctx, s.DB.User(user)); err != nil {
			return Link{}, err
		}
	}
	code, l, err := s.makeLink(ctx, user, link{Console: console}, now)
	return Link{Code: code, ExpiresAt: l.ExpiresAt, Devices: devices, Guarded: guarded}, err
}

func (s *Service) makeLink(ctx context.Context, user string, l link, now time.Time) (code string, made link, err error) {
	code, id := mint(linkPrefix, user)
	l.CreatedAt, l.ExpiresAt, l.PurgeAt = now, now.Add(linkFor), now.Add(linkFor)
	err = s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		links.Create(tx, id, l)
		return nil
	})
	return code, l, err
}

// CreateLink creates a link that pairs another device. Callers that are no device are Forbidden, as is a link for the
// console where the caller's key is for answers alone.
func (s *Service) CreateLink(ctx context.Context, c identity.Caller, in LinkInput) (LinkOutput, error) {
	if err := c.Assured(identity.Device, "pairing another device"); err != nil {
		return LinkOutput{}, err
	}
	l := link{Console: in.Console, Approved: true}
	if extra := beyond(l.scopes(), Key{Kind: c.Kind, Scopes: c.Scopes}); len(extra) > 0 {
		return LinkOutput{}, fault.New(fault.Forbidden, "this key does not have the scope %s, so it cannot give it; "+
			"its scopes are %s", strings.Join(extra, ", "), strings.Join(c.Scopes, ", "))
	}
	now := s.Now()
	_, err := apiKeys.Get(ctx, s.DB.User(c.User), c.KeyID)
	switch {
	case err == nil:
		l.MadeBy = c.KeyID
	case !fault.Is(err, fault.NotFound):
		return LinkOutput{}, err
	}
	code, l, err := s.makeLink(ctx, c.User, l, now)
	return LinkOutput{Code: code, Path: "/q#link=" + code, ExpiresAt: l.ExpiresAt}, err
}

var errLink = fault.New(fault.Unauthenticated, "this link was used or has expired; make another with: parley link")

// Redeem exchanges the code of a link for a human's key with the link's scope. The key is a device's, valid for 90
// days, if a device made the link or the user has neither device nor passkey; else it is valid for 7 days, with the
// assurance local. A code that is unknown, used or expired is Unauthenticated, as is one whose maker was revoked. Of
// several concurrent calls with one code exactly one gets a key, and of several first ones exactly one a device's.
func (s *Service) Redeem(ctx context.Context, code string) (CreateOutput, error) {
	return s.RedeemOn(ctx, code, "")
}

// RedeemOn is [Service.Redeem] for a browser that shows its present key. If that is a device of the same user, it stays
// the browser's key: it is valid for another 90 days, and has the scope console if the link gives it.
func (s *Service) RedeemOn(ctx context.Context, code, present string) (CreateOutput, error) {
	user, id, ok := parse(linkPrefix, code)
	if !ok {
		return CreateOutput{}, errLink
	}
	now := s.Now()
	var k Key
	secret, keyID := mint(keyPrefix, user)
	c, _, err := s.Lookup(ctx, present)
	known := err == nil && c.User == user && c.Assurance.Meets(identity.Device)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		return CreateOutput{}, err
	}
	if known {
		secret, keyID = present, c.KeyID
	}
	err = s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		l, err := links.Get(ctx, tx, id)
		if fault.Is(err, fault.NotFound) || (err == nil && !now.Before(l.ExpiresAt)) {
			return errLink
		}
		if err != nil {
			return err
		}
		if known {
			k, err = renewed(ctx, tx, keyID, l, now)
		} else {
			k, err = s.pair(ctx, tx, l, now)
		}
		if err != nil {
			return err
		}
		links.Delete(tx, id)
		apiKeys.Put(tx, keyID, k)
		return nil
	})
	if err != nil {
		return CreateOutput{}, err
	}
	if known && s.Revoked != nil {
		s.Revoked(keyID) // cached copies of it are out of date
	}
	s.changed(user)
	return CreateOutput{Key: secret, View: view(keyID, k)}, nil
}

// LinkInput is the input of create_link.
type LinkInput struct {
	Console bool `json:"console,omitempty" jsonschema:"let the other device do what a person may, but make keys; else it lists and answers questions"`
}

// LinkOutput is the output of create_link.
type LinkOutput struct {
	Code      string    `json:"code" jsonschema:"the secret of the link; it is shown this once"`
	Path      string    `json:"path" jsonschema:"open it at this server's address, in the other browser"`
	ExpiresAt time.Time `json:"expiresAt"`
}
