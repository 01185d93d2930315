package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const goodKey = "parley_good_key"

// fake is a server that answers with given data and records the calls.
type fake struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex
	// asked holds the calls: method, path with query, and body.
	asked []string
}

// newFake starts a server that sends the data or the fault that answer returns for a call.
func newFake(t *testing.T, answer func(r *http.Request, body string) (status int, data any)) *fake {
	t.Helper()
	f := &fake{t: t}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		f.mu.Unlock()
		if got := r.Header.Get("Authorization"); got != "Bearer "+goodKey {
			envelope(t, w, 401, fault("UNAUTHENTICATED", "this key is not known"))
			return
		}
		status, data := answer(r, string(body))
		envelope(t, w, status, data)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.asked...)
}

type object = map[string]any

func fault(code, message string) object {
	return object{"code": code, "message": message, "details": []any{}}
}

// envelope returns the body of a REST answer; a string is sent unchanged.
func envelope(t *testing.T, w http.ResponseWriter, status int, data any) {
	t.Helper()
	if text, raw := data.(string); raw {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may have left
		return
	}
	out := object{"success": status < 300, "meta": object{"timestamp": noon, "requestId": "r"}, "data": data}
	if status >= 300 {
		delete(out, "data")
		out["error"] = data
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have left
}

func noQuestions(*http.Request, string) (int, any) {
	return 200, object{"questions": []any{}}
}

// at returns the environment of a command that calls the server.
func (f *fake) at() map[string]string {
	return map[string]string{"PARLEY_URL": f.URL, "PARLEY_HUMAN_KEY": goodKey,
		"PARLEY_DATA": filepath.Join(f.t.TempDir(), "none")}
}

func TestTheServerAndTheKeyAreFound(t *testing.T) {
	t.Parallel()
	f := newFake(t, noQuestions)
	data := t.TempDir()
	file := fmt.Sprintf("PARLEY_URL=%s/mcp\nPARLEY_KEY=no\nPARLEY_KEY_BETA=no\nPARLEY_HUMAN_KEY=%s\n", f.URL, goodKey)
	if err := os.WriteFile(filepath.Join(data, "keys.env"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"in keys.env of --data":      {nil, []string{"--data", data}},
		"in keys.env of PARLEY_DATA": {map[string]string{"PARLEY_DATA": data}, nil},
		"in the environment":         {f.at(), nil},
		"the URL in the environment": {map[string]string{"PARLEY_URL": f.URL + "/mcp", "PARLEY_DATA": data}, nil},
		"the environment's URL first": {
			map[string]string{"PARLEY_URL": f.URL, "PARLEY_HUMAN_KEY": goodKey, "PARLEY_DATA": data}, nil},
		"a flag's URL first": {map[string]string{"PARLEY_URL": nowhere, "PARLEY_HUMAN_KEY": goodKey},
			[]string{"--url", f.URL + "/v1/"}},
		"in a variable of a name": {
			map[string]string{"PARLEY_HUMAN_KEY": "bad", "MINE": goodKey + "\n", "PARLEY_DATA": data},
			[]string{"--key-env", "MINE"}},
	} {
		out, errOut, code := inProcess(t, c.env, append([]string{"questions"}, c.args...)...)
		if out != "No questions are waiting.\n" || errOut != "" || code != 0 {
			t.Errorf("%s: got %q, %q, exit %d", name, out, errOut, code)
		}
	}
	// The key in keys.env is sent to no other host.
	_, errOut, code := inProcess(t, map[string]string{"PARLEY_DATA": data}, "questions", "--url",
		"http://localhost.example:1")
	if code != 1 || strings.Contains(errOut, goodKey) ||
		!strings.Contains(errOut, "keys.env, not to http://localhost.example:1") {
		t.Errorf("got %q, exit %d; want the key not to be used", errOut, code)
	}
	// No other key replaces that of a named variable.
	_, errOut, code = inProcess(t, map[string]string{"PARLEY_DATA": data}, "questions", "--key-env", "MINE")
	if code != 1 || !strings.Contains(errOut, "the variable MINE holds no key") {
		t.Errorf("got %q, exit %d; want the variable reported", errOut, code)
	}
	// The key of the environment takes precedence over that of keys.env.
	_, errOut, code = inProcess(t, map[string]string{"PARLEY_HUMAN_KEY": "bad", "PARLEY_DATA": data}, "questions")
	if code != 1 || !strings.Contains(errOut, "the key of the variable PARLEY_HUMAN_KEY") {
		t.Errorf("got %q, exit %d; want the bad key refused", errOut, code)
	}
}

func TestErrorsSayHowToMendThem(t *testing.T) {
	t.Parallel()
	told := func(status int, data any) *fake {
		return newFake(t, func(*http.Request, string) (int, any) { return status, data })
	}
	closed := &fake{t: t, Server: &httptest.Server{URL: "http://127.0.0.1:1"}}
	moved := httptest.NewServer(
		http.RedirectHandler(told(200, object{"questions": []any{}}).URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "keys.env"), 0o700); err != nil {
		t.Fatal(err)
	}
	url := func(f *fake) map[string]string { return f.at() }
	without := func(name string) map[string]string {
		env := told(200, object{}).at()
		delete(env, name)
		return env
	}
	other := func(name, value string) map[string]string {
		env := newFake(t, noQuestions).at()
		env[name] = value
		return env
	}
	for name, c := range map[string]struct {
		env   map[string]string
		args  []string
		words []string
	}{
		"no server is named": {without("PARLEY_URL"), nil,
			[]string{"no server is known", "keys.env", "parley serve", "--url"}},
		"no key": {without("PARLEY_HUMAN_KEY"), nil,
			[]string{"no key", "PARLEY_HUMAN_KEY", "keys.env", "parley key create", "--kind human"}},
		"no key in the variable": {told(200, object{}).at(), []string{"--key-env", "MINE"},
			[]string{"the variable MINE holds no key"}},
		"keys.env cannot be read": {other("PARLEY_DATA", data), nil, []string{"cannot read the keys"}},
		"the URL is invalid": {other("PARLEY_URL", "localhost"), nil,
			[]string{"the server's URL must be http://host:port", "PARLEY_URL"}},
		"no server answers": {url(closed), nil,
			[]string{"no server answers at " + closed.URL, "connection refused", "parley serve", "--url"}},
		"the key is not valid": {other("PARLEY_HUMAN_KEY", "bad"), nil,
			[]string{"refuses the key of the variable PARLEY_HUMAN_KEY: this key is not known",
				"parley key create --user YOU --kind human"}},
		"the key is an agent's": {url(told(403, fault("FORBIDDEN", "this is for a human"))), nil,
			[]string{"may not do this: this is for a human", "the key of a human", "PARLEY_HUMAN_KEY"}},
		"it failed": {url(told(500, fault("INTERNAL", "internal error"))), nil,
			[]string{"internal error", "see its log"}},
		"the input is wrong": {url(told(400, fault("INVALID_ARGUMENT", "status: must be one of these"))),
			[]string{"--status", "x"}, []string{"status: must be one of these"}},
		"a proxy answers": {url(told(502, "<html>Bad gateway</html>")), nil,
			[]string{"with status 502 is no Parley server", "--url"}},
		"another server answers": {url(told(200, "<html>Hello</html>")), nil, []string{"is no Parley server"}},
		"a server of other JSON": {url(told(200, `{"questions":[]}`)), nil, []string{"is no Parley server"}},
		"an answer of other data": {url(told(200, object{"questions": 7})), nil,
			[]string{"cannot be read; is it of the same version?"}},
		"a redirect": {other("PARLEY_URL", moved.URL), nil,
			[]string{"with status 307 is no Parley server"}},
		"a hostile fault": {url(told(409, fault("CONFLICT", "\x1b[2Jthe key is "+goodKey+"\nreally"))), nil,
			[]string{"parley: �[2Jthe key is … really\n"}},
	} {
		for _, command := range []string{"questions", "answer", "top"} {
			args := append([]string{command}, c.args...)
			if command == "answer" {
				args = append(args, "0198", "yes")
			}
			if command != "questions" && (name == "the input is wrong" || name == "an answer of other data") {
				continue
			}
			out, errOut, code := inProcess(t, c.env, args...)
			for _, w := range c.words {
				if out != "" || code != 1 || !strings.HasPrefix(errOut, "parley: ") || !strings.Contains(errOut, w) {
					t.Errorf("%s, %s: got %q, %q, exit %d; want %q and 1", name, command, out, errOut, code, w)
				}
			}
			if strings.Contains(errOut, goodKey) || strings.Count(errOut, "\n") != 1 ||
				!isPrintable(strings.TrimSuffix(errOut, "\n")) {
				t.Errorf("%s, %s: got %q, want one clean line without the key", name, command, errOut)
			}
		}
	}
}

func TestTimesAreRelativeToTheServersClock(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(*http.Request, string) (int, any) { // its clock stands at noon of a day long gone
		return 200, object{
			"questions": []any{
				question("0198c0de", "q",
					object{"createdAt": before(150 * time.Second), "expiresAt": after(150 * time.Minute)})}}
	})
	out, _, _ := inProcess(t, f.at(), "questions")
	if !strings.Contains(out, "asks, 2m3") || !strings.Contains(out, " ago, 2h29m left:") {
		t.Errorf("got %q, want the times since and until noon", out)
	}
}

func TestHelpNamesTheSourcesOfTheServerAndTheKey(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"questions", "answer", "top"} {
		env := map[string]string{"PARLEY_HUMAN_KEY": goodKey, "PARLEY_DATA": "/of/env"}
		out, errOut, code := inProcess(t, env, command, "--help")
		for _, w := range []string{"--url", "PARLEY_URL", "--key-env", "PARLEY_HUMAN_KEY", "--data", "PARLEY_DATA",
			"keys.env", `"/of/env"`} {
			if code != 0 || errOut != "" || !strings.Contains(out, w) || strings.Contains(out, goodKey) {
				t.Errorf("%s: got %q, %q, exit %d; want %s", command, out, errOut, code, w)
			}
		}
		if root, _, _ := inProcess(t, nil, "--help"); !strings.Contains(root, "\n  "+command+" ") {
			t.Errorf("parley --help does not name %s", command)
		}
	}
}
