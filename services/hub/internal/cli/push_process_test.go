package cli_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/push/fcm/fcmtest"
	"parley.internal/shared/signal"
)

// ask asks a question as an agent and returns its id.
func (p *process) ask(key, question string) string {
	p.t.Helper()
	made, err := p.as(key).AskQuestion(p.t.Context(), signal.AskInput{Question: question})
	if err != nil {
		p.t.Fatal(err)
	}
	return made.QuestionID
}

// about returns the push messages that contain the text.
func about(all []fcmtest.Message, text string) (n int) {
	for _, m := range all {
		if strings.Contains(m.Body, text) {
			n++
		}
	}
	return n
}

// waitAbout waits for a push message that contains the text.
func waitAbout(t *testing.T, fcm *fcmtest.Server, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for n := 1; ; n++ {
		all, err := fcm.Wait(ctx, n)
		if err != nil {
			t.Fatalf("no push message contains %q: %v", text, err)
		}
		if about(all, text) > 0 {
			return
		}
		n = len(all)
	}
}

// Two push messages are due when the server is killed: one was sent without an answer, and the other is committed and
// not yet sent. Both arrive after the restart.
func TestPushMessagesDueAtAKillArriveAfterTheRestart(t *testing.T) {
	t.Parallel()
	data, fcm := t.TempDir(), fcmtest.New(t)
	env := []string{"PARLEY_FCM_ENDPOINT=" + fcm.Endpoint()}
	p := serve(t, env, local(data)...)
	vars := keysEnv(t, data)
	if a := p.call(vars["PARLEY_HUMAN_KEY"], "POST", "/v1/devices",
		map[string]any{"token": "my-phone", "platform": "android"}); a.Status != 201 {
		t.Fatal(a)
	}
	release := fcm.Hold()
	p.ask(vars["PARLEY_KEY"], "first?")
	waitAbout(t, fcm, "first?") // and is not answered
	second := p.ask(vars["PARLEY_KEY"], "second?")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait()
	before := fcm.Messages()
	if about(before, "second?") != 0 {
		t.Fatal("the second message was sent before the kill: the test proves nothing")
	}
	release()
	p = serve(t, env, local(data)...)
	waitAbout(t, fcm, "second?")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := fcm.Wait(ctx, len(before)+2)
	if err != nil {
		t.Fatal(err)
	}
	var keys []any
	for _, m := range all {
		if strings.Contains(m.Body, "second?") &&
			(m.Token != "my-phone" || m.Data["taskId"] != second || m.Data["url"] != p.URL+"/q/"+second ||
				m.Title != "alpha needs your answer") {
			t.Errorf("it says %+v", m)
		}
		if strings.Contains(m.Body, "first?") {
			keys = append(keys, m.Android["collapse_key"])
		}
	}
	if len(keys) != 2 || keys[0] != keys[1] || keys[0] == nil || about(all, "second?") != 1 {
		t.Errorf("the first came with the keys %v, the second %d times", keys, about(all, "second?"))
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d:\n%s", code, p.err)
	}
	if log := p.err.String(); !strings.Contains(log, `"message":"push"`) || strings.Contains(log, "my-phone") {
		t.Errorf("the log says:\n%s", log)
	}
}

func TestWithoutAPushServiceMessagesGoToTheLog(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	id := p.ask(keysEnv(t, data)["PARLEY_KEY"], "Ship it?")
	p.untilLogged(`"title":"alpha needs your answer","body":"Ship it?","url":"` + p.URL + "/q/" + id + `"`)
}

// untilLogged waits until the process has logged the text.
func (p *process) untilLogged(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for !strings.Contains(p.err.String(), text) {
		select {
		case <-p.err.more:
		case <-p.ended:
			p.t.Fatalf("the process ended and has not logged %s:\n%s", text, p.err)
		case <-ctx.Done():
			p.t.Fatalf("not logged: %s\n%s", text, p.err)
		}
	}
}

func TestALinkSignsABrowserInOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	id := p.ask(keysEnv(t, data)["PARLEY_KEY"], "Ship it?")
	out, errOut, code := command(t, []string{"PARLEY_DATA=" + data}, "link", id)
	page, secret, ok := strings.Cut(strings.TrimSpace(out), "#link=")
	if !ok || page != p.URL+"/q/"+id || !strings.Contains(errOut, "is paired as your device") || code != 0 {
		t.Fatalf("link: %q, %q, exit %d", out, errOut, code)
	}
	redeem := func() (key string, status int) {
		t.Helper()
		a := p.call("", "POST", "/v1/links/redeem", map[string]string{"code": secret})
		var got struct{ Key string }
		if a.Status == 200 {
			if err := a.Into(&got); err != nil {
				t.Fatal(err)
			}
		}
		return got.Key, a.Status
	}
	key, status := redeem()
	if status != 200 {
		t.Fatalf("the link is answered %d", status)
	}
	if _, again := redeem(); again != 401 {
		t.Errorf("the link is answered %d a second time", again)
	}
	for _, path := range []string{"/v1/keys", "/v1/tasks", "/v1/messages", "/v1/sessions", "/v1/teams/core"} {
		if a := p.call(key, "GET", path, nil); a.Status != 403 {
			t.Errorf("its key reaches %s: %s", path, a)
		}
	}
	for _, path := range []string{"/v1/questions", "/v1/tasks/" + id, "/v1/questions/" + id + "/response", "/v1/me"} {
		if a := p.call(key, "GET", path, nil); a.Status != 200 {
			t.Errorf("its key does not reach %s: %s", path, a)
		}
	}
	if a := p.call(key, "POST", "/v1/questions/"+id+"/answer", map[string]string{"response": "yes"}); a.Status != 200 {
		t.Errorf("its key answers: %s", a)
	}
	res, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if csp := res.Header.Get("Content-Security-Policy"); res.StatusCode != 200 ||
		!strings.HasPrefix(csp, "default-src 'none'") || len(res.Header["Set-Cookie"]) != 0 {
		t.Errorf("the page is answered %d with %v", res.StatusCode, res.Header)
	}
	if log := p.err.String(); strings.Contains(log, secret) || strings.Contains(log, key) {
		t.Error("the log has a secret")
	}
}

