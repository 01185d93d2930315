package cli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"parley.internal/services/hub/internal/cli"
	"parley.internal/shared/identity"
	"parley.internal/shared/overview"
	"parley.internal/shared/signal"
)

// noon is the time of the views in the tests.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }
func after(d time.Duration) time.Time  { return noon.Add(d) }

func FuzzDraw(f *testing.F) {
	f.Add("name\x1b[2J", "a\nb", uint8(20), uint8(5))
	f.Add("漢字漢字漢字", "\u202e\xff", uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, a, b string, width, height uint8) {
		text := cli.Draw(hostile(a, b), noon, int(width), int(height))
		lines := strings.Split(text, "\n")
		if height > 0 && len(lines) > int(height) {
			t.Errorf("%d lines, want at most %d:\n%s", len(lines), height, text)
		}
		for _, l := range lines {
			if !isPrintable(l) || (width > 0 && uniseg.StringWidth(l) > int(width)) {
				t.Errorf("the line %q is wider than %d or not printable", l, width)
			}
		}
		q := signal.View{ID: b, Question: a, Options: []string{a, b}, Context: a, Source: b, Priority: "high"}
		for l := range strings.SplitSeq(cli.Describe(q, noon, int(width)), "\n") {
			if !isPrintable(l) {
				t.Errorf("the line %q is not printable", l)
			}
		}
	})
}

// hostile returns a view with the given texts in each of its fields.
func hostile(a, b string) overview.View {
	v := overview.View{Mark: a}
	for _, s := range []string{a, b, a + b} {
		v.Sessions = append(v.Sessions,
			overview.Session{ID: s, Name: s, Program: b, State: s, Status: a, LastHeartbeat: noon})
		v.Claims = append(v.Claims, overview.Claim{ID: s, Title: a, ClaimedBy: b, SessionID: s, LeaseUntil: noon})
		v.Questions = append(v.Questions, overview.Question{ID: s, Question: a, Options: []string{b}, Source: s})
		v.Unread = append(v.Unread, overview.Unread{Program: s, Count: 1})
	}
	return v
}

func full() overview.View {
	return overview.View{
		Sessions: []overview.Session{
			{ID: "s1", Name: "builder", Program: "alpha", State: "working", Status: "compiling the store", Progress: 40,
				LastHeartbeat: before(5 * time.Second)},
			{ID: "s2", Name: "漢字", State: "pinned"}},
		Claims: []overview.Claim{
			{ID: "t1", Type: "task", Title: "Build the store", Status: "active", ClaimedBy: "alpha",
				LeaseUntil: after(4*time.Minute + 59*time.Second)},
			{ID: "t2", Type: "task", Title: "Test it", Status: "blocked", ClaimedBy: "beta",
				LeaseUntil: before(time.Second)},
			{ID: "t3", Type: "task", Title: "Ship it", Status: "completing", ClaimedBy: "gamma"}},
		Questions: []overview.Question{
			{ID: "0198c0de-0001-7000-8000-000000000000", Question: "Which store?", Options: []string{"SQLite"},
				Source: "alpha", Priority: "high", CreatedAt: before(3 * time.Minute),
				ExpiresAt: after(24*time.Hour - 3*time.Minute)}},
		Unread: []overview.Unread{{Program: "alpha", Count: 100, More: true}, {Program: "beta", Count: 2}},
	}
}

func TestAViewIsDrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		view          overview.View
		now           time.Time
		width, height int
		want          string
	}{
		"nothing": {overview.View{}, noon, 80, 24, `
Parley at 12:00:00

Sessions: none

Claimed tasks: none

Waiting questions: none

Unread mail: none`},
		"everything": {full(), noon, 0, 0, `
Parley at 12:00:00

Sessions: 2
  builder  alpha  working  40%  5s ago  compiling the store
  漢字     -      pinned   0%   -

Claimed tasks: 3
  alpha  4m59s left  active      task  Build the store
  beta   expired     blocked     task  Test it
  gamma  -           completing  task  Ship it

Waiting questions: 1
  0198c0de-0001  alpha  high  3m00s ago  23h57m left  Which store?

Unread mail: 2
  alpha  100+
  beta   2`},
		"a question for a device": {overview.View{Questions: []overview.Question{{ID: "0198c0de", Question: "Ship it?",
			Source: "alpha", Priority: "low", Assurance: identity.Device, CreatedAt: noon, ExpiresAt: after(time.Hour)}}},
			noon, 0, 0, `
Parley at 12:00:00

Sessions: none

Claimed tasks: none

Waiting questions: 1
  0198c0de  alpha  low, from a device  0s ago  1h00m left  Ship it?

Unread mail: none`},
		"at a later time": {overview.View{Claims: full().Claims[:1]}, after(4*time.Minute + 58*time.Second), 80, 0, `
Parley at 12:04:58

Sessions: none

Claimed tasks: 1
  alpha  1s left  active  task  Build the store

Waiting questions: none

Unread mail: none`},
		"wider than the terminal": {full(), noon, 20, 0, `
Parley at 12:00:00

Sessions: 2
  builder  alpha  w…
  漢字     -      p…

Claimed tasks: 3
  alpha  4m59s left…
  beta   expired   …
  gamma  -         …

Waiting questions: 1
  0198c0de-0001  al…

Unread mail: 2
  alpha  100+
  beta   2`},
		"higher than the terminal, without blank lines": {full(), noon, 0, 13, `
Parley at 12:00:00
Sessions: 2
  builder  alpha  working  40%  5s ago  compiling the store
  漢字     -      pinned   0%   -
Claimed tasks: 3
  alpha  4m59s left  active      task  Build the store
  beta   expired     blocked     task  Test it
  gamma  -           completing  task  Ship it
Waiting questions: 1
  0198c0de-0001  alpha  high  3m00s ago  23h57m left  Which store?
Unread mail: 2
  alpha  100+
  beta   2`},
		"higher than the terminal, with rows of every section": {full(), noon, 0, 10, `
Parley at 12:00:00
Sessions: 2
  builder  alpha  working  40%  5s ago  compiling the store
  漢字     -      pinned   0%   -
Claimed tasks: 3, the first 1
  alpha  4m59s left  active      task  Build the store
Waiting questions: 1
  0198c0de-0001  alpha  high  3m00s ago  23h57m left  Which store?
Unread mail: 2, the first 1
  alpha  100+`},
		"room for the headings alone": {full(), noon, 0, 5, `
Parley at 12:00:00
Sessions: 2, the first 0
Claimed tasks: 3, the first 0
Waiting questions: 1, the first 0
Unread mail: 2, the first 0`},
		"room for two lines": {full(), noon, 8, 2, `
Parley …
Session…`},
		"as many rows as the server sends": {overview.View{
			Unread: slices.Repeat([]overview.Unread{{Program: "p", Count: 1}}, 50)}, noon, 0, 6, `
Parley at 12:00:00
Sessions: none
Claimed tasks: none
Waiting questions: none
Unread mail: 50 or more, the first 1
  p  1`},
	} {
		if got := cli.Draw(c.view, c.now, c.width, c.height); got != c.want[1:] {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want[1:])
		}
	}
}

func TestIDsAreShortenedToAUniquePrefix(t *testing.T) {
	t.Parallel()
	v := overview.View{}
	for _, id := range []string{"0198c0de-0001-7000-8000-000000000001", "0198c0de-0001-7000-9000-000000000001",
		"0198c0de-0002-7000-8000-000000000001", "short"} {
		v.Questions = append(v.Questions, overview.Question{ID: id, Question: "q"})
	}
	text := cli.Draw(v, noon, 0, 0)
	for _, id := range []string{"0198c0de-0001-7000-8 ", "0198c0de-0001-7000-9 ", "0198c0de-0002-7000-8 ", "short  "} {
		if !strings.Contains(text, "\n  "+id) {
			t.Errorf("got\n%s\nwant the id %q", text, id)
		}
	}
}

