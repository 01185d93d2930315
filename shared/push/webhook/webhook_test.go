package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/push/outbound"
)

// The example of the standard's libraries.
func TestTheSignatureIsThatOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	err := sign(r, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
		time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got := r.Header.Get("Webhook-Signature"); err != nil || got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%s, %v", got, err)
	}
}

var t0 = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// received is a call that arrived.
type received struct {
	header http.Header
	body   string
}

// deliver sends a notice to a webhook that answers with a status, and returns the outcome and the call.
func deliver(t *testing.T, status int, a push.Address) (out push.Outcome, got received) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = received{r.Header, string(body)}
		w.Header().Set("Retry-After", "40")
		w.WriteHeader(status)
	}))
	defer server.Close()
	a.Platform, a.URL = push.Webhook, server.URL+"/hook"
	c := &Courier{Client: outbound.Client(true), Now: func() time.Time { return t0 }}
	out = c.Deliver(t.Context(), push.Notice{ID: "the-id", Channel: push.Questions, Type: "question", TaskID: "q1",
		Title: "alpha needs your answer", Body: "Ship it?", Options: []string{"yes", "no"}, Priority: push.High,
		URL: "https://parley.example/q/q1", Key: "collapse"}, push.Target{Address: a, Answer: "the-token"})
	return out, got
}

func TestAReceiverCanVerifyTheCall(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 32)
	out, got := deliver(t, 204, push.Address{Secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))})
	if out.Result != push.Sent {
		t.Fatalf("%+v", out)
	}
	want := `{"type":"push.notice","timestamp":"2026-03-04T05:06:07Z","data":{"channel":"questions",` +
		`"title":"alpha needs your answer","body":"Ship it?","about":"question","taskId":"q1","priority":"high",` +
		`"url":"https://parley.example/q/q1","options":["yes","no"],"key":"collapse"}}`
	if got.body != want {
		t.Errorf("got %s", got.body)
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("the-id.1772600767." + got.body))
	for name, want := range map[string]string{"Webhook-Id": "the-id", "Webhook-Timestamp": "1772600767",
		"Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), "Content-Type": "application/json"} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
}

func TestAPrivateWebhookGetsTheTitleAndThePageOnly(t *testing.T) {
	t.Parallel()
	out, got := deliver(t, 200, push.Address{Private: true})
	if out.Result != push.Sent || strings.Contains(got.body, "Ship") || strings.Contains(got.body, "yes") ||
		got.header.Get("Webhook-Signature") != "" {
		t.Errorf("%+v: %s", out, got.body)
	}
}

func TestAWebhookIsDeadOnlyIfItSaysSo(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]push.Result{200: push.Sent, 410: push.Dead, 404: push.Refused, 413: push.Refused,
		401: push.Refused, 307: push.Refused, 429: push.Failed, 502: push.Failed} {
		out, _ := deliver(t, status, push.Address{})
		if out.Result != want || (want == push.Failed) != (out.Wait == 40*time.Second) {
			t.Errorf("%d: %+v", status, out)
		}
	}
}

func TestASecretMustBeOneOfTheStandard(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n))) }
	for secret, ok := range map[string]bool{"whsec_" + long(24): true, long(64): true, "whsec_" + long(23): false,
		long(65): false, "whsec_": false, "whsec_?": false} {
		if err := CheckSecret(secret); (err == nil) != ok {
			t.Errorf("%q: %v", secret, err)
		}
	}
}
