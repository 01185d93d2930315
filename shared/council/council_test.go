package council

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

var t0 = domaintest.Start

// session returns a council of an opener and one peer.
func session(request string) *Session {
	s, _ := Open("s", request, "what?", speaker{name: "opener", verified: true}, t0)
	if _, err := s.Join(&speaker{name: "peer"}, t0); err != nil {
		panic(err)
	}
	return &s
}

func TestEveryEventInEveryStateOfASession(t *testing.T) {
	t.Parallel()
	states := map[string]func() *Session{
		"active":            func() *Session { return session("r") },
		"without a request": func() *Session { return session("") },
		"closed": func() *Session {
			s := session("r")
			if err := s.Close(Conclusion{}, t0); err != nil {
				panic(err)
			}
			return s
		},
		"abandoned": func() *Session {
			s := session("r")
			s.Abandon(t0.Add(Patience))
			return s
		},
	}
	later := t0.Add(time.Hour)
	events := map[string]func(*Session) error{
		"join":       func(s *Session) error { _, err := s.Join(&speaker{name: "new"}, later); return err },
		"join again": func(s *Session) error { _, err := s.Join(&speaker{name: "peer"}, later); return err },
		"answer":     func(s *Session) error { _, err := s.Answer("peer", later); return err },
		"rank":       func(s *Session) error { return s.Rank(Ballots{}, later) },
		"close":      func(s *Session) error { return s.Close(Conclusion{Author: "peer"}, later) },
	}
	const closed, already = "Council session is closed.", "Council session is already closed."
	over := map[string]string{"join": closed, "join again": closed, "answer": closed, "rank": closed, "close": already}
	refusals := map[string]map[string]string{
		"closed":            over,
		"abandoned":         over,
		"without a request": {"answer": "No active request."},
	}
	for state, make := range states {
		for event, do := range events {
			s := make()
			before := *s
			before.Members = slices.Clone(s.Members)
			err, want := do(s), refusals[state][event]
			if (err != nil) != (want != "") ||
				(want != "" && (!fault.Is(err, fault.Precondition) || err.Error() != want)) {
				t.Errorf("%s, %s: %v, want %q", state, event, err, want)
			}
			changed := s.Revision != before.Revision
			if want := err == nil && event != "join again"; changed != want {
				t.Errorf("%s, %s: changed %v, want %v", state, event, changed, want)
			}
			if err != nil && fmt.Sprintf("%+v", *s) != fmt.Sprintf("%+v", before) {
				t.Errorf("%s, %s was refused and left %+v", state, event, s)
			}
			if err == nil && (s.Status == Closed) != (event == "close") {
				t.Errorf("%s, %s: %s", state, event, s.Status)
			}
			if due := later.Add(Patience); changed && s.Status == Active && !s.DueAt.Equal(due) {
				t.Errorf("%s, %s: due %v, want %v", state, event, s.DueAt, due)
			}
		}
	}
}

func TestACouncilIsAbandonedAfterSevenDaysAndGoneThirtyDaysAfterItsEnd(t *testing.T) {
	t.Parallel()
	s := session("r")
	if s.Abandon(t0.Add(Patience-time.Microsecond)) || s.Status != Active {
		t.Error("abandoned too early")
	}
	at := t0.Add(Patience)
	if !s.Abandon(at) || s.Status != Closed || s.Reason != "abandoned: nothing happened here for 7 days" ||
		s.Conclusion != nil || !s.ClosedAt.Equal(at) {
		t.Errorf("%+v", s)
	}
	if s.Abandon(at.Add(Patience)) {
		t.Error("abandoned again")
	}
	if s.Gone(at.Add(Retention-time.Microsecond)) || !s.Gone(at.Add(Retention)) {
		t.Error("gone at another time")
	}
	if session("r").Gone(t0.Add(Retention)) {
		t.Error("an active council is gone")
	}
}

