package webpush_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/push"
	"parley.internal/shared/push/outbound"
	"parley.internal/shared/push/webpush"
	"parley.internal/shared/push/webpush/webpushtest"
)

type fixture struct {
	*webpush.Courier
	*webpushtest.Server
	t      *testing.T
	target push.Target
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	keys, err := webpush.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, Server: webpushtest.New(t), Courier: &webpush.Courier{Client: outbound.Client(true), Keys: keys,
		Contact: "mailto:owner@example.org", Now: time.Now}}
	s := f.Subscribe()
	f.target = push.Target{Answer: "the-token",
		Address: push.Address{Platform: push.WebPush, URL: s.Endpoint, P256dh: s.P256dh, Auth: s.Auth}}
	return f
}

func question() push.Notice {
	return push.Notice{ID: "the-id", Channel: push.Questions, Type: "question", TaskID: "q1", Priority: push.High,
		Title: "alpha needs your answer", Body: "Ship it? 🚀", URL: "https://parley.example/q/q1",
		Options: []string{"yes", "no"}, Key: "collapse", TTL: time.Hour, Badge: new(3)}
}

// sent delivers a notice and returns the message that arrived, and its plain text as JSON.
func (f *fixture) sent(n push.Notice) (webpushtest.Message, map[string]any) {
	f.t.Helper()
	if out := f.Deliver(f.t.Context(), n, f.target); out.Result != push.Sent {
		f.t.Fatalf("%+v", out)
	}
	list := f.Messages()
	m := list[len(list)-1]
	var text map[string]any
	if err := json.Unmarshal(m.Text, &text); err != nil {
		f.t.Fatal(err)
	}
	return m, text
}

func TestABrowserDecryptsTheNoticeAndKnowsItsSender(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m, text := f.sent(question())
	for name, want := range map[string]string{"Ttl": "3600", "Urgency": "high", "Topic": "collapse",
		"Content-Type": "application/octet-stream"} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	exp, _ := m.Claims["exp"].(float64)
	until := time.Until(time.Unix(int64(exp), 0))
	if m.Key != f.Keys.Public || m.Claims["aud"] != f.URL || m.Claims["sub"] != "mailto:owner@example.org" ||
		until <= 0 || until > 24*time.Hour {
		t.Errorf("the sender is %s, %v", m.Key, m.Claims)
	}
	if strings.Contains(string(m.Text), "p256dh") || m.Size != 4096 {
		t.Errorf("%d bytes: %s", m.Size, m.Text)
	}
	want := `{"web_push":8030,"mutable":true,"notification":{"title":"alpha needs your answer","body":"Ship it? 🚀",` +
		`"navigate":"https://parley.example/q/q1","tag":"collapse","app_badge":3},"parley":{"id":"the-id",` +
		`"channel":"questions","type":"question","taskId":"q1","priority":"high","options":["yes","no"],` +
		`"answer":"the-token"}}`
	if string(m.Text) != want {
		t.Errorf("got %s", m.Text)
	}
	if keys := slices.Sorted(maps.Keys(text)); len(keys) != 4 {
		t.Errorf("members %v", keys)
	}
}

func TestAPrivateDeviceGetsTheTitleAndThePageOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.target.Private = true
	if m, _ := f.sent(question()); strings.Contains(string(m.Text), "Ship") || strings.Contains(string(m.Text), "yes") ||
		strings.Contains(string(m.Text), "the-token") || !strings.Contains(string(m.Text), "alpha needs your answer") {
		t.Errorf("got %s", m.Text)
	}
}

func TestANoticeWithoutAPageIsLeftToTheWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	n := question()
	n.URL, n.Priority, n.TTL = "", push.Low, 90*24*time.Hour
	m, text := f.sent(n)
	if text["web_push"] != nil || m.Header.Get("Urgency") != "normal" || m.Header.Get("TTL") != "2419200" {
		t.Errorf("%v, %v", text, m.Header)
	}
}

