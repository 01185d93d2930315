package keys

import (
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

// Key is a document of the collection, named by the key's hash.
type Key struct {
	Name       string           `json:"name,omitempty"`
	Kind       identity.KeyKind `json:"kind"`
	Program    string           `json:"program,omitempty"`
	Scopes     []string         `json:"scopes"`
	CreatedAt  time.Time        `json:"createdAt"`
	ExpiresAt  time.Time        `json:"expiresAt,omitzero"`
	RevokedAt  time.Time        `json:"revokedAt,omitzero"`
	LastUsedAt time.Time        `json:"lastUsedAt,omitzero"`
	PurgeAt    time.Time        `json:"purgeAt,omitzero"`
}

var apiKeys = store.Collection[Key]{Name: "apiKeys", Indexes: []string{"createdAt desc"}}

// Defs declares the collections of keys and of links.
func (*Service) Defs() []*store.Def { return []*store.Def{apiKeys.Def(), links.Def()} }

// keptRevoked is how long a revoked key stays in the list.
const keptRevoked = 30 * 24 * time.Hour

const keyPrefix = "parley_"

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// mint makes a secret of a user's that begins with prefix.
func mint(prefix, user string) (secret, id string) {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails; it ends the program rather than return weak bytes
	secret = prefix + encoding.EncodeToString([]byte(user)) + "_" + encoding.EncodeToString(b)
	return secret, hash(secret)
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// parse finds the user in the text of a secret that begins with prefix.
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

// good says whether the key may be used.
func (k Key) good(now time.Time) error {
	switch {
	case !k.RevokedAt.IsZero():
		return fault.New(fault.Unauthenticated, "this key was revoked")
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return fault.New(fault.Unauthenticated, "this key expired")
	}
	return nil
}

func (k Key) caller(user, id string) identity.Caller {
	return identity.Caller{User: user, Program: k.Program, KeyID: id, Kind: k.Kind, Scopes: k.Scopes}
}