func TestPendingListsParticipantsWithoutAResponse(t *testing.T) {
	t.Parallel()
	s := session("r")
	for _, name := range []string{"b", "c"} {
		if _, err := s.Join(&speaker{name: name}, t0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Answer("b", t0); err != nil {
		t.Fatal(err)
	}
	for asking, want := range map[string]string{"opener": "peer c", "peer": "c", "b": "peer c", "nobody": "peer c"} {
		if got := strings.Join(s.Pending(asking), " "); got != want {
			t.Errorf("to %s: %s, want %s", asking, got, want)
		}
	}
}

func TestResponsesAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	s := session("r")
	for want := int64(1); want <= 3; want++ {
		if n, err := s.Answer("peer", t0); n != want || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	if _, err := s.Answer("nobody", t0); !fault.Is(err, fault.Internal) || s.Responses != 3 {
		t.Errorf("%v, %d responses", err, s.Responses)
	}
}

func TestACouncilHasAHundredParticipants(t *testing.T) {
	t.Parallel()
	s := session("r")
	for i := len(s.Members); i < MaxMembers; i++ {
		if fresh, err := s.Join(&speaker{name: fmt.Sprint("p", i)}, t0); err != nil || !fresh {
			t.Fatal(err)
		}
	}
	_, err := s.Join(&speaker{name: "one-more"}, t0)
	domaintest.Says(t, "one more", err, fault.Precondition,
		"Council session is full: it has 100 participants. A read-only key or endpoint reads it without joining.")
	if fresh, err := s.Join(&speaker{name: "peer"}, t0); fresh || err != nil {
		t.Errorf("a participant of a full council: %v, %v", fresh, err)
	}
}

func TestATitleIsOneShortLine(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		" a\n\tb  c ":            "a b c",
		strings.Repeat("é", 100): strings.Repeat("é", 100),
		strings.Repeat("é", 101): strings.Repeat("é", 99) + "…",
		strings.Repeat("x ", 80): strings.Repeat("x ", 49) + "x…",
		" ":                      "",
	} {
		if got := title(content); got != want || utf8.RuneCountInString(got) > 100 {
			t.Errorf("%.20q: %q", content, got)
		}
	}
}

func TestTheLastResponseSeenNeverGoesBack(t *testing.T) {
	t.Parallel()
	var p Participant
	for _, c := range []struct {
		upTo int64
		want string
	}{{0, ""}, {9, "9"}, {10, "10"}, {2, "10"}, {0, "10"}, {101, "101"}} {
		p.See(session("r"), true, c.upTo, t0)
		if p.LastFeedbackSeen != c.want || p.LastRequestSeen != "r" || !p.LastSeen.Equal(t0) || !p.Verified {
			t.Errorf("up to %d: %+v", c.upTo, p)
		}
	}
}

func TestACursorIsParsedAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := &Session{ID: "0192f3c4-5b6a.x", Responses: 7, Revision: 9}
	for _, c := range []cursor{{s.ID, 0, 0}, {s.ID, 7, 9}} {
		if got := readCursor(c.String()); got != c || got.of(s) != c {
			t.Errorf("%+v of %+v", got, c)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "nonsense": "nonsense", "a store's": "eyJxIjoiYSJ9", "none": cursor{}.String(),
		"another council's": cursor{"other", 1, 1}.String(),
		"one ahead":         cursor{s.ID, 8, 9}.String(), "of a later session": cursor{s.ID, 7, 10}.String(),
		"negative": cursor{s.ID, -1, 1}.String(), "one of a negative revision": "MS4teC5z",
		"one written oddly": "KzEuMS5z",
	} {
		if got := readCursor(text).of(s); got != (cursor{}) {
			t.Errorf("%s cursor is %+v", name, got)
		}
	}
}

func FuzzACursorIsReadAsItIsWrittenOrNotAtAll(f *testing.F) {
	f.Add("")
	f.Add(cursor{"s", 1, 2}.String())
	f.Add("MS4yLnM")
	f.Fuzz(func(t *testing.T, text string) {
		if c := readCursor(text); c != (cursor{}) && (c.String() != text || c.seq < 0) {
			t.Errorf("%q is read as %+v", text, c)
		}
	})
}

func TestLabelsAreLettersInOrder(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		1: "A", 2: "B", 26: "Z", 27: "AA", 52: "AZ", 53: "BA", 702: "ZZ", 703: "AAA", 1000: "ALL",
	} {
		if got := label(n); got != want || parseNumber(want) != n || parseNumber(" "+strings.ToLower(want)) != n ||
			parseNumber(number(n)) != n {
			t.Errorf("%d: %s, parsed %d", n, got, parseNumber(want))
		}
	}
	for _, text := range []string{"", "0", "-1", "A1", "é", "AAAAAAA", "response A", "99999999999999999999"} {
		if n := parseNumber(text); n != 0 {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func TestARankingNamesEachResponseOnce(t *testing.T) {
	t.Parallel()
	if got, err := parseRanking([]string{"c", "A", "27"}); err != nil || !slices.Equal(got, []int64{3, 1, 27}) {
		t.Error(got, err)
	}
	_, err := parseRanking([]string{"A", "?", "B", "1"})
	domaintest.Says(t, "wrong", err, fault.Invalid,
		`ranking[1]: "?" is not a response of this council; use the labels that get_current_session_data shows; `+
			`ranking[3]: names response A twice; rank each response once`)
}

func TestTheAggregateIsOrderedByMeanRank(t *testing.T) {
	t.Parallel()
	for want, votes := range map[string]map[string][]int64{
		"":                        {},
		"B 1 (1) A 2 (1)":         {"x": {2, 1}},
		"B 1.33 (3) A 1.67 (3)":   {"x": {2, 1}, "y": {1, 2}, "z": {2, 1}},
		"A 1.5 (2) B 1.5 (2)":     {"x": {1, 2}, "y": {2, 1}},
		"A 1 (2) C 1 (1) B 2 (3)": {"x": {1, 2}, "y": {1, 2}, "z": {3, 2}},
	} {
		var got []string
		for _, s := range (Ballots{Votes: votes}).standings() {
			got = append(got, fmt.Sprintf("%s %v (%d)", s.Label, s.MeanRank, s.Votes))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: %s, want %s", votes, got, want)
		}
	}
	var b Ballots
	b.cast("x", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	if best := b.standings(); len(best) != 10 || best[9].Label != "J" {
		t.Errorf("%+v", best)
	}
	b.cast("x", []int64{11})
	if best := b.standings(); len(best) != 1 || best[0].Label != "K" {
		t.Errorf("the last ballot does not stand: %+v", best)
	}
}
