package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley.internal/services/hub/internal/cli"
	"parley.internal/shared/overview"
)

// viewed returns a view with a mark and a session of the same name.
func viewed(mark string) overview.View {
	return overview.View{Mark: mark, Sessions: []overview.Session{{ID: "s", Name: mark + "\x1b[2J", State: "working"}},
		Claims: []overview.Claim{
			{ID: "t", Title: "Build", ClaimedBy: "alpha", Status: "active", Type: "task",
				LeaseUntil: after(90 * time.Second)}},
		Questions: []overview.Question{}, Unread: []overview.Unread{}}
}

// showing serves a view, and another one after each call of next. A call without a new view waits as on the server.
type showing struct {
	*fake
	views chan overview.View
}

func newShowing(t *testing.T) *showing {
	t.Helper()
	s := &showing{views: make(chan overview.View)}
	s.fake = newFake(t, func(r *http.Request, _ string) (int, any) {
		if r.URL.Query().Get("since") == "" {
			return 200, viewed("first")
		}
		select {
		case v := <-s.views:
			return 200, v
		case <-r.Context().Done():
			return 200, viewed(r.URL.Query().Get("since"))
		}
	})
	return s
}

// next answers the waiting call.
func (s *showing) next(v overview.View) {
	s.t.Helper()
	select {
	case s.views <- v:
	case <-time.After(patience):
		s.t.Fatalf("no call waits for a view: %q", s.calls())
	}
}

// until waits until the process has written a text.
func (p *process) until(text string) {
	p.t.Helper()
	p.untilSo(text, func(out string) bool { return strings.Contains(out, text) })
}

func (p *process) untilSo(what string, so func(out string) bool) {
	p.t.Helper()
	for !so(p.out.String()) {
		select {
		case <-p.out.more:
		case <-p.ended:
			if !so(p.out.String()) {
				p.t.Fatalf("the process ended without %q:\n%s%s", what, p.out, p.err)
			}
		case <-time.After(patience):
			p.t.Fatalf("the process does not write %q:\n%s%s", what, p.out, p.err)
		}
	}
}

func variables(env map[string]string) []string {
	var out []string
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

const firstView = `Parley at TIME

Sessions: 1
  first�[2J  -  working  0%  -

Claimed tasks: 1
  alpha  1mSECS left  active  task  Build

Waiting questions: none

Unread mail: none
`

// still returns a snapshot without its times.
func still(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	before, after, _ := strings.Cut(rest, "  1m")
	_, after, _ = strings.Cut(after, " left")
	return strings.TrimRight(first, "0123456789:") + "TIME\n" + before + "  1mSECS left" + after
}

func TestWithoutATerminalTheViewIsPrintedOnce(t *testing.T) {
	t.Parallel()
	s := newShowing(t)
	out, errOut, code := inProcess(t, s.at(), "top")
	if still(out) != firstView || errOut != "" || code != 0 {
		t.Errorf("got %q, %q, exit %d; want %q", out, errOut, code, firstView)
	}
	if got := s.calls(); !slices.Equal(got, []string{"GET /v1/overview?"}) &&
		!slices.Equal(got, []string{"GET /v1/overview"}) {
		t.Errorf("got the calls %q, want one that does not wait", got)
	}
}

func TestFollowPrintsTheViewAfterEachChange(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		s := newShowing(t)
		p := run(t, variables(s.at()), "top", "--follow")
		p.until("Unread mail: none\n")
		s.next(viewed("first"))
		s.next(viewed("second"))
		p.until("second�[2J")
		s.next(viewed("third"))
		p.until("third�[2J")
		if code := p.stop(signal); code != 0 || p.err.String() != "" {
			t.Errorf("exit %d: %s", code, p.err)
		}
		out := p.out.String()
		if strings.Count(out, "Parley at ") != 3 || strings.Contains(out, "\x1b") || strings.Count(out, "first") != 1 {
			t.Errorf("got\n%s\nwant three snapshots", out)
		}
		if got := s.calls(); got[1] != "GET /v1/overview?since=first&waitMs=30000" ||
			got[3] != "GET /v1/overview?since=second&waitMs=30000" {
			t.Errorf("got the calls %q", got)
		}
	}
}

