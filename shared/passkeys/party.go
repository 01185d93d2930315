package passkeys

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"parley.internal/shared/fault"
)

// algorithms are the kinds of key pairs that are taken, the preferred one first.
var algorithms = []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256}

// Place is where passkeys of a server work.
type Place struct {
	// RPID is the host that passkeys are bound to, and Origin the one origin whose pages may use them.
	RPID, Origin string
}

// At returns the place of a server with the address, or a Precondition that says why passkeys do not work there. A server
// on loopback has its place at the name localhost, because an IP address cannot have passkeys.
func At(address string) (Place, error) {
	u, err := url.Parse(address)
	host := ""
	if err == nil {
		host = strings.ToLower(u.Hostname())
	}
	ip, notIP := netip.ParseAddr(host)
	switch {
	case host == "":
		return Place{}, fault.New(fault.Precondition, "this server does not know its address, which passkeys are bound to: "+
			"start it with --public-url")
	case host == "localhost" || notIP == nil && ip.IsLoopback():
		place := Place{RPID: "localhost", Origin: u.Scheme + "://localhost"}
		if port := u.Port(); port != "" {
			place.Origin = u.Scheme + "://" + net.JoinHostPort("localhost", port)
		}
		return place, nil
	case notIP == nil:
		return Place{}, fault.New(fault.Precondition, "an IP address cannot have passkeys: give the server a name and HTTPS, "+
			"and start it with --public-url")
	case u.Scheme != "https":
		return Place{}, fault.New(fault.Precondition, "browsers use passkeys over HTTPS, or at localhost: give the server "+
			"HTTPS, and start it with --public-url")
	}
	return Place{RPID: host, Origin: "https://" + strings.TrimSuffix(strings.ToLower(u.Host), ":443")}, nil
}

func (p Place) party() (*webauthn.WebAuthn, error) {
	party, err := webauthn.New(&webauthn.Config{RPID: p.RPID, RPDisplayName: "Parley", RPOrigins: []string{p.Origin}})
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "passkeys at %s", p.Origin)
	}
	return party, nil
}

// made returns the credential that a browser has made for a person, or a Forbidden fault.
func (p Place) made(who person, challenge string, in Created) (*webauthn.Credential, error) {
	party, err := p.party()
	if err != nil {
		return nil, err
	}
	raw, err := decode(field{"clientDataJSON", in.ClientDataJSON}, field{"attestationObject", in.AttestationObject})
	if err != nil {
		return nil, err
	}
	id, err := decode(field{"id", in.ID})
	if err != nil {
		return nil, err
	}
	response := protocol.CredentialCreationResponse{PublicKeyCredential: public(in.ID, id[0]),
		AttestationResponse: protocol.AuthenticatorAttestationResponse{
			AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: raw[0]}, AttestationObject: raw[1],
			Transports: in.Transports}}
	parsed, err := response.Parse()
	if err != nil {
		return nil, refused(err)
	}
	made, err := party.CreateCredential(who, who.session(challenge), parsed)
	if err != nil {
		return nil, refused(err)
	}
	return made, nil
}

// signed returns the credential of a person that signed the challenge, with its new count, or a Forbidden fault.
func (p Place) signed(who person, challenge string, in Assertion) (*webauthn.Credential, error) {
	party, err := p.party()
	if err != nil {
		return nil, err
	}
	raw, err := decode(field{"id", in.ID}, field{"clientDataJSON", in.ClientDataJSON},
		field{"authenticatorData", in.AuthenticatorData}, field{"signature", in.Signature}, field{"userHandle", in.UserHandle})
	if err != nil {
		return nil, err
	}
	response := protocol.CredentialAssertionResponse{PublicKeyCredential: public(in.ID, raw[0]),
		AssertionResponse: protocol.AuthenticatorAssertionResponse{
			AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: raw[1]},
			AuthenticatorData:     raw[2], Signature: raw[3], UserHandle: raw[4]}}
	parsed, err := response.Parse()
	if err != nil {
		return nil, refused(err)
	}
	found, err := party.ValidateLogin(who, who.session(challenge), parsed)
	if err != nil {
		return nil, refused(err)
	}
	if found.Authenticator.CloneWarning {
		return nil, fault.New(fault.Forbidden, "the signature counter of this passkey went back: a copy of it may be in use; "+
			"remove it in the settings, with another passkey, or with `parley passkey remove`")
	}
	return found, nil
}

func public(id string, raw []byte) protocol.PublicKeyCredential {
	return protocol.PublicKeyCredential{RawID: raw,
		Credential: protocol.Credential{ID: id, Type: string(protocol.PublicKeyCredentialType)}}
}

type field struct{ name, value string }

// decode decodes fields from base64url, or returns Invalid with the names of those that it cannot.
func decode(fields ...field) ([][]byte, error) {
	out := make([][]byte, len(fields))
	for i, f := range fields {
		b, err := encoding.DecodeString(f.value)
		if err != nil {
			return nil, fault.Field("credential."+f.name, "must be base64url without padding, as the browser gives it")
		}
		out[i] = b
	}
	return out, nil
}

// refused returns the fault of a credential or an assertion that the library refuses.
func refused(err error) error {
	cause := err
	if e := (*protocol.Error)(nil); errors.As(err, &e) && e.DevInfo != "" {
		cause = errors.New(e.Details + ": " + e.DevInfo)
	}
	return fault.Wrap(fault.Forbidden, cause, "this passkey was not accepted: it must be one of this person's, used at this "+
		"server's own address, with a check of its person; try again from the start")
}
