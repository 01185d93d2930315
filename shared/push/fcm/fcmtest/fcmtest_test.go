package fcmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/push/fcm/fcmtest"
)

// post sends one message and returns the answer's status and body.
func post(t *testing.T, endpoint, body string) (int, string) {
	t.Helper()
	status, text, err := try(t.Context(), endpoint, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, text
}

func try(ctx context.Context, endpoint, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/projects/p/messages:send",
		strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestAMessageIsRecordedAsItWasSent(t *testing.T) {
	t.Parallel()
	s := fcmtest.New(t)
	status, body := post(t, s.Endpoint(), `{"message":{"token":"a","notification":{"title":"T","body":"B"},"data":{"k":"v"},
		"android":{"ttl":"3s"},"apns":{"headers":{"x":"y"}},"webpush":{"headers":{"TTL":"1"}}}}`)
	if status != 200 || !strings.HasPrefix(body, `{"name":"projects/p/messages/`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := post(t, s.Endpoint(), `{"validate_only":true,"message":{"token":"dry"}}`); status != 200 {
		t.Errorf("the dry run: %d", status)
	}
	all := s.Messages()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	m := all[0]
	if m.Project != "p" || m.Token != "a" || m.Title != "T" || m.Body != "B" || m.Data["k"] != "v" ||
		m.Android["ttl"] != "3s" ||
		m.APNS["headers"] == nil || m.Webpush["headers"] == nil || m.ValidateOnly {
		t.Errorf("%+v", m)
	}
}

func TestMessagesThatFCMRefusesAreRefused(t *testing.T) {
	t.Parallel()
	s := fcmtest.New(t)
	big, edge := strings.Repeat("b", 4096), strings.Repeat("b", 3900)
	for name, c := range map[string]struct{ body, says string }{
		"no JSON":                     {`{`, `"field":"message"`},
		"no token":                    {`{"message":{}}`, `"field":"message.token"`},
		"data that is no text":        {`{"message":{"token":"a","data":{"k":1}}}`, `INVALID_ARGUMENT`},
		"data under a key of its own": {`{"message":{"token":"a","data":{"google.k":"v"}}}`, `"field":"message.data"`},
		"Android data that is none": {`{"message":{"token":"a","android":{"data":{"k":[]}}}}`,
			`"field":"message.android.data"`},
		"a time that is over": {`{"message":{"token":"a","android":{"ttl":"-3s"}}}`,
			`"field":"message.android.ttl"`},
		"a link that is not https": {`{"message":{"token":"a","webpush":{"fcm_options":{"link":"http://a/"}}}}`,
			`"field":"message.webpush.fcm_options.link"`},
		"too much for a phone": {`{"message":{"token":"a","android":{"data":{"k":"` + big + `"}}}}`,
			"android message is too big"},
		"too much for Apple": {`{"message":{"token":"a","apns":{"payload":{"aps":{"k":"` + big + `"}}}}}`,
			"apns message is too big"},
		"too much for a browser": {`{"message":{"token":"a","webpush":{"notification":{"k":"` + big + `"}}}}`,
			"webpush message is too big"},
		"too much for them all": {`{"message":{"token":"a","data":{"k":"` + big + `"}}}`,
			"android message is too big"},
		"too much together": {`{"message":{"token":"a","notification":{"title":"` + edge +
			`"},"data":{"k":"` + edge + `"}}}`, "message is too big"},
		"too long to be read": {`{"message":{"token":"` + strings.Repeat("b", 2<<20) + `"}}`, "too large"},
	} {
		if status, body := post(t, s.Endpoint(), c.body); status != 400 || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, body := post(t, s.Endpoint(), `{"message":{"token":"a","data":{"k":"`+edge+`"}}}`); status != 200 {
		t.Errorf("a message within the limit: %d %s", status, body)
	}
}

func TestAConfiguredAnswerLastsUntilItIsReplaced(t *testing.T) {
	t.Parallel()
	s := fcmtest.New(t)
	s.Answer("gone", 404, "UNREGISTERED")
	s.Answer("", 503, "")
	for _, c := range []struct {
		token, says string
		status      int
	}{{"gone", `"errorCode":"UNREGISTERED"`, 404}, {"other", `"details":[]`, 503}} {
		if status, body := post(t, s.Endpoint(), `{"message":{"token":"`+c.token+`"}}`); status != c.status ||
			!strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.token, status, body)
		}
	}
	s.Answer("gone", 200, "")
	if status, body := post(t, s.Endpoint(), `{"message":{"token":"gone"}}`); status != 200 {
		t.Errorf("taken again: %d %s", status, body)
	}
	if n := len(s.Messages()); n != 3 {
		t.Errorf("%d messages", n)
	}
}

func TestWaitingEndsWithTheMessagesOrTheContext(t *testing.T) {
	t.Parallel()
	s := fcmtest.New(t)
	got := make(chan int)
	go func() {
		all, err := s.Wait(t.Context(), 2)
		if err != nil {
			t.Error(err)
		}
		got <- len(all)
	}()
	post(t, s.Endpoint(), `{"message":{"token":"a"}}`)
	post(t, s.Endpoint(), `{"message":{"token":"b"}}`)
	if n := <-got; n != 2 {
		t.Errorf("%d messages", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := s.Wait(ctx, 3); !errors.Is(err, context.Canceled) || len(all) != 2 ||
		!strings.Contains(err.Error(), "2 of 3") {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAHeldAnswerComesWhenItIsReleased(t *testing.T) {
	t.Parallel()
	s := fcmtest.New(t)
	release := s.Hold("a")
	type answer struct {
		status int
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		status, _, err := try(t.Context(), s.Endpoint(), `{"message":{"token":"a"}}`)
		answers <- answer{status, err}
	}()
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, s.Endpoint(), `{"message":{"token":"b"}}`); status != 200 {
		t.Errorf("another token: %d", status)
	}
	select {
	case a := <-answers:
		t.Errorf("answered while held: %+v", a)
	default:
	}
	s.Answer("a", 404, "UNREGISTERED")
	release()
	release()
	if a := <-answers; a.err != nil || a.status != 404 {
		t.Errorf("%+v", a)
	}
	if status, _ := post(t, s.Endpoint(), `{"message":{"token":"a"}}`); status != 404 {
		t.Errorf("after the release: %d", status)
	}
}

func TestTheEndOfTheTestReleasesHeldAnswers(t *testing.T) {
	t.Parallel()
	var over []func()
	s := fcmtest.New(lender{&over})
	s.Hold()
	answered := make(chan error, 1)
	go func() {
		_, _, err := try(t.Context(), s.Endpoint(), `{"message":{"token":"a"}}`)
		answered <- err
	}()
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, f := range over {
		f()
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// lender is a TB whose test ends when its functions are called.
type lender struct{ over *[]func() }

func (l lender) Cleanup(f func()) { *l.over = append(*l.over, f) }

func TestTheHandlerWorksWithoutATest(t *testing.T) {
	t.Parallel()
	var seen []string
	web := httptest.NewServer(&fcmtest.Handler{OnMessage: func(m fcmtest.Message) { seen = append(seen, m.Token) }})
	t.Cleanup(web.Close)
	post(t, web.URL+"/v1", `{"message":{"token":"a"}}`)
	post(t, web.URL+"/v1", `{"validate_only":true,"message":{"token":"dry"}}`)
	post(t, web.URL+"/v1", `{"message":{"token":"b"}}`)
	if strings.Join(seen, " ") != "a b" {
		t.Errorf("seen %v", seen)
	}
	for _, c := range []struct{ method, path string }{{"GET", "/v1/projects/p/messages:send"},
		{"POST", "/v1/projects/p/messages"},
		{"POST", "/v1/projects//messages:send"}, {"POST", "/v1/projects/a/b/messages:send"},
		{"POST", "/projects/p/messages:send"}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, web.URL+c.path,
			bytes.NewReader([]byte(`{"message":{"token":"x"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != 404 ||
			body["error"] == nil {
			t.Errorf("%s %s: %d %v %v", c.method, c.path, resp.StatusCode, body, err)
		}
		resp.Body.Close()
	}
	if len(seen) != 2 {
		t.Errorf("seen %v", seen)
	}
}

func TestOnMessageIsCalledOneMessageAtATime(t *testing.T) {
	t.Parallel()
	n := 0 // the race detector watches it
	web := httptest.NewServer(&fcmtest.Handler{OnMessage: func(fcmtest.Message) { n++ }})
	t.Cleanup(web.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	for range 20 {
		go func() {
			_, _, err := try(ctx, web.URL+"/v1", `{"message":{"token":"a"}}`)
			done <- err
		}()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n != 20 {
		t.Errorf("%d messages", n)
	}
}
