package passkeys

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"parley.internal/shared/store"
)

// Passkey is the document of a passkey. Its id is derived from that of its credential.
type Passkey struct {
	Name string `json:"name"`
	// CredentialID, PublicKey and AAGUID are in base64url. The last is the model of the passkey's holder, zero if the
	// holder does not tell it.
	CredentialID string `json:"credentialId"`
	PublicKey    string `json:"publicKey"`
	AAGUID       string `json:"aaguid,omitempty"`
	// Count is the number of signatures that was last seen, 0 where nothing counts them.
	Count      int64    `json:"count"`
	Transports []string `json:"transports,omitempty"`
	// BackupEligible says that the passkey may be copied to other devices of the person, BackedUp that it was.
	BackupEligible bool      `json:"backupEligible"`
	BackedUp       bool      `json:"backedUp"`
	CreatedAt      time.Time `json:"createdAt"`
	LastUsedAt     time.Time `json:"lastUsedAt,omitzero"`
}

var passkeys = store.Collection[Passkey]{Name: "passkeys", PartOf: "a passkey",
	Indexes: []string{"createdAt"}, Log: "passkey",
	Unindexed: []string{"credentialId", "publicKey", "aaguid", "transports"},
	Note:      func(p *Passkey, _ string) store.Note { return store.Note{Line: p.Name} }}

// maxPasskeys is the number of passkeys that a user may have.
const maxPasskeys = 20

var encoding = base64.RawURLEncoding

// idOf returns the id of the passkey with a credential.
func idOf(credentialID []byte) string {
	sum := sha256.Sum256(credentialID)
	return hex.EncodeToString(sum[:16])
}

// all returns the passkeys of a user, the oldest first.
func all(ctx context.Context, r store.Reader) ([]store.Doc[Passkey], error) {
	page, err := passkeys.Query(ctx, r, store.Query{Order: []string{"createdAt"}, Limit: maxPasskeys})
	return page.Docs, err
}

// Any reports whether a user has a passkey.
func Any(ctx context.Context, r store.Reader) (bool, error) {
	page, err := passkeys.Query(ctx, r, store.Query{Order: []string{"createdAt"}, Limit: 1})
	return len(page.Docs) > 0, err
}

// credential returns the passkey as the library has it. What cannot be decoded is empty, and matches nothing.
func (p Passkey) credential() webauthn.Credential {
	id, _ := encoding.DecodeString(p.CredentialID)
	public, _ := encoding.DecodeString(p.PublicKey)
	aaguid, _ := encoding.DecodeString(p.AAGUID)
	return webauthn.Credential{ID: id, PublicKey: public,
		Flags: webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: p.BackupEligible,
			BackupState: p.BackedUp},
		Authenticator: webauthn.Authenticator{AAGUID: aaguid, SignCount: uint32(p.Count)}}
}

// newPasskey returns the document of a credential that was just made.
func newPasskey(name string, c *webauthn.Credential, now time.Time) Passkey {
	p := Passkey{Name: name, CredentialID: encoding.EncodeToString(c.ID), PublicKey: encoding.EncodeToString(c.PublicKey),
		AAGUID: encoding.EncodeToString(c.Authenticator.AAGUID), Count: int64(c.Authenticator.SignCount),
		BackupEligible: c.Flags.BackupEligible, BackedUp: c.Flags.BackupState, CreatedAt: now}
	for _, t := range c.Transport {
		p.Transports = append(p.Transports, string(t))
	}
	return p
}

// used notes a use of the passkey.
func (p *Passkey) used(c *webauthn.Credential, now time.Time) {
	p.Count, p.BackedUp, p.LastUsedAt = int64(c.Authenticator.SignCount), c.Flags.BackupState, now
}

// person is a user with passkeys, as the library wants one.
type person struct {
	user string
	docs []store.Doc[Passkey]
}

// WebAuthnID implements webauthn.User. It is the name of the user, by which a sign-in finds them.
func (p person) WebAuthnID() []byte { return []byte(p.user) }

// WebAuthnName implements webauthn.User.
func (p person) WebAuthnName() string { return p.user }

// WebAuthnDisplayName implements webauthn.User.
func (p person) WebAuthnDisplayName() string { return p.user }

// WebAuthnCredentials implements webauthn.User.
func (p person) WebAuthnCredentials() []webauthn.Credential {
	out := make([]webauthn.Credential, len(p.docs))
	for i, d := range p.docs {
		out[i] = d.Value.credential()
	}
	return out
}

// ids returns the ids of the credentials.
func (p person) ids() []string {
	out := make([]string, len(p.docs))
	for i, d := range p.docs {
		out[i] = d.Value.CredentialID
	}
	return out
}

// session returns the library's record of a ceremony.
func (p person) session(challenge string) webauthn.SessionData {
	out := webauthn.SessionData{Challenge: challenge, UserID: p.WebAuthnID(), UserVerification: protocol.VerificationRequired}
	for _, a := range algorithms {
		out.CredParams = append(out.CredParams, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a})
	}
	return out
}