func TestAQuestionIsDescribed(t *testing.T) {
	t.Parallel()
	base := signal.View{ID: "0198c0de", Question: "Which store?", Source: "alpha", Verified: true, Priority: "normal",
		Answer: signal.Answer{Status: signal.Pending}, CreatedAt: before(3 * time.Minute), ExpiresAt: after(time.Hour)}
	with := func(change func(*signal.View)) signal.View {
		q := base
		change(&q)
		return q
	}
	for name, c := range map[string]struct {
		q     signal.View
		width int
		want  string
	}{
		"bare": {base, 0, `
0198c0de
  alpha asks, 3m00s ago, 1h00m left:
  | Which store?
`},
		"with everything": {with(func(q *signal.View) {
			q.Options, q.Context, q.Priority = []string{"SQLite", "Fire\nstore"}, "We have\r\nboth.\n\n2. Nothing\n",
				"high"
		}), 0, `
0198c0de
  alpha asks, 3m00s ago, 1h00m left, high priority:
  | Which store?
  1. SQLite
  2. Fire store
  Context:
  | We have
  | both.
  |
  | 2. Nothing
`},
		"on a narrow terminal": {with(func(q *signal.View) {
			q.Question, q.Options = "0123456789abcdef", []string{"0123456789abcdef"}
		}), 10, `
0198c0de
  alpha asks, 3m00s ago, 1h00m left:
  | 012345
  | 6789ab
  | cdef
  1. 01234
     56789
     abcde
     f
`},
		"of nobody in particular": {with(func(q *signal.View) { q.Source, q.Verified = "", false }), 0, `
0198c0de
  unknown (unverified) asks, 3m00s ago, 1h00m left:
  | Which store?
`},
		"of a name that nobody checked": {with(func(q *signal.View) { q.Verified = false }), 0, `
0198c0de
  alpha (unverified) asks, 3m00s ago, 1h00m left:
  | Which store?
`},
		"answered": {with(func(q *signal.View) {
			q.Answer = signal.Answer{Status: signal.Answered, Response: "SQLite\x1b", AnsweredAt: before(time.Minute)}
		}), 0, `
0198c0de
  alpha asks, 3m00s ago, answered 1m00s ago:
  | Which store?
  Answer:
  | SQLite�
`},
		"answered from a device": {with(func(q *signal.View) {
			q.Assurance, q.Answer = identity.Device, signal.Answer{Status: signal.Answered, Response: "SQLite",
				AnsweredAt: before(time.Minute), AnsweredBy: "key:0123\x1b", AnsweredWith: identity.Device}
		}), 0, `
0198c0de
  alpha asks, 3m00s ago, answered 1m00s ago by key:0123� (device):
  | Which store?
  Answer:
  | SQLite
`},
		"for a device": {with(func(q *signal.View) { q.Assurance = identity.Device }), 0, `
0198c0de
  alpha asks, 3m00s ago, 1h00m left, answered from a paired device only:
  | Which store?
`},
		"expired": {with(func(q *signal.View) { q.Status, q.ExpiresAt = signal.Expired, before(2*time.Minute) }), 0, `
0198c0de
  alpha asks, 3m00s ago, expired 2m00s ago:
  | Which store?
`},
		"withdrawn": {with(func(q *signal.View) {
			q.Answer = signal.Answer{Status: signal.Expired, Withdrawn: "it was settled\x1b in the client"}
		}), 0, `
0198c0de
  alpha asks, 3m00s ago, withdrawn: it was settled� in the client:
  | Which store?
`},
	} {
		if got := cli.Describe(c.q, noon, c.width); got != c.want[1:] {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want[1:])
		}
	}
}

func TestADurationHasTwoUnits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{-time.Minute: "0s", 0: "0s",
		59*time.Second + 999*time.Millisecond: "59s", time.Minute: "1m00s", time.Hour - time.Second: "59m59s",
		time.Hour: "1h00m", 47*time.Hour + 59*time.Minute: "47h59m", 48 * time.Hour: "2d00h",
		365 * 24 * time.Hour: "365d00h"} {
		if got := cli.Span(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestTheViewShowsQueuesAlertsAndWhatNobodyLooksAfter(t *testing.T) {
	t.Parallel()
	v := overview.View{
		Queues: []overview.Queue{{Target: "beta", Waiting: 2, Oldest: after(-5 * time.Minute), Active: 1}, {Target: "al\x1bpha", Active: 3}},
		Alerts: []overview.Alert{{ID: "0198c0de-0001-7000", AlertType: "error", Title: "The disk\nis full", Source: "alpha",
			CreatedAt: after(-time.Minute)}},
		Strays:  []overview.Unread{{Program: "gamma", Count: 2}},
		Callers: []overview.Caller{{Program: "delta", LastUsedAt: after(-time.Hour)}},
	}
	const want = `Parley at 12:00:00

Sessions: none

Claimed tasks: none

Queues: 2
  beta    2 waiting  oldest 5m00s  1 active
  al�pha  0 waiting  -             3 active

Waiting questions: none

Alerts: 1
  0198c0de-0001  alpha  error  1m00s ago  The disk is full

Unread mail: none

Mail to unknown names: 1
  gamma  2

Called, and made no session: 1
  delta  1h00m ago`
	if got := cli.Draw(v, after(0), 0, 0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	v.Uncounted = true
	if got := cli.Draw(v, after(0), 0, 0); !strings.Contains(got, "Queues (of the first 100 waiting tasks): 2\n") {
		t.Errorf("with more tasks than were counted:\n%s", got)
	}
}
