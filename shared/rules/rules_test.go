package rules

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"parley.internal/shared/sleep"
	"parley.internal/shared/store/emulator"
)

const file = "../../firestore.rules"

// The coverage report of the emulator covers all requests to a project. Therefore all tests are subtests of one, in one
// project, and the report is read last.
func TestRules(t *testing.T) {
	t.Parallel()
	p := open(t)
	t.Run("in force", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *project){
			"reading is of one's own and of what is shown":         collections,
			"an anonymous sign-in is nobody":                       anonymously,
			"a person is admitted by the claim or by the list":     admissions,
			"an address that only looks listed admits nobody":      lookalikes,
			"documents outside of the collections are closed":      outside,
			"a user's collections are never searched with others'": groups,
			"a question is answered as the hub would answer it":    answers,
			"an answer has no other form":                          brokenAnswers,
			"what is no pending question is not answered":          unanswerable,
			"an answer is its user's":                              othersAnswers,
			"the first answer stands":                              firstAnswer,
			"an answer wakes an agent that waits on a server":      wakes,
			"a device is registered as the hub would register it":  registers,
			"a device has no other form":                           brokenDevices,
			"settings are set as the hub would set them":           sets,
			"settings have no other form":                          brokenSettings,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, p)
			})
		}
	})
	if t.Failed() {
		return // a test that failed may not have reached every condition
	}
	t.Run("each condition was met and was not", p.coverage)
}

// project is a project of the emulator in which the rules are in force.
type project struct {
	id, addr string
	text     []byte
}

func open(t *testing.T) *project {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The list that Terraform writes into the rules.
	const empty, some = "return []; }", `return ["listed", "ann@example.org", "@corp.example"]; }`
	if bytes.Count(text, []byte(empty)) != 1 {
		t.Fatalf("%s has not one place for the list", file)
	}
	text = bytes.Replace(text, []byte(empty), []byte(some), 1)
	p := &project{id: emulator.Project(t), addr: own(t), text: text}
	body, err := json.Marshal(map[string]any{
		"rules": map[string]any{"files": []any{map[string]any{"name": "firestore.rules", "content": string(text)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.ask(t, http.MethodPut, "securityRules", body)
	return p
}

// own returns the host:port of an emulator of the test's own, where there is one: the coverage report of one that has
// served many other tests fails.
func own(t *testing.T) string {
	t.Helper()
	e, err := emulator.StartWith(t.Context(), emulator.Options{})
	if errors.Is(err, emulator.ErrNone) {
		return emulator.Shared(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	return e.Addr
}

// ask sends a request about the project to the emulator and returns the response. Like a client of the cloud it repeats a
// request that fails inside the server, which a busy emulator answers with 500 now and then: both requests can be made
// twice.
func (p *project) ask(t *testing.T, method, what string, body []byte) []byte {
	t.Helper()
	const attempts = 6
	for attempt, wait := 1, 100*time.Millisecond; ; attempt, wait = attempt+1, 2*wait {
		status, out, err := p.try(t.Context(), method, what, body)
		switch {
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		case status == http.StatusOK:
			return out
		case status < http.StatusInternalServerError || attempt == attempts:
			t.Fatalf("%s: %d after %d attempts\n%s", what, status, attempt, out)
		}
		t.Logf("%s: %d\n%s", what, status, out)
		if err := sleep.For(t.Context(), wait); err != nil {
			t.Fatal(err)
		}
	}
}

// try sends the request once.
func (p *project) try(ctx context.Context, method, what string, body []byte) (status int, out []byte, err error) {
	url := "http://" + p.addr + "/emulator/v1/projects/" + p.id + ":" + what
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	out, err = io.ReadAll(res.Body)
	return res.StatusCode, out, err
}

func TestARequestToTheEmulatorIsRepeatedWhileTheServerFails(t *testing.T) {
	t.Parallel()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "rules" || r.Method != http.MethodPut {
			t.Errorf("got %s %q, %v", r.Method, body, err)
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	defer s.Close()
	p := &project{id: "demo-p", addr: s.Listener.Addr().String()}
	got := p.ask(t, http.MethodPut, "securityRules", []byte("rules"))
	if string(got) != "/emulator/v1/projects/demo-p:securityRules" || calls != 3 {
		t.Errorf("got %q after %d calls", got, calls)
	}
}

// signIn is the sign-in of an app: a user and a provider.
type signIn struct {
	uid, provider string
	// claims are further claims of the token, as JSON; empty is the claim that admits a person.
	claims string
}

var (
	ann       = signIn{uid: "ann", provider: "password"}
	bob       = signIn{uid: "bob", provider: "google.com"}
	anonymous = signIn{uid: "ann", provider: "anonymous"}
	nobody    = signIn{}
	// admin is not subject to the rules, like the hub.
	admin = signIn{uid: "owner"}
)

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (w signIn) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	switch w {
	case nobody:
		return nil, nil
	case admin:
		return map[string]string{"authorization": "Bearer owner"}, nil
	}
	now := time.Now().Unix()
	all := map[string]any{}
	if err := json.Unmarshal([]byte(cmp.Or(w.claims, `{"parley":true}`)), &all); err != nil {
		return nil, err
	}
	maps.Copy(all, map[string]any{
		"iss": "https://securetoken.google.com/demo", "aud": "demo", "sub": w.uid, "user_id": w.uid,
		"iat": now, "auth_time": now, "exp": now + 3600, "firebase": map[string]any{"sign_in_provider": w.provider},
	})
	claims, err := json.Marshal(all)
	part := base64.RawURLEncoding.EncodeToString
	return map[string]string{
		"authorization": "Bearer " + part([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part(claims) + ".",
	}, err
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (signIn) RequireTransportSecurity() bool { return false }

// as returns a client that is signed in. Without a connection of its own, the library would use the emulator's
// environment variable and act as an administrator.
func (p *project) as(t *testing.T, w signIn) *firestore.Client {
	t.Helper()
	conn, err := grpc.NewClient(
		"passthrough:///"+p.addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(w),
	)
	if err != nil {
		t.Fatal(err)
	}
	c, err := firestore.NewClient(t.Context(), p.id, option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func allowed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s is refused: %v", what, err)
	}
}

// refused checks that the rules refused a call.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("%s: %v, want it refused", what, err)
	}
}

// fields is a document as an app writes it.
type fields = map[string]any

// with returns a copy of a document with changes; the value drop removes a field.
func with(doc, changes fields) fields {
	out := fields{}
	for _, from := range []fields{doc, changes} {
		for k, v := range from {
			if out[k] = v; v == drop {
				delete(out, k)
			}
		}
	}
	return out
}

type dropped struct{}

var drop any = dropped{}
