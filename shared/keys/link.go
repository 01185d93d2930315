package keys

import (
	"context"
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
}

var links = store.Collection[link]{Name: "links"}

// The lifetime of a link, and of the key that it gives.
const (
	linkFor    = 10 * time.Minute
	linkKeyFor = 7 * 24 * time.Hour
)

// The scopes of a browser that was signed in by a link: it may list and answer questions or, by a link for the console,
// do whatever a person may but make keys.
var (
	answerScopes  = []string{identity.ScopeAnswer}
	consoleScopes = []string{identity.ScopeConsole}
)

const linkPrefix = "link_"

// Link signs a person's browser in. It works once, until ExpiresAt.
type Link struct {
	Code      string
	ExpiresAt time.Time
}

// MakeLink creates a link for a user. It works once, within 10 minutes, and gives a key with the scope answer, or with
// the scope console. MakeLink checks no caller: it is for the operator at a terminal. A malformed user name is Invalid.
func (s *Service) MakeLink(ctx context.Context, user string, console bool) (Link, error) {
	if !identity.ValidName(user) {
		return Link{}, errUserName
	}
	now := s.Now()
	code, id := mint(linkPrefix, user)
	l := link{CreatedAt: now, ExpiresAt: now.Add(linkFor), PurgeAt: now.Add(linkFor), Console: console}
	err := s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		links.Create(tx, id, l)
		return nil
	})
	return Link{Code: code, ExpiresAt: l.ExpiresAt}, err
}

var errLink = fault.New(fault.Unauthenticated, "this link was used or has expired; make another with: parley link")

// Redeem exchanges the code of a link for a human's key with the link's scope, valid for 7 days. A code that is unknown,
// used or expired is Unauthenticated. Of several concurrent calls with one code exactly one gets a key.
func (s *Service) Redeem(ctx context.Context, code string) (CreateOutput, error) {
	user, id, ok := parse(linkPrefix, code)
	if !ok {
		return CreateOutput{}, errLink
	}
	now := s.Now()
	k := Key{Name: "browser, by link", Kind: identity.Human, Scopes: answerScopes, CreatedAt: now,
		ExpiresAt: now.Add(linkKeyFor)}
	k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	secret, keyID := mint(keyPrefix, user)
	err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		l, err := links.Get(ctx, tx, id)
		if fault.Is(err, fault.NotFound) || (err == nil && !now.Before(l.ExpiresAt)) {
			return errLink
		}
		if err != nil {
			return err
		}
		links.Delete(tx, id)
		if l.Console {
			k.Scopes = consoleScopes
		}
		apiKeys.Create(tx, keyID, k)
		return nil
	})
	if err != nil {
		return CreateOutput{}, err
	}
	s.changed(user)
	return CreateOutput{Key: secret, View: view(keyID, k)}, nil
}
