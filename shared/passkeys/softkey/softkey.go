package softkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
)

// Key is a passkey. A test may change its fields, so that it breaks rules as a real one does not.
type Key struct {
	// ID is the id of the credential.
	ID []byte
	// RPID and Origin are the place that it believes to be at.
	RPID, Origin string
	// User is the name of its user.
	User string
	// Count is the number of signatures that it tells, 0 if it counts none.
	Count uint32
	// Unverified means that it has not seen its person.
	Unverified bool

	private *ecdsa.PrivateKey
}

// New returns the passkey of a user with the number n, which is the same at every call.
func New(n byte, rpID, origin, user string) *Key {
	scalar := sha256.Sum256([]byte{'k', n})
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		panic(err) // a hash is a valid scalar but once in 2^32
	}
	id := sha256.Sum256([]byte{'i', n})
	return &Key{ID: id[:], RPID: rpID, Origin: origin, User: user, private: private}
}

// Created is the credential that a browser makes for a challenge, as JSON has it.
func (k *Key) Created(challenge string) map[string]any {
	const attested = 1 << 6
	return map[string]any{"id": text(k.ID), "clientDataJSON": k.clientData("webauthn.create", challenge),
		"attestationObject": text(k.attestation(k.authData(attested))), "transports": []any{"internal"}}
}

// Signed is the assertion for a challenge, as JSON has it.
func (k *Key) Signed(challenge string) map[string]any {
	client := k.clientData("webauthn.get", challenge)
	raw, _ := base64.RawURLEncoding.DecodeString(client)
	data, hash := k.authData(0), sha256.Sum256(raw)
	signed := sha256.Sum256(slices.Concat(data, hash[:]))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, signed[:])
	if err != nil {
		panic(err) // of the random source, which never fails
	}
	return map[string]any{"id": text(k.ID), "clientDataJSON": client, "authenticatorData": text(data),
		"signature": text(signature), "userHandle": text([]byte(k.User))}
}

// Make returns the answer of a passkey to a request that an operation gave, in JSON: "a passkey" and "another passkey"
// are credentials, "a use of the passkey" and "a use of another passkey" are assertions. Anything else is nil.
func Make(what string, request []byte) any {
	var r struct{ Challenge, RPID, Origin string }
	if err := json.Unmarshal(request, &r); err != nil {
		return nil
	}
	one, other := New(1, r.RPID, r.Origin, ""), New(2, r.RPID, r.Origin, "")
	switch what {
	case "a passkey":
		return one.Created(r.Challenge)
	case "another passkey":
		return other.Created(r.Challenge)
	case "a use of the passkey":
		return one.Signed(r.Challenge)
	case "a use of another passkey":
		return other.Signed(r.Challenge)
	}
	return nil
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (k *Key) clientData(kind, challenge string) string {
	raw, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": k.Origin, "crossOrigin": false})
	if err != nil {
		panic(err) // of texts and a boolean
	}
	return text(raw)
}

// authData returns the authenticator data, with the credential if it is attested.
func (k *Key) authData(flags byte) []byte {
	const present, verified, attested = 1, 1 << 2, 1 << 6
	rp := sha256.Sum256([]byte(k.RPID))
	flags |= present
	if !k.Unverified {
		flags |= verified
	}
	out := binary.BigEndian.AppendUint32(append(rp[:], flags), k.Count)
	if flags&attested == 0 {
		return out
	}
	out = append(out, make([]byte, 16)...) // no model
	out = append(binary.BigEndian.AppendUint16(out, uint16(len(k.ID))), k.ID...)
	point, err := k.private.PublicKey.Bytes()
	if err != nil {
		panic(err) // of a key on the curve
	}
	// CBOR: {1: 2, 3: -7, -1: 1, -2: x, -3: y}, which is a public key of ES256 on P-256.
	out = append(out, 0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32)
	out = append(out, point[1:33]...)
	return append(append(out, 0x22, 0x58, 32), point[33:]...)
}

// attestation returns the attestation object {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
func (k *Key) attestation(data []byte) []byte {
	out := append([]byte{0xa3, 0x63}, "fmt"...)
	out = append(append(out, 0x64), "none"...)
	out = append(append(out, 0x67), "attStmt"...)
	out = append(append(out, 0xa0, 0x68), "authData"...)
	return append(append(out, 0x59, byte(len(data)>>8), byte(len(data))), data...)
}
