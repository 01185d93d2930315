package keys

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Key is the document of a key. Its id is the hash of the key.
type Key struct {
	Name string           `json:"name,omitempty"`
	Kind identity.KeyKind `json:"kind"`
	// Assurance is that of a person's key; one from before has none, which is Local.
	Assurance  identity.Assurance `json:"assurance,omitempty"`
	Program    string             `json:"program,omitempty"`
	Scopes     []string           `json:"scopes"`
	CreatedAt  time.Time          `json:"createdAt"`
	ExpiresAt  time.Time          `json:"expiresAt,omitzero"`
	RevokedAt  time.Time          `json:"revokedAt,omitzero"`
	LastUsedAt time.Time          `json:"lastUsedAt,omitzero"`
	PurgeAt    time.Time          `json:"purgeAt,omitzero"`
	// Team is the only team that a key with the scope runner serves, or that of the member that the key was made for.
	Team string `json:"team,omitempty"`
	// Member is the member of the team that the key was made for.
	Member string `json:"member,omitempty"`
	// Ancestors are the ids of the keys that made this one, the oldest first. The key is valid as long as all of them
	// are.
	Ancestors []string `json:"ancestors,omitempty"`
	// PasskeyID is the passkey that signed a browser in, empty for other keys.
	PasskeyID string `json:"passkeyId,omitempty"`
	// Paired is the approval of the key, if a machine asked for it.
	Paired *Paired `json:"paired,omitempty"`
}

// The descendants of a key are found by its id, and the keys of a passkey by the id of that.
var apiKeys = store.Collection[Key]{Name: "apiKeys", PartOf: "a key",
	Indexes: []string{"createdAt desc", "ancestors[],createdAt desc", "passkeyId,createdAt desc"},
	Log:     "key", Note: func(k *Key, _ string) store.Note {
		return store.Note{Line: k.Name, State: string(k.Kind), Program: k.Program}
	}}

// Defs declares the collections of keys, of links and of pairings.
func (*Service) Defs() []*store.Def {
	return []*store.Def{apiKeys.Def(), links.Def(), pairings.Def(), rooms.Def(), guessed.Def()}
}

// keptRevoked is the time for which a revoked or expired key is kept.
const keptRevoked = 30 * 24 * time.Hour

const keyPrefix = "parley_"

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// mint returns a new secret of a user that begins with prefix, and its hash.
func mint(prefix, user string) (secret, id string) {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	secret = prefix + encoding.EncodeToString([]byte(user)) + "_" + encoding.EncodeToString(b)
	return secret, hash(secret)
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// parse returns the user and the hash of a secret that begins with prefix. It accepts exactly
// the form that mint returns.
func parse(prefix, secret string) (user, id string, ok bool) {
	rest, ok := strings.CutPrefix(secret, prefix)
	if !ok || len(secret) > 512 {
		return "", "", false
	}
	name, key, ok := strings.Cut(rest, "_")
	if !ok || len(key) != encoding.EncodedLen(32) {
		return "", "", false
	}
	b, err := encoding.DecodeString(name)
	if err != nil || !identity.ValidName(string(b)) {
		return "", "", false
	}
	return string(b), hash(secret), true
}

// valid returns Unauthenticated for a revoked or expired key.
func (k Key) valid(now time.Time) error {
	switch {
	case !k.RevokedAt.IsZero():
		return fault.New(fault.Unauthenticated, "this key was revoked")
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return fault.New(fault.Unauthenticated, "this key expired")
	}
	return nil
}

// assured returns the assurance of a person's key, and none for an agent's.
func (k Key) assured() identity.Assurance {
	if k.Kind != identity.Human {
		return ""
	}
	return cmp.Or(k.Assurance, identity.Local)
}

func (k Key) caller(user, id string) identity.Caller {
	return identity.Caller{User: user, Program: k.Program, KeyID: id, Kind: k.Kind, Assurance: k.assured(),
		Scopes: k.Scopes, Team: k.Team, Member: k.Member, ExpiresAt: k.ExpiresAt}
}
