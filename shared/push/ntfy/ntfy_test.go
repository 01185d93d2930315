package ntfy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/push/ntfy"
	"parley.internal/shared/push/ntfy/ntfytest"
	"parley.internal/shared/push/outbound"
)

func courier() *ntfy.Courier { return &ntfy.Courier{Client: outbound.Client(true), Now: time.Now} }

func question() push.Notice {
	return push.Notice{ID: "id", Channel: push.Questions, Type: "question", TaskID: "q1", Priority: push.High,
		Title: "alpha needs your answer", Body: "Ship it? 🚀", URL: "https://parley.example/q/q1",
		AnswerURL: "https://parley.example/v1/answers", Options: []string{"yes", "no"}, Key: "collapse"}
}

// deliver sends a notice to the topic bell of the server, and returns the message that arrived.
func deliver(t *testing.T, s *ntfytest.Server, n push.Notice, target push.Target) (push.Outcome, ntfytest.Message) {
	t.Helper()
	target.Platform, target.URL = push.Ntfy, s.URL+"/bell"
	out := courier().Deliver(t.Context(), n, target)
	list := s.Messages("bell")
	if len(list) == 0 {
		return out, ntfytest.Message{}
	}
	return out, list[len(list)-1]
}

func TestATopicGetsTheNoticeWithItsButtons(t *testing.T) {
	t.Parallel()
	s := ntfytest.New(t)
	s.Protect("bell", "tk_secret")
	out, m := deliver(t, s, question(), push.Target{Answer: "T",
		Address: push.Address{Token: "tk_secret", Reply: s.URL + "/answers"}})
	if out.Result != push.Sent || m.Title != "alpha needs your answer" || m.Message != "Ship it? 🚀" || m.Priority != 5 ||
		m.SequenceID != "collapse" || m.Click != "https://parley.example/q/q1" || len(m.Actions) != 3 {
		t.Fatalf("%+v, %+v", out, m)
	}
	for i, want := range []ntfytest.Action{
		{Action: "http", Label: "yes", URL: s.URL + "/answers", Method: "POST", Body: `{"token":"T","option":1}`},
		{Action: "http", Label: "no", URL: s.URL + "/answers", Method: "POST", Body: `{"token":"T","option":2}`},
		{Action: "view", Label: "Open", URL: "https://parley.example/q/q1"},
	} {
		got := m.Actions[i]
		if got.Action != want.Action || got.Label != want.Label || got.URL != want.URL || got.Method != want.Method ||
			got.Body != want.Body || len(got.Headers) != 0 {
			t.Errorf("button %d is %+v", i, got)
		}
	}
}

