package webpush

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
)

// Keys are the VAPID keys of a hub, in base64url without padding. Subscriptions are bound to them: with other keys every
// browser must subscribe anew.
type Keys struct{ Private, Public string }

var encoding = base64.RawURLEncoding

// NewKeys makes a pair.
func NewKeys() (Keys, error) {
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return Keys{}, err
	}
	return keysOf(k), nil
}

// ParseKeys returns the pair of a private key in base64url.
func ParseKeys(private string) (Keys, error) {
	b, err := encoding.DecodeString(strings.TrimRight(strings.TrimSpace(private), "="))
	if err != nil {
		return Keys{}, errKey
	}
	k, err := ecdh.P256().NewPrivateKey(b)
	if err != nil {
		return Keys{}, errKey
	}
	return keysOf(k), nil
}

var errKey = errors.New("a VAPID key must be the 32 bytes of a private P-256 key in base64url")

func keysOf(k *ecdh.PrivateKey) Keys {
	return Keys{Private: encoding.EncodeToString(k.Bytes()), Public: encoding.EncodeToString(k.PublicKey().Bytes())}
}

// CheckSubscription returns an error, and the field that it is about, if the keys of a subscription are malformed.
func CheckSubscription(p256dh, auth string) (field string, err error) {
	b, err := encoding.DecodeString(strings.TrimRight(p256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(b)
	}
	if err != nil {
		return "p256dh", errors.New("must be a public P-256 key in base64url, as the browser's subscription has it")
	}
	if b, err = encoding.DecodeString(strings.TrimRight(auth, "=")); err != nil || len(b) != 16 {
		return "auth", errors.New("must be 16 bytes in base64url, as the browser's subscription has them")
	}
	return "", nil
}
