package releases

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const good = `{"version":"v1.3.0","date":"2026-11-20T10:00:00Z","notes":"https://example.org/notes","later":[1]}`

// serving returns the address of a server on this machine that gives one answer.
func serving(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.UserAgent() != "parley" || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("it asks by %s %s as %s", r.Method, r.URL, r.UserAgent())
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have read enough
	}))
	t.Cleanup(s.Close)
	return s.URL + "/latest.json"
}

func TestTheNewestReleaseIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	got, err := Newest(t.Context(), serving(t, 200, good))
	want := Release{"v1.3.0", time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), "https://example.org/notes"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsNoReleasesDocumentIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		body, want string
	}{
		"a page that is missing":     {404, good, "answers 404 Not Found: check the address"},
		"a page of HTML":             {200, "<html>", "is no releases document"},
		"nothing":                    {200, "", "is no releases document"},
		"two documents":              {200, good + good, "is no releases document"},
		"a list":                     {200, "[" + good + "]", "is no releases document"},
		"a half":                     {200, good[:20], "is no releases document"},
		"no version":                 {200, `{"date":"2026-11-20T10:00:00Z"}`, `its version is "", which is not like v1.2.3`},
		"two numbers":                {200, `{"version":"v1.3","date":"2026-11-20T10:00:00Z"}`, "not like v1.2.3"},
		"no v":                       {200, `{"version":"1.3.0","date":"2026-11-20T10:00:00Z"}`, "not like v1.2.3"},
		"a version with an escape":   {200, `{"version":"v1.3.0\u001b[2J","date":"2026-11-20T10:00:00Z"}`, "not like v1.2.3"},
		"no date":                    {200, `{"version":"v1.3.0"}`, "it has no date"},
		"a date in words":            {200, `{"version":"v1.3.0","date":"yesterday"}`, "is no releases document"},
		"notes that run something":   {200, `{"version":"v1.3.0","date":"2026-11-20T10:00:00Z","notes":"javascript:x"}`, "which is no https URL"},
		"notes with a line break":    {200, `{"version":"v1.3.0","date":"2026-11-20T10:00:00Z","notes":"https://e\n.org"}`, "which is no https URL"},
		"more than a document needs": {200, good + strings.Repeat(" ", maxBytes), "has more than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Newest(t.Context(), serving(t, c.status, c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) || got != (Release{}) {
				t.Errorf("%+v, %v; not %q", got, err, c.want)
			}
		})
	}
}

func TestAnAnswerThatOthersCouldChangeIsNotAskedFor(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                 "must be like https://",
		"latest.json":                      "must be like https://",
		"file:///etc/passwd":               "must be like https://",
		"https:///latest.json":             "must be like https://",
		"http://example.org/latest.json":   "is not https",
		"http://localhost.example.org/":    "is not https",
		"http://127.0.0.1.example.org/":    "is not https",
		"http://u:secret@example.org/":     "http://u:xxxxx@example.org/ is not https",
		"https://example.org/\x00":         "is no URL",
		"http://[::ffff:192.0.2.1]/a.json": "is not https",
	} {
		if _, err := Newest(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", address, err, want)
		}
	}
	one := httptest.NewServer(http.RedirectHandler("http://example.org/latest.json", http.StatusFound))
	defer one.Close()
	if _, err := Newest(t.Context(), one.URL); err == nil || !strings.Contains(err.Error(), "http://example.org/latest.json is not https") {
		t.Errorf("a redirect: %v", err)
	}
	var round *httptest.Server
	round = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, round.URL, http.StatusFound) }))
	defer round.Close()
	if _, err := Newest(t.Context(), round.URL); err == nil || !strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("a round of redirects: %v", err)
	}
}

func TestACertificateOfNobodyIsRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	if _, err := Newest(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

func TestAServerThatDoesNotAnswerIsLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel() // as the end of Patience does
		<-r.Context().Done()
	}))
	defer s.Close()
	if _, err := Newest(ctx, s.URL); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestVersionsAreComparedByTheRulesOfSemanticVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own, newest string
		want        State
	}{
		{"v1.2.3", "v1.2.3", Current},
		{"v1.2.3", "v1.2.4", Behind},
		{"v1.9.0", "v1.10.0", Behind},
		{"v1.3.0", "v1.2.9", Current},
		{"v2.0.0", "v10.0.0", Behind},
		{"v1.2.3-rc.1", "v1.2.3", Behind},
		{"v1.2.3-rc.2", "v1.2.3-rc.10", Behind},
		{"v1.2.3", "v1.2.3-rc.1", Current},
		{"v1.2.3", "v1.3.0-rc.1", Current},
		{"v1.3.0-rc.1", "v1.3.0-rc.2", Behind},
		{"v1.2.3-4-g0123abc", "v1.2.3", Current},
		{"v1.2.3-4-g0123abc-dirty", "v1.2.4", Behind},
		{"v1.2.3-dirty", "v1.2.3", Current},
		{"v1.3.0-rc.1-4-g0123abc", "v1.3.0-rc.1", Current},
		{"v1.3.0-rc.1-4-g0123abc", "v1.3.0", Behind},
		{"v0.0.0-20261122234500-37f06080aaaa", "v0.1.0", Behind},
		{"v0.0.0-20261122234500-37f06080aaaa-dirty", "v0.0.0-20261122234500-37f06080aaaa", Current},
		{"v0.0.0-20261122234500-37f06080aaaa", "v0.0.0-20261123000000-000000000000", Behind},
		{"v1.2.3+linux", "v1.2.3", Current},
		{"(devel)", "v1.2.3", Unknown},
		{"devel", "v1.2.3", Unknown},
		{"", "v1.2.3", Unknown},
		{"v1.2", "v1.2.3", Unknown},
	} {
		if got := Compare(c.own, c.newest); got != c.want {
			t.Errorf("%s beside %s: %s, not %s", c.own, c.newest, got, c.want)
		}
	}
}