func TestButtonsFitTheQuestionAndTheServer(t *testing.T) {
	t.Parallel()
	s := ntfytest.New(t)
	long := question()
	long.Options = []string{strings.Repeat("😀", 90)}
	three, four, alert, noPage := question(), question(), question(), question()
	three.Options, four.Options, alert.Options = []string{"1", "2", "3"}, []string{"1", "2", "3", "4"}, nil
	noPage.AnswerURL, noPage.URL = "", ""
	for name, c := range map[string]struct {
		n      push.Notice
		target push.Target
		want   string
	}{
		"at the hub's own address":       {question(), push.Target{Answer: "T"}, "yes no Open"},
		"three options":                  {three, push.Target{Answer: "T"}, "1 2 3"},
		"more options than buttons":      {four, push.Target{Answer: "T"}, "Open"},
		"an alert":                       {alert, push.Target{}, "Open"},
		"a question without a token":     {question(), push.Target{}, "Open"},
		"nowhere to answer, nor to open": {noPage, push.Target{Answer: "T"}, ""},
		"a long option":                  {long, push.Target{Answer: "T"}, strings.Repeat("😀", 29) + "… Open"},
		"a private device":               {question(), push.Target{Answer: "T", Address: push.Address{Private: true}}, ""},
	} {
		out, m := deliver(t, s, c.n, c.target)
		var labels []string
		for _, a := range m.Actions {
			labels = append(labels, a.Label)
		}
		if got := strings.Join(labels, " "); out.Result != push.Sent || got != c.want {
			t.Errorf("%s: %q, %+v", name, got, out)
		}
		if c.target.Private && (strings.Contains(m.Message, "Ship") || m.Title == "") {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestTheStatusDecidesWhetherATopicIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := ntfytest.New(t)
	for status, want := range map[int]push.Result{410: push.Dead, 404: push.Refused, 401: push.Refused, 403: push.Refused,
		429: push.Failed, 500: push.Failed, 507: push.Failed} {
		s.Refuse(ntfytest.Status{Code: status, After: "50"})
		out, _ := deliver(t, s, question(), push.Target{})
		if out.Result != want || (want == push.Failed) != (out.Wait == 50*time.Second) ||
			strings.Contains(out.Reason, "bell") {
			t.Errorf("%d: %+v", status, out)
		}
	}
}

func TestAMessageThatIsTooLargeIsSentAgainWithoutButtons(t *testing.T) {
	t.Parallel()
	s := ntfytest.New(t)
	s.Refuse(ntfytest.Status{Code: 413})
	out, m := deliver(t, s, question(), push.Target{Answer: "T"})
	if out.Result != push.Sent || len(m.Actions) != 0 || m.Message != "Ship it? 🚀" || m.Click == "" {
		t.Errorf("%+v, %+v", out, m)
	}
}

func TestATopicIsFollowedFromAMessageOn(t *testing.T) {
	t.Parallel()
	s := ntfytest.New(t)
	s.Protect("answers", "tk")
	for _, text := range []string{"one", "two", "three"} {
		s.Publish("answers", text)
	}
	target := push.Target{Address: push.Address{Reply: s.URL + "/answers", Token: "tk"}}
	enough := errors.New("enough")
	follow := func(since string, n int) (got []string) {
		err := courier().Listen(t.Context(), target, since, func(r ntfy.Reply) error {
			if got = append(got, r.ID+" "+r.Text); len(got) == n {
				return enough
			}
			if len(got) == 3 {
				s.Publish("answers", "four")
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		return got
	}
	if got := strings.Join(follow("", 4), ", "); got != "m1 one, m2 two, m3 three, m4 four" {
		t.Errorf("all: %s", got)
	}
	if got := strings.Join(follow("m2", 2), ", "); got != "m3 three, m4 four" {
		t.Errorf("after the second: %s", got)
	}
}

func TestFollowingEndsWithAReasonAndNoAddress(t *testing.T) {
	t.Parallel()
	s := ntfytest.New(t)
	s.Protect("answers", "tk")
	never := func(ntfy.Reply) error { return nil }
	target := push.Target{Address: push.Address{Reply: s.URL + "/answers"}}
	if err := courier().Listen(t.Context(), target, "", never); err == nil || !strings.Contains(err.Error(), "status 403") {
		t.Errorf("without its token: %v", err)
	}
	target.Token = "tk"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := courier().Listen(ctx, target, "", never); err == nil || strings.Contains(err.Error(), "answers") {
		t.Errorf("after its end: %v", err)
	}
	public := &ntfy.Courier{Client: outbound.Client(false), Now: time.Now}
	if err := public.Listen(t.Context(), target, "", never); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("from the cloud: %v", err)
	}
}

func TestATopicMustBeOne(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{"https://ntfy.example/a-b_1": true, "https://example.org/ntfy/x": true,
		"https://ntfy.example": false, "https://ntfy.example/": false, "https://ntfy.example/a.b": false,
		"https://ntfy.example/a?b": false, "https://ntfy.example/" + strings.Repeat("x", 65): false} {
		if err := ntfy.CheckTopic(url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if !ntfy.SameServer("https://a.example/x/t", "https://a.example/x/u") ||
		ntfy.SameServer("https://a.example/t", "https://b.example/t") ||
		ntfy.SameServer("https://a.example/t", "http://a.example/t") {
		t.Error("servers are confused")
	}
}
