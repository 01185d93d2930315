package push_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
)

var _ push.Sender = push.Log{}

func TestLogRecordsTheNoticeWithoutTokens(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sender := push.Log{To: slog.New(slog.NewJSONHandler(&out, nil))}
	n := push.Notice{Channel: push.Questions, Title: "alpha needs your answer", Body: "Ship it?",
		URL: "http://127.0.0.1:3001/q/1"}
	results, err := sender.Send(t.Context(), n, []string{"secret-1", "secret-2"})
	if err != nil || !slices.Equal(results, []push.Result{push.Sent, push.Sent}) {
		t.Fatalf("%v, %v", results, err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 1 {
		t.Errorf("%d lines: %s", lines, out.String())
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"msg": "push", "channel": "questions", "title": n.Title, "body": n.Body,
		"url": n.URL, "devices": 2.0} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("a token is in the log: %s", out.String())
	}
}

func TestLogReturnsAResultForEveryToken(t *testing.T) {
	t.Parallel()
	sender := push.Log{To: slog.New(slog.DiscardHandler)}
	for _, n := range []int{0, 1, push.MaxTokens} {
		results, err := sender.Send(t.Context(), push.Notice{}, make([]string, n))
		if err != nil || len(results) != n {
			t.Errorf("%d tokens: %d results, %v", n, len(results), err)
		}
	}
}

// next is a sender that records its last call.
type next struct {
	title  string
	tokens []string
}

func (n *next) Send(_ context.Context, notice push.Notice, tokens []string) ([]push.Result, error) {
	n.title, n.tokens = notice.Title, tokens
	return []push.Result{push.Dead, push.Failed}, fault.New(fault.Unavailable, "away")
}

func TestLogReturnsTheResultsOfTheNextSender(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	then := &next{}
	results, err := push.Log{To: slog.New(slog.NewJSONHandler(&out, nil)), Then: then}.Send(t.Context(),
		push.Notice{Title: "T"}, []string{"a", "b"})
	if !slices.Equal(results, []push.Result{push.Dead, push.Failed}) || !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v, %v", results, err)
	}
	if then.title != "T" || !slices.Equal(then.tokens, []string{"a", "b"}) ||
		!strings.Contains(out.String(), `"title":"T"`) {
		t.Errorf("%+v, %s", then, out.String())
	}
}
