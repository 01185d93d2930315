package firebase_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/firebase"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/supervise"
)

// functions is the directory of the module with the command that make emulator runs.
const functions = "../../../../functions"

// call makes a call with a key or a token, and decodes the data of the answer.
func call(ctx context.Context, url, key string, in, out any) error {
	method, body := http.MethodGet, []byte(nil)
	if in != nil {
		method = http.MethodPost
		body, _ = json.Marshal(in) // the tests' own maps
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct {
		Data  json.RawMessage
		Error struct{ Code, Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if res.StatusCode > 299 {
		return fmt.Errorf("%s: %s", res.Status, answer.Error.Message)
	}
	return json.Unmarshal(answer.Data, out)
}

// The Auth emulator, the Firestore emulator, the server, the functions and the stand-in for FCM, as make emulator runs
// them: a person signs in, registers a phone, is notified, and answers.
func TestMakeEmulatorAdmitsItsOwnAccountAlone(t *testing.T) {
	t.Parallel()
	e, dir, out := start(t), t.TempDir(), &supervise.Output{}
	binary := filepath.Join(dir, "emulator")
	build := exec.CommandContext(t.Context(), "go", "-C", functions, "build", "-o", binary, "./cmd/emulator")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	at, err := filepath.Abs(functions)
	hubtest.Must(t, err)
	whole, err := supervise.Server{Path: "/v1/health", Status: http.StatusOK, Output: out, Patience: 5 * time.Minute,
		Attempts: 1, Env: append(os.Environ(), firebase.Variable+"="+e.Addr),
		Args: func(addr string) []string {
			return []string{"sh", "-c", `cd "$0" && exec "$@"`, at, binary, "--addr", addr}
		}}.Start(t.Context())
	if err != nil && strings.Contains(out.String(), "no Firestore emulator") {
		emulator.Skip(t, err)
	}
	hubtest.Must(t, err)
	t.Cleanup(whole.Stop)
	patience, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// printed waits for a text of the command, and returns the matches of its groups.
	printed := func(pattern string) []string {
		t.Helper()
		for {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(out.String()); m != nil {
				return m[1:]
			}
			select {
			case <-patience.Done():
				t.Fatalf("it does not print %s:\n%s", pattern, out)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	account := printed(`sign-in on the page +(\S+), password (\S+)`)
	agent := printed(`agent's key +(\S+)`)[0]

	person := got[firebase.SignIn](t)(e.SignIn(t.Context(), account[0], account[1]))
	url := whole.URL() + "/v1"
	var nothing struct{}
	var asked struct{ QuestionID string }
	phone := map[string]any{"token": "my-phone", "platform": "android"}
	hubtest.Must(t, call(t.Context(), url+"/devices", person.Token, phone, &nothing))
	hubtest.Must(t, call(t.Context(), url+"/questions", agent, map[string]any{"question": "All of it?"}, &asked))
	printed(`push.* to=my-phone .*All of it\?`)
	path := url + "/questions/" + asked.QuestionID
	hubtest.Must(t, call(t.Context(), path+"/answer", person.Token, map[string]any{"response": "yes"}, &nothing))
	var answer struct{ Response string }
	hubtest.Must(t, call(t.Context(), path+"/response", agent, nil, &answer))
	if answer.Response != "yes" {
		t.Errorf("the agent reads %q, want the person's answer", answer.Response)
	}

	stranger := got[firebase.SignIn](t)(e.SignUp(t.Context(), "stranger@whole.example", password))
	hubtest.Must(t, e.Verify(t.Context(), stranger, "stranger@whole.example"))
	stranger = got[firebase.SignIn](t)(e.Refreshed(t.Context(), stranger))
	err = call(t.Context(), url+"/tasks", stranger.Token, nil, &nothing)
	if err == nil || !strings.Contains(err.Error(), "is not admitted") {
		t.Errorf("a stranger: got %v, want a refusal", err)
	}
}
