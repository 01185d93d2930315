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
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
	"google.golang.org/api/option"

	"parley.internal/services/hub/internal/firebase"
	"parley.internal/shared/fault"
)

const project = "demo-parley"

// google replaces the two services that the library asks: the certificates that sign tokens, and the users.
type google struct {
	keys map[string]string // certificates by key id
	// users are the records of users by id; an absent one is unknown.
	users map[string]map[string]any
	down  bool
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

// The library fetches certificates by itself through http.DefaultTransport, which the test leads to a local server.
// No test may run in parallel with it.
func TestATokenIsVerifiedByItsSignature(t *testing.T) {
	good, cert := pair(t)
	forger, _ := pair(t)
	user := func(more map[string]any) map[string]any {
		out := map[string]any{"localId": "ann", "validSince": "1"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	g := &google{keys: map[string]string{"k": cert},
		users: map[string]map[string]any{"ann": user(nil),
			"off":     user(map[string]any{"localId": "off", "disabled": true}),
			"gone":    user(map[string]any{"localId": "gone", "validSince": "99999999999"}),
			"no name": user(map[string]any{"localId": "no name"})}}
	server := httptest.NewTLSServer(g)
	defer server.Close()
	transport := http.DefaultTransport.(*http.Transport)
	saved := transport.DialTLSContext
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the local server, whatever the name
		return d.DialContext(ctx, network, server.Listener.Addr().String())
	}
	defer func() { transport.DialTLSContext = saved }()
	v, err := firebase.New(t.Context(), project, option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
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
	v, err := firebase.New(t.Context(), project)
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

func TestATokenIsDistinguishedFromAKey(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]bool{"parley_ou_abc": false, "": false, "a.b.c": true, "a.b": false,
		"a.b.c.d": false} {
		if firebase.IsToken(secret) != want {
			t.Errorf("%q is a token: %t", secret, !want)
		}
	}
}
