package fcm_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/push/fcm/fcmtest"
)

var update = flag.Bool("update", false, "rewrite the golden messages")

// sent returns the message that the notice was sent as.
func sent(t *testing.T, n push.Notice) fcmtest.Message {
	t.Helper()
	server := fcmtest.New(t)
	results, err := sender(t, server.Endpoint()).Send(t.Context(), n, []string{"phone"})
	if err != nil || len(results) != 1 || results[0] != push.Sent {
		t.Fatalf("%v, %v", results, err)
	}
	return server.Messages()[0]
}

func TestANoticeIsTranslatedForEachPlatform(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]push.Notice{
		"question": question(),
		"alert": {Channel: push.Alerts, Title: "Build", Body: "green", Type: "alert", TaskID: "a1", Priority: push.Low,
			URL: "http://127.0.0.1:3001/q/a1",
			Key: "alert", TTL: 90*time.Minute + 300*time.Millisecond},
		"session-now-or-never": {Channel: push.Tasks, Title: "build is blocked", Type: "session", SessionID: "s1",
			Priority: push.High, Key: "s"},
		"dream-for-ever": {Channel: push.Dreams, Title: "Dream complete", Body: "b", Type: "dream", TaskID: "d1",
			Key: "d", TTL: 365 * 24 * time.Hour},
		"task-that-is-over": {Channel: push.Tasks, Title: "New task from beta", Body: "b", Type: "task",
			TaskID: "t9", Priority: push.Normal, TTL: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := sent(t, n)
			got, err := json.MarshalIndent(m, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got)+"\n" != string(want) {
				t.Errorf("the message is not %s; got\n%s", path, got)
			}
		})
	}
}

func TestALinkIsSentOnlyIfFCMAcceptsIt(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]any{
		"https://parley.example/q/1": "https://parley.example/q/1",
		"http://127.0.0.1:3001/q/1":  nil,
		"parley.example/q/1":         nil,
		"https://":                   nil,
		"https://exa mple/":          nil,
		"":                           nil,
	} {
		n := question()
		n.URL = url
		m := sent(t, n)
		options, _ := m.Webpush["fcm_options"].(map[string]any)
		if options["link"] != want {
			t.Errorf("%q: link %v, want %v", url, options["link"], want)
		}
		if m.Data["url"] != url {
			t.Errorf("%q: the data says %q", url, m.Data["url"])
		}
	}
}

func TestAnInvalidKeyIsRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	for _, key := range []string{strings.Repeat("k", 33), "a/b", "a+b", "a=", "ä", "a b"} {
		server := fcmtest.New(t)
		n := question()
		n.Key = key
		if _, err := sender(t, server.Endpoint()).Send(t.Context(), n, []string{"phone"}); !fault.Is(err,
			fault.Invalid) {
			t.Errorf("%q: %v", key, err)
		}
		if n := len(server.Messages()); n != 0 {
			t.Errorf("%q: %d messages went", key, n)
		}
	}
}

// room is the reserve for the fields that FCM adds, in bytes.
const room = 256

func fits(t *testing.T, m fcmtest.Message) {
	t.Helper()
	for platform, size := range m.Sizes() {
		if size > 4096-room {
			t.Errorf("%s gets %d bytes", platform, size)
		}
	}
}

func options(t *testing.T, m fcmtest.Message) []string {
	t.Helper()
	data, _ := m.Android["data"].(map[string]any)
	var list []string
	if err := json.Unmarshal([]byte(data["options"].(string)), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTheLongestAllowedNoticeIsSentUncut(t *testing.T) {
	t.Parallel()
	n := question()
	n.Title = strings.Repeat("x", 100) + " needs your answer"
	n.Body = strings.Repeat("😀", 100)
	n.URL = "https://parley.example/q/" + strings.Repeat("u", 175)
	n.TaskID, n.Key = strings.Repeat("i", 36), strings.Repeat("k", 32)
	n.Options = nil
	for range 5 {
		n.Options = append(n.Options, strings.Repeat("😀", 100))
	}
	m := sent(t, n)
	fits(t, m)
	if m.Title != n.Title || m.Body != n.Body || m.Data["url"] != n.URL ||
		strings.Join(options(t, m), "|") != strings.Join(n.Options, "|") {
		t.Errorf("something was cut: %+v", m)
	}
}

func TestALongNoticeIsShortenedOptionsFirst(t *testing.T) {
	t.Parallel()
	five := func(text string) []string { return []string{text, text, text, text, text} }
	for name, c := range map[string]struct {
		body, url   string
		options     []string
		option      int // characters left of each
		whole, page bool
	}{
		"options of characters that JSON spells out": {strings.Repeat("\x01", 100), "https://parley.example/q",
			five(strings.Repeat("\x01", 100)), 60, true, true},
		"options that Android alone spells out twice": {strings.Repeat("😀", 60), "https://parley.example/q",
			five(strings.Repeat("\x01", 100)), 60, true, true},
		"an address that a browser gets twice": {"Ship it?", "https://parley.example/q/" + strings.Repeat("u", 1900),
			five("yes"), 3, true, false},
		"options beyond their limit": {"Ship it?", "https://parley.example/q",
			five(strings.Repeat("😀", 400)), 100, true, true},
		"a body beyond its limit": {strings.Repeat("😀", 3000), "https://parley.example/q",
			five("yes"), 3, false, true},
		"a page whose address is beyond it": {strings.Repeat("b", 90),
			"https://parley.example/q/" + strings.Repeat("u", 5000), five("yes"), 3, true, false},
		"everything beyond it": {strings.Repeat("\x01", 9000), "https://parley.example/q/" + strings.Repeat("u", 5000),
			five(strings.Repeat("\x01", 9000)),
			20, false, false},
		"more options than a question has": {"Ship it?", "https://parley.example/q", make([]string, 5000), 0, true,
			true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := question()
			n.Body, n.URL, n.Options = c.body, c.url, c.options
			m := sent(t, n)
			fits(t, m)
			got := options(t, m)
			if len(got) != 5 {
				t.Fatalf("%d options are left", len(got))
			}
			for _, option := range got {
				if l := utf8.RuneCountInString(option); l != c.option {
					t.Errorf("an option has %d characters, want %d", l, c.option)
				}
			}
			if (m.Body == c.body) != c.whole || !utf8.ValidString(m.Body) || (m.Data["url"] == c.url) != c.page {
				t.Errorf("body %q, page %q", m.Body, m.Data["url"])
			}
		})
	}
}

func TestNoLengthExceedsTheLimit(t *testing.T) {
	t.Parallel()
	for n := 3200; n <= 3840; n += 20 {
		long := question()
		long.Options, long.Body = nil, strings.Repeat("b", n)
		fits(t, sent(t, long))
	}
}
