package cli_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/push/ntfy/ntfytest"
	"parley.internal/shared/push/webpush/webpushtest"
	"parley.internal/shared/signal"
)

// paired returns the key of a browser that is paired by a link for the console.
func (p *process) paired(data string) string {
	p.t.Helper()
	out, errOut, code := command(p.t, []string{"PARLEY_DATA=" + data}, "link", "--console")
	_, secret, ok := strings.Cut(strings.TrimSpace(out), "#link=")
	if !ok || code != 0 {
		p.t.Fatalf("link: %q, %q, exit %d", out, errOut, code)
	}
	var got struct{ Key string }
	domaintest.Check(p.t, p.call("", "POST", "/v1/links/redeem", map[string]string{"code": secret}).Into(&got))
	return got.Key
}

// asks asks a question that demands a device, and returns its id.
func (p *process) asks(key string) string {
	p.t.Helper()
	return domaintest.Must(p.as(key).AskQuestion(p.t.Context(), signal.AskInput{Question: "Ship it?",
		Options: []string{"yes", "no"}, Assurance: identity.Device}))(p.t).QuestionID
}

// answered waits until a question has its answer.
func (p *process) answered(key, id, want string) {
	p.t.Helper()
	got := domaintest.Must(p.as(key).GetResponse(p.t.Context(), signal.ResponseInput{QuestionID: id, WaitMs: 30_000}))(p.t)
	if got.Response != want || got.AnsweredWith != identity.Device {
		p.t.Errorf("%+v, want %s", got, want)
	}
}

func TestABrowserIsRungAndItsNotificationAnswers(t *testing.T) {
	t.Parallel()
	data, browser := t.TempDir(), webpushtest.New(t)
	p := serve(t, nil, local(data)...)
	agent, person := keysEnv(t, data)["PARLEY_KEY"], p.paired(data)
	publicKey := func() string {
		t.Helper()
		var settings signal.SettingsView
		domaintest.Check(t, p.call(person, "GET", "/v1/settings/notifications", nil).Into(&settings))
		return settings.VAPIDPublicKey
	}
	public := publicKey()
	sub := browser.Subscribe()
	device := map[string]any{"platform": "webpush", "name": "laptop", "subscription": map[string]any{
		"endpoint": sub.Endpoint, "keys": map[string]any{"p256dh": sub.P256dh, "auth": sub.Auth}}}
	if a := p.call(person, "POST", "/v1/devices", device); a.Status != 201 || strings.Contains(a.String(), sub.Auth) {
		t.Fatal(a)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d:\n%s", code, p.err)
	}
	p = serve(t, nil, local(data)...)
	if again := publicKey(); public == "" || again != public {
		t.Errorf("the key %q became %q", public, again)
	}
	id := p.asks(agent)
	var rung []webpushtest.Message
	domaintest.Eventually(t, "a push", func() bool { rung = append(rung, browser.Messages()...); return len(rung) > 0 })
	var text struct{ Parley struct{ Answer string } }
	domaintest.Check(t, json.Unmarshal(rung[0].Text, &text))
	if rung[0].Key != public || text.Parley.Answer == "" {
		t.Fatalf("signed by %s: %s", rung[0].Key, rung[0].Text)
	}
	for _, c := range []struct {
		token  string
		status int
	}{{"", 400}, {"nonsense", 401}, {text.Parley.Answer, 200}, {text.Parley.Answer, 409}} {
		if a := p.call("", "POST", "/v1/answers", map[string]any{"token": c.token, "option": 1}); a.Status != c.status {
			t.Errorf("%q is answered %s", c.token, a)
		}
	}
	p.answered(agent, id, "yes")
	if log := p.err.String(); strings.Contains(log, sub.Endpoint) || strings.Contains(log, text.Parley.Answer) {
		t.Error("the log has a secret")
	}
}

func TestATopicIsAnsweredFromTheTrain(t *testing.T) {
	t.Parallel()
	data, topics := t.TempDir(), ntfytest.New(t)
	p := serve(t, nil, local(data)...)
	agent, person := keysEnv(t, data)["PARLEY_KEY"], p.paired(data)
	device := map[string]any{"platform": "ntfy", "name": "train", "url": topics.URL + "/bell",
		"reply": topics.URL + "/answers"}
	if a := p.call(person, "POST", "/v1/devices", device); a.Status != 201 {
		t.Fatal(a)
	}
	id := p.asks(agent)
	domaintest.Eventually(t, "a push", func() bool { return len(topics.Messages("bell")) > 0 })
	for _, b := range topics.Messages("bell")[0].Actions {
		if b.Label == "no" {
			b.Press(t)
		}
	}
	p.answered(agent, id, "no")
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d:\n%s", code, p.err)
	}
}

func TestAWrongVAPIDKeyIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{"PARLEY_VAPID_KEY=x": "PARLEY_VAPID_KEY",
		"PARLEY_PUSH_CONTACT=me": "--push-contact"} {
		_, errOut, code := command(t, []string{env}, append([]string{"serve"}, local(t.TempDir())...)...)
		if code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, %q", env, code, errOut)
		}
	}
}
