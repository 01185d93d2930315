package firebase_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
	"google.golang.org/api/option"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/services/hub/internal/firebase"
	"parley.internal/shared/fault"
)

const project = "demo-parley"

// google replaces the two services that the library asks: the certificates that sign tokens, and the users.
type google struct {
	keys map[string]string // certificates by key id
	// users are the records of users by id; an absent one is unknown.
	users   map[string]map[string]any
	down    bool
	lookups atomic.Int64 // of users
}

// ServeHTTP implements http.Handler.
func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/x509/securetoken@system.gserviceaccount.com"):
		_ = json.NewEncoder(w).Encode(g.keys)
	case g.down:
		w.WriteHeader(http.StatusForbidden)
	case strings.HasSuffix(r.URL.Path, "accounts:lookup"):
		g.lookups.Add(1)
		var in struct{ LocalID []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		out := map[string]any{"users": []any{}}
		if len(in.LocalID) == 1 && g.users[in.LocalID[0]] != nil {
			out["users"] = []any{g.users[in.LocalID[0]]}
		}
		_ = json.NewEncoder(w).Encode(out)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// pair returns a key that signs tokens, and its certificate.
func pair(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func claims(change map[string]any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{"iss": "https://securetoken.google.com/" + project, "aud": project, "sub": "ann",
		"user_id": "ann", "auth_time": now.Add(-time.Minute).Unix(),
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
		"firebase": map[string]any{"sign_in_provider": "password"}}
	for k, v := range change {
		c[k] = v
	}
	return c
}

func sign(t *testing.T, key *rsa.PrivateKey, kid string, change map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims(change))
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func unsigned(t *testing.T, change map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims(change))
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(text) + "."
}

type check struct {
	token string
	kind  fault.Kind // -1 for no fault
	words string
}

func (c check) run(t *testing.T, name string, v *firebase.Verifier) {
	t.Helper()
	caller, until, err := v.Lookup(t.Context(), c.token)
	if c.kind < 0 {
		if err != nil || caller.User != "ann" || !caller.IsHuman() || caller.IsAdmin() || caller.Bound() ||
			len(caller.Scopes) != 0 || !until.After(time.Now()) {
			t.Errorf("%s: %+v until %v, %v", name, caller, until, err)
		}
		return
	}
	if !fault.Is(err, c.kind) || !strings.Contains(fault.From(err).Message, c.words) || caller.User != "" {
		t.Errorf("%s: %+v, %v; want %v that says %q", name, caller, err, c.kind, c.words)
	}
}

// record returns the record of a user as the Identity Toolkit gives it.
func record(id string, more map[string]any) map[string]any {
	out := map[string]any{"localId": id, "validSince": "1"}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func list(t *testing.T, entries ...string) admission.List {
	t.Helper()
	l, err := admission.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// signed returns a verifier of signed tokens that asks g, and the key that signs them. The library fetches certificates
// by itself through http.DefaultTransport, which is led to a local server: no test may run in parallel with this one.
func signed(t *testing.T, g *google, allow ...string) (*firebase.Verifier, *rsa.PrivateKey) {
	t.Helper()
	good, cert := pair(t)
	g.keys = map[string]string{"k": cert}
	server := httptest.NewTLSServer(g)
	t.Cleanup(server.Close)
	transport := http.DefaultTransport.(*http.Transport)
	saved := transport.DialTLSContext
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the local server, whatever the name
		return d.DialContext(ctx, network, server.Listener.Addr().String())
	}
	t.Cleanup(func() { transport.DialTLSContext = saved })
	v, err := firebase.New(t.Context(), project, list(t, allow...),
		option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return v, good
}

func TestATokenIsVerifiedByItsSignature(t *testing.T) {
	forger, _ := pair(t)
	g := &google{users: map[string]map[string]any{"ann": record("ann", nil),
		"off":     record("off", map[string]any{"disabled": true}),
		"gone":    record("gone", map[string]any{"validSince": "99999999999"}),
		"no name": record("no name", nil)}}
	v, good := signed(t, g, "ann", "off", "gone", "nobody")
	for _, c := range []struct {
		name string
		check
	}{
		{"a valid token", check{sign(t, good, "k", nil), -1, ""}},
		{"the signature of another key",
			check{sign(t, forger, "k", nil), fault.Unauthenticated, "not a sign-in of this server's project"}},
		{"an unknown key", check{sign(t, good, "other", nil), fault.Unauthenticated, "not a sign-in"}},
		{"no signature", check{unsigned(t, nil), fault.Unauthenticated, "not a sign-in"}},
		{"another project",
			check{sign(t, good, "k", map[string]any{"aud": "other", "iss": "https://securetoken.google.com/other"}),
				fault.Unauthenticated, "not a sign-in"}},
		{"another audience",
			check{sign(t, good, "k", map[string]any{"aud": "other"}), fault.Unauthenticated, "not a sign-in"}},
		{"an expired token",
			check{sign(t, good, "k", map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), fault.Unauthenticated,
				"expired"}},
		{"a token of the future",
			check{sign(t, good, "k", map[string]any{"iat": time.Now().Add(time.Hour).Unix()}), fault.Unauthenticated,
				"not a sign-in"}},
		{"a revoked token",
			check{sign(t, good, "k", map[string]any{"sub": "gone"}), fault.Unauthenticated, "revoked"}},
		{"a disabled user",
			check{sign(t, good, "k", map[string]any{"sub": "off"}), fault.Unauthenticated, "revoked"}},
		{"an unknown user",
			check{sign(t, good, "k", map[string]any{"sub": "nobody"}), fault.Unauthenticated, "revoked"}},
		{"an invalid user id",
			check{sign(t, good, "k", map[string]any{"sub": "no name"}), fault.Forbidden, `"no name"`}},
		{"an anonymous sign-in",
			check{sign(t, good, "k", map[string]any{"firebase": map[string]any{"sign_in_provider": "anonymous"}}),
				fault.Forbidden, "an anonymous sign-in cannot be a user here"}},
		{"not a token", check{"a.b.c", fault.Unauthenticated, "not a sign-in"}},
	} {
		c.run(t, c.name, v)
	}
	g.down = true
	check{sign(t, good, "k", nil), fault.Unavailable, "try again"}.run(t, "Firebase is down", v)
}

func TestTheEmulatorsTokensAreCheckedForRevocation(t *testing.T) {
	g := &google{
		users: map[string]map[string]any{"ann": {"localId": "ann", "validSince": "1"},
			"gone": {"localId": "gone", "validSince": "99999999999"}}}
	server := httptest.NewServer(g)
	defer server.Close()
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", strings.TrimPrefix(server.URL, "http://"))
	v, err := firebase.New(t.Context(), project, list(t, "ann", "gone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Unsetenv("FIREBASE_AUTH_EMULATOR_HOST"); err != nil {
		t.Fatal(err)
	}
	check{unsigned(t, nil), -1, ""}.run(t, "a valid token", v)
	check{unsigned(t, map[string]any{"sub": "gone"}), fault.Unauthenticated, "revoked"}.run(t, "a revoked token", v)
	check{unsigned(t, map[string]any{"aud": "other"}), fault.Unauthenticated, "not a sign-in"}.run(t, "another project",
		v)
}

func TestASignInIsAdmittedByTheListOrTheClaim(t *testing.T) {
	person := func(email string, verified bool) map[string]any {
		return map[string]any{"email": email, "email_verified": verified}
	}
	account := func(id, email string, verified bool, attributes string) map[string]any {
		return record(id, map[string]any{"email": email, "emailVerified": verified, "customAttributes": attributes})
	}
	g := &google{users: map[string]map[string]any{
		"ann":   account("ann", "ann@example.org", true, ""),
		"local": account("local", "ann@example.org", true, `{"parley":true}`),
	}}
	v, good := signed(t, g, "ann@example.org", "@corp.example")
	token := func(change map[string]any) string { return sign(t, good, "k", change) }
	refused := func(name, token, words string) {
		t.Helper()
		before := g.lookups.Load()
		check{token, fault.Forbidden, words}.run(t, name, v)
		if g.lookups.Load() != before {
			t.Errorf("%s: a stranger's token costs a call of Firebase", name)
		}
	}
	check{token(person("ann@example.org", true)), -1, ""}.run(t, "a verified address of the list", v)
	refused("no address", token(nil), "is not admitted to this server")
	refused("another address", token(person("ben@example.org", true)), "--sign-in-allow")
	refused("an unverified address", token(person("ann@example.org", false)), "verify it and sign in again")
	local := person("ann@example.org", true)
	local["sub"], local["parley"] = "local", true
	refused("the user local", token(local), "own user")

	// The claims of a token are up to an hour old. The account decides.
	stale := token(person("ann@example.org", true))
	g.users["ann"] = account("ann", "ann@example.org", false, "")
	check{stale, fault.Forbidden, "verify it"}.run(t, "an address that is verified no more", v)
	claim := token(map[string]any{"parley": true})
	check{claim, fault.Forbidden, "is not admitted"}.run(t, "a claim that was taken away", v)
	g.users["ann"] = account("ann", "", false, `{"parley":true}`)
	check{claim, -1, ""}.run(t, "the claim", v)
	refused("a claim that is not true", token(map[string]any{"parley": "true"}), "is not admitted")
}

func TestWithoutAListASignInAdmitsNobody(t *testing.T) {
	g := &google{users: map[string]map[string]any{"ann": record("ann", map[string]any{"email": "ann@example.org",
		"emailVerified": true})}}
	v, good := signed(t, g)
	check{sign(t, good, "k", map[string]any{"email": "ann@example.org", "email_verified": true}), fault.Forbidden,
		"is not admitted to this server"}.run(t, "a verified sign-in", v)
	if g.lookups.Load() != 0 {
		t.Error("a stranger's token costs a call of Firebase")
	}
}

// Each forged token names a person whom the list admits.
func TestAttackAForgedTokenIsNoSignIn(t *testing.T) {
	g := &google{users: map[string]map[string]any{"ann": record("ann", nil)}}
	v, good := signed(t, g, "ann")
	forger, forgersCert := pair(t)
	with := func(method jwt.SigningMethod, key any, header map[string]any, change map[string]any) string {
		token := jwt.NewWithClaims(method, claims(change))
		for k, h := range header {
			token.Header[k] = h
		}
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	kid := map[string]any{"kid": "k"}
	public, err := x509.MarshalPKIXPublicKey(&good.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	genuine := sign(t, good, "k", nil)
	parts := strings.Split(genuine, ".")
	body := func(change map[string]any) string {
		text, err := json.Marshal(claims(change))
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	foreign := map[string]any{"aud": "other", "iss": "https://securetoken.google.com/other"}
	hour := func(n int) int64 { return time.Now().Add(time.Duration(n) * time.Hour).Unix() }
	check{genuine, -1, ""}.run(t, "the genuine token", v)
	for name, token := range map[string]string{
		"alg none":                      unsigned(t, nil),
		"alg none, with the key's id":   header(`{"alg":"none","kid":"k"}`) + "." + parts[1] + ".",
		"alg None, with the signature":  header(`{"alg":"None","kid":"k"}`) + "." + parts[1] + "." + parts[2],
		"alg RS256 without a signature": parts[0] + "." + parts[1] + ".",
		"another body":                  parts[0] + "." + body(map[string]any{"sub": "ben"}) + "." + parts[2],
		"HS256 with the public key":     with(jwt.SigningMethodHS256, block, kid, nil),
		"HS256 with the certificate":    with(jwt.SigningMethodHS256, []byte(g.keys["k"]), kid, nil),
		"RS384 with the right key":      with(jwt.SigningMethodRS384, good, kid, nil),
		"PS256 with the right key":      with(jwt.SigningMethodPS256, good, kid, nil),
		"the forger's own key":          with(jwt.SigningMethodRS256, forger, kid, nil),
		"the forger's key, another id":  with(jwt.SigningMethodRS256, forger, map[string]any{"kid": "j"}, nil),
		"no key id":                     with(jwt.SigningMethodRS256, forger, nil, nil),
		"the key in the header": with(jwt.SigningMethodRS256, forger,
			map[string]any{"kid": "k", "x5c": []string{forgersCert}}, nil),
		"a URL of keys in the header": with(jwt.SigningMethodRS256, forger,
			map[string]any{"kid": "k", "jku": "https://evil.example/k"}, nil),
		"a path as the key id":      with(jwt.SigningMethodRS256, forger, map[string]any{"kid": "../../dev/null"}, nil),
		"a foreign project's token": sign(t, good, "k", foreign),
		"a foreign audience":        sign(t, good, "k", map[string]any{"aud": "other"}),
		"a foreign issuer":          sign(t, good, "k", map[string]any{"iss": "https://evil.example/" + project}),
		"a session cookie": sign(t, good, "k",
			map[string]any{"iss": "https://session.firebase.google.com/" + project}),
		"a token of Google itself":        sign(t, good, "k", map[string]any{"iss": "https://accounts.google.com"}),
		"an expired token":                sign(t, good, "k", map[string]any{"exp": hour(-1)}),
		"an issue in the future":          sign(t, good, "k", map[string]any{"iat": hour(1)}),
		"no subject":                      sign(t, good, "k", map[string]any{"sub": ""}),
		"a subject that is no text":       sign(t, good, "k", map[string]any{"sub": 7}),
		"a subject beyond the limit":      sign(t, good, "k", map[string]any{"sub": strings.Repeat("a", 129)}),
		"a list of audiences":             sign(t, good, "k", map[string]any{"aud": []string{project, "other"}}),
		"no expiry":                       sign(t, good, "k", map[string]any{"exp": nil}),
		"a body that is no JSON":          parts[0] + "." + header("nonsense") + "." + parts[2],
		"a header that is no JSON":        header("nonsense") + "." + parts[1] + "." + parts[2],
		"padding in the signature":        genuine + "==",
		"a second subject after the body": parts[0] + "." + header(`{"sub":"ann"}{"sub":"ben"}`) + "." + parts[2],
	} {
		check{token, fault.Unauthenticated, ""}.run(t, name, v)
	}
}