func TestFollowReportsALostServerOnStandardErrorAndResumes(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	f := newFake(t, func(*http.Request, string) (int, any) {
		switch n.Add(1) {
		case 1:
			return 200, viewed("first")
		case 2:
			return 503, fault("UNAVAILABLE", "later")
		case 3:
			return 200, viewed("second")
		}
		return 403, fault("FORBIDDEN", "not any more")
	})
	out, errOut, code := inProcess(t, f.at(), "top", "--follow")
	told := "parley: " + f.URL + " answers with 503; trying again in 1s\n"
	if strings.Count(out, "Parley at ") != 2 || code != 1 || !strings.HasPrefix(errOut, told) ||
		!strings.Contains(errOut, "may not do this: not any more") {
		t.Errorf("got %q, %q, exit %d; want two views, the trouble and the end", out, errOut, code)
	}
}

// watched returns the updates and pauses of Watch, one word for each.
func watched(t *testing.T, ctx context.Context, url string, tell func(overview.View) error) ([]string, error) {
	t.Helper()
	var log []string
	err := cli.Watch(ctx, url, "m0", func(_ context.Context, d time.Duration) error {
		log = append(log, d.String())
		return nil
	}, func(v overview.View, trouble string) error {
		if trouble != "" {
			log = append(log, trouble)
			return nil
		}
		log = append(log, v.Mark)
		return tell(v)
	})
	return log, err
}

func TestALostServerIsRetriedWithLongerPauses(t *testing.T) {
	t.Parallel()
	answers := []any{"m1", 502, 500, 429, 503, "m1", "m2", 500, "m2", "m3"}
	var asked []string
	done := errors.New("done")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery) // one call at a time
		switch a := answers[len(asked)-1].(type) {
		case string:
			envelope(t, w, 200, viewed(a))
		case int:
			envelope(t, w, a, fault("X", "x"))
		}
	}))
	defer s.Close()
	got, err := watched(t, t.Context(), s.URL, func(v overview.View) error {
		if v.Mark == "m3" {
			return done
		}
		return nil
	})
	trouble := func(status int, pause string) []string {
		return []string{fmt.Sprintf("%s answers with %d; trying again in %s", s.URL, status, pause), pause}
	}
	want := slices.Concat([]string{"m1"}, trouble(502, "1s"), trouble(500, "2s"), trouble(429, "4s"),
		trouble(503, "4s"), []string{"m1", "m2"}, trouble(500, "1s"), []string{"m2", "m3"})
	if !slices.Equal(got, want) || !errors.Is(err, done) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	// The first call after a trouble does not wait, so that its end is known at once.
	var waits []string
	for _, q := range asked {
		waits = append(waits, strings.TrimPrefix(q, "since="))
	}
	const waiting = "&waitMs=30000"
	want = []string{"m0" + waiting, "m1" + waiting, "m1", "m1", "m1", "m1", "m1" + waiting, "m2" + waiting, "m2",
		"m2" + waiting}
	if !slices.Equal(waits, want) {
		t.Errorf("got the calls %q, want %q", waits, want)
	}
}

func TestAMissingServerIsRetried(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var troubles []string
	const nowhere = "http://127.0.0.1:1"
	err := cli.Watch(ctx, nowhere, "m0", func(context.Context, time.Duration) error {
		if len(troubles) == 5 {
			cancel()
		}
		return nil
	}, func(_ overview.View, trouble string) error {
		troubles = append(troubles, trouble)
		return nil
	})
	if err != nil || len(troubles) != 5 || troubles[0] != "no server answers at "+nowhere+"; trying again in 1s" ||
		!strings.HasSuffix(troubles[4], "again in 4s") {
		t.Errorf("got %q, %v; want five tries", troubles, err)
	}
}

func TestAServerThatEndsWaitsAtOnceIsPolledWithPauses(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		envelope(t, w, 200, viewed("m0"))
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	got, err := watched(t, ctx, s.URL, func(overview.View) error {
		if n++; n == 3 {
			cancel()
		}
		return nil
	})
	if want := []string{"m0", "1s", "m0", "1s", "m0", "1s"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAPermanentFaultEndsTheView(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			envelope(t, w, status, fault(code, "for good"))
		}))
		got, err := watched(t, t.Context(), s.URL, nil)
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "for good") {
			t.Errorf("%d: got %q, %v; want its end", status, got, err)
		}
		s.Close()
	}
}

func TestAnInterruptedCommandIsReported(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := newFake(t, func(r *http.Request, _ string) (int, any) {
		cancel()
		<-r.Context().Done()
		return 200, nil
	})
	env := f.at()
	var out, errOut bytes.Buffer
	code := cli.Run(ctx, []string{"questions"}, func(n string) string {
		return env[n]
	}, strings.NewReader(""), &out, &errOut)
	if code != 1 || out.Len() > 0 || errOut.String() != "parley: interrupted\n" {
		t.Errorf("got %q, %q, exit %d", out.String(), errOut.String(), code)
	}
}