func TestALinkToTheConsoleGivesAKeyThatMakesNoKeys(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	out, errOut, code := command(t, []string{"PARLEY_DATA=" + data}, "link", "--console")
	page, secret, ok := strings.Cut(strings.TrimSpace(out), "#link=")
	if !ok || page != p.URL+"/q" || !strings.Contains(errOut, "is paired as your device") || code != 0 {
		t.Fatalf("link: %q, %q, exit %d", out, errOut, code)
	}
	var got struct{ Key string }
	if err := p.call("", "POST", "/v1/links/redeem", map[string]string{"code": secret}).Into(&got); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/keys", "/v1/tasks", "/v1/questions"} {
		if a := p.call(got.Key, "GET", path, nil); a.Status != 200 {
			t.Errorf("its key does not reach %s: %s", path, a)
		}
	}
	for _, body := range []map[string]any{{}, {"kind": "human"}, {"scopes": []string{"read"}}} {
		if a := p.call(got.Key, "POST", "/v1/keys", body); a.Status != 403 {
			t.Errorf("its key makes the key %v: %s", body, a)
		}
	}
}

func TestARefusedLinkHasAReason(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if _, errOut, code := command(t, []string{"PARLEY_DATA=" + data}, "key", "create", "--user", "u"); code != 0 {
		t.Fatalf("there is no store: %s", errOut)
	}
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"link"}, "give --url"},
		{[]string{"link", "--url", "127.0.0.1"}, "http://host:port"},
		{[]string{"link", "--url", "http://127.0.0.1:1", "a/b"}, "is not the id of a question"},
		{[]string{"link", "--url", "http://127.0.0.1:1", "--user", "no user"}, "user: must be"},
		{[]string{"link", "a", "b"}, "at most 1 arg"},
	} {
		if out, errOut, code := command(t, []string{"PARLEY_DATA=" + data}, c.args...); code == 0 || out != "" ||
			!strings.Contains(errOut, c.words) {
			t.Errorf("%v: %q, %q, exit %d", c.args, out, errOut, code)
		}
	}
	out, _, code := command(t, []string{"PARLEY_DATA=" + data, "PARLEY_PUBLIC_URL=https://parley.example/"}, "link")
	if code != 0 || !strings.HasPrefix(out, "https://parley.example/q#link=link_") {
		t.Errorf("of a public server: %q, exit %d", out, code)
	}
}

// idToken returns an ID token in the form of the Auth emulator.
func idToken(t *testing.T, project, user string) string {
	t.Helper()
	now := time.Now().Unix()
	claims, err := json.Marshal(
		map[string]any{"iss": "https://securetoken.google.com/" + project, "aud": project, "sub": user, "user_id": user,
			"auth_time": now - 60, "iat": now - 60, "exp": now + 3600, "firebase": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(claims) + "."
}

// A server with Firebase sign-ins accepts the keys of agents as well.
func TestAPersonSignsInWithFirebase(t *testing.T) {
	t.Parallel()
	who := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"users":[{"localId":"ann","validSince":"1"}]}`))
	}))
	defer who.Close()
	env := append(cloud(t), "FIREBASE_AUTH_EMULATOR_HOST="+strings.TrimPrefix(who.URL, "http://"))
	project := ""
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "GOOGLE_CLOUD_PROJECT="); ok {
			project = p
		}
	}
	p := serve(t, append(env, "PARLEY_SIGN_IN_ALLOW=ann"), "--addr", "127.0.0.1:0")
	out, errOut, code := command(t, env, "key", "create", "--user", "ann", "--program", "alpha")
	if code != 0 {
		t.Fatal(errOut)
	}
	id := p.ask(strings.TrimSpace(out), "Ship it?")
	mine, theirs := idToken(t, project, "ann"), idToken(t, "another-project", "ann")
	if a := p.call(theirs, "GET", "/v1/questions", nil); a.Status != 401 {
		t.Errorf("another project's sign-in: %s", a)
	}
	if a := p.call(idToken(t, project, "ben"), "GET", "/v1/questions", nil); a.Status != 403 {
		t.Errorf("a sign-in of a person who is not on the list: %s", a)
	}
	if a := p.call(mine, "POST", "/v1/questions/"+id+"/answer", map[string]string{"response": "yes"}); a.Status != 200 {
		t.Errorf("a sign-in: %s", a)
	}
	if a := p.call(mine, "POST", "/v1/devices", map[string]string{"token": "t", "platform": "web"}); a.Status != 201 {
		t.Errorf("a device of hers: %s", a)
	}
	if page := p.call("", "GET", "/q/"+id, nil); !strings.Contains(string(page.Body), who.URL) {
		t.Errorf("the page does not sign in at the emulator: %s", page.Body)
	}
	if code := p.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d", code)
	}
}