func TestTheStatusDecidesWhetherADeviceStays(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]push.Result{
		201: push.Sent, 404: push.Dead, 410: push.Dead, 429: push.Failed, 500: push.Failed, 503: push.Failed,
		400: push.Refused, 401: push.Refused, 403: push.Refused, 302: push.Refused,
	} {
		f := newFixture(t)
		f.Answer(f.target.URL, func(w http.ResponseWriter, _ int) int {
			w.Header().Set("Retry-After", "90")
			return status
		})
		out := f.Deliver(t.Context(), question(), f.target)
		if out.Result != want || (want == push.Failed) != (out.Wait == 90*time.Second) ||
			(want == push.Sent) != (out.Reason == "") || strings.Contains(out.Reason, f.target.URL) {
			t.Errorf("%d: %+v", status, out)
		}
		if n := len(f.Messages()); n != 1 {
			t.Errorf("%d: %d requests", status, n)
		}
	}
}

func TestABodyThatIsTooLargeIsShortenedAndSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	n := question()
	n.Body = strings.Repeat("b", 100)
	n.Options = slices.Repeat([]string{strings.Repeat("😀", 100)}, 5)
	f.Answer(f.target.URL, func(_ http.ResponseWriter, size int) int {
		if size > 1500 {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusCreated
	})
	m, text := f.sent(n)
	body, _ := text["notification"].(map[string]any)
	if m.Size > 1500 || body["title"] != n.Title {
		t.Errorf("%d bytes: %s", m.Size, m.Text)
	}
	f.Answer(f.target.URL, func(http.ResponseWriter, int) int { return http.StatusRequestEntityTooLarge })
	if out := f.Deliver(t.Context(), n, f.target); out.Result != push.Refused || len(f.Messages()) != 3 {
		t.Errorf("a service that takes nothing: %+v", out)
	}
}

func TestNoNoticeIsTooLong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.target.Answer = strings.Repeat("t", 500)
	for name, change := range map[string]func(*push.Notice){
		"options":  func(n *push.Notice) { n.Options = slices.Repeat([]string{strings.Repeat("\x01", 100)}, 5) },
		"the body": func(n *push.Notice) { n.Body = strings.Repeat("😀", 3000) },
		"the page": func(n *push.Notice) { n.URL = "https://parley.example/" + strings.Repeat("u", 5000) },
		"all of it": func(n *push.Notice) {
			n.Title, n.Body, n.Options = strings.Repeat("\x01", 900), strings.Repeat("\x01", 9000),
				slices.Repeat([]string{strings.Repeat("\x01", 900)}, 50)
		},
	} {
		n := question()
		change(&n)
		m, text := f.sent(n)
		options, _ := text["parley"].(map[string]any)["options"].([]any)
		if m.Size != 4096 || !utf8.Valid(m.Text) || options != nil && len(options) != len(n.Options) {
			t.Errorf("%s: %d bytes, %d options", name, m.Size, len(options))
		}
	}
}

func TestAKeyIsReadAgainAsItWasMade(t *testing.T) {
	t.Parallel()
	made, err := webpush.NewKeys()
	if err != nil || len(made.Private) != 43 || len(made.Public) != 87 {
		t.Fatalf("%d and %d characters, %v", len(made.Private), len(made.Public), err)
	}
	for _, text := range []string{made.Private, made.Private + "=", " " + made.Private + "\n"} {
		if read, err := webpush.ParseKeys(text); err != nil || read != made {
			t.Errorf("%v", err)
		}
	}
	for _, text := range []string{"", "x", made.Public, strings.Repeat("A", 43), made.Private[1:]} {
		if _, err := webpush.ParseKeys(text); err == nil || !strings.Contains(err.Error(), "base64url") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMalformedKeysOfASubscriptionAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ p256dh, auth, field string }{
		{f.target.P256dh, f.target.Auth, ""},
		{f.target.P256dh + "=", f.target.Auth + "==", ""},
		{"x", f.target.Auth, "p256dh"},
		{strings.Repeat("A", 87), f.target.Auth, "p256dh"},
		{f.target.P256dh, "AAAA", "auth"},
		{f.target.P256dh, "!", "auth"},
	} {
		if field, err := webpush.CheckSubscription(c.p256dh, c.auth); field != c.field || (err == nil) != (field == "") {
			t.Errorf("%+v: %s, %v", c, field, err)
		}
	}
}
