package wake_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd/wake"
	"parley.internal/shared/hook/wire"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func query(id, from string) wire.Wake { return reason(id, from, "QUERY") }

func reason(id, from, kind string) wire.Wake {
	return wire.Wake{ID: id, From: from, Kind: kind, May: true, Verified: true}
}

// stored returns the state as a successor of its holder reads it.
func stored(t *testing.T, s *wake.State) *wake.State {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out wake.State
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestWhatWakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason wire.Wake
		rules  wake.Rules
		want   bool
	}{
		"a question":                         {wire.Wake{Kind: "QUERY", May: true}, wake.Rules{}, true},
		"an order":                           {wire.Wake{Kind: "DIRECTIVE", May: true}, wake.Rules{}, true},
		"an answer":                          {wire.Wake{Kind: "ANSWER", May: true}, wake.Rules{}, true},
		"a task":                             {wire.Wake{Kind: "TASK", May: true}, wake.Rules{}, true},
		"the person":                         {wire.Wake{Kind: "HUMAN", May: true}, wake.Rules{}, true},
		"a status does not":                  {wire.Wake{Kind: "STATUS", May: true}, wake.Rules{}, false},
		"a result does not":                  {wire.Wake{Kind: "RESULT", May: true}, wake.Rules{}, false},
		"a result where it was asked for":    {wire.Wake{Kind: "RESULT", May: true}, wake.Rules{On: []string{"RESULT"}}, true},
		"a question of somebody who may not": {wire.Wake{Kind: "QUERY"}, wake.Rules{}, false},
	} {
		c.reason.ID, c.reason.From = "m", "beta/1"
		var s wake.State
		if got := s.Offer(c.rules, noon, []wire.Wake{c.reason}).Wake != nil; got != c.want {
			t.Errorf("%s: woken %t", name, got)
		}
	}
}

func TestTheMostUrgentReasonWakesAndOneWakeIsOutstanding(t *testing.T) {
	t.Parallel()
	reasons := []wire.Wake{query("1", "beta"), query("2", "gamma")}
	s := &wake.State{}
	if v := s.Offer(wake.Rules{}, noon, reasons); v.Wake == nil || v.Wake.ID != "1" {
		t.Fatalf("got %+v", v)
	}
	s = stored(t, s)
	if v := s.Offer(wake.Rules{}, noon.Add(59*time.Second), reasons); v.Wake != nil {
		t.Errorf("a second wake before the first had an effect: %+v", v.Wake)
	}
	s.Active(false)
	if v := s.Offer(wake.Rules{}, noon.Add(2*time.Minute), reasons); v.Wake == nil || v.Wake.ID != "2" {
		t.Errorf("after the first had its effect: %+v", v)
	}
}

func TestAWakeWithoutAnEffectIsMadeOnceMoreAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s, woken := &wake.State{}, ""
	offer := func(minute int) {
		s = stored(t, s)
		v := s.Offer(wake.Rules{}, noon.Add(time.Duration(minute)*time.Minute), []wire.Wake{query("1", "beta"), query("2", "gamma")})
		if v.Wake != nil {
			woken += v.Wake.ID
		}
	}
	for minute := range 10 {
		offer(minute)
	}
	if woken != "1122" {
		t.Errorf("wakes that had no effect were made in the order %s", woken)
	}
	s.Active(false)
	if offer(11); woken != "1122" {
		t.Errorf("a turn makes a wake again: %s", woken)
	}
}

func TestThePersonIsCalledOnceForAReasonAndNotEveryMinute(t *testing.T) {
	t.Parallel()
	s, called := &wake.State{}, ""
	for minute := range 40 {
		s = stored(t, s)
		v := s.Offer(wake.Rules{}, noon.Add(time.Duration(minute)*time.Minute), []wire.Wake{query("1", "beta"), query("2", "gamma")})
		if v.Wake != nil {
			s.CalledPerson()
			called += fmt.Sprint(v.Wake.ID, "@", minute, " ")
		}
	}
	if called != "1@0 2@10 " {
		t.Errorf("the person is called for %s", called)
	}
}

func TestWakesAreBoundedByTheHourAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	s, n := &wake.State{}, 0
	for i := range 40 {
		s = stored(t, s)
		from := fmt.Sprintf("p%d", i%8)
		if v := s.Offer(wake.Rules{}, noon.Add(time.Duration(i)*time.Minute), []wire.Wake{query(fmt.Sprint(i), from)}); v.Wake != nil {
			n++
			s.Active(true)
		}
	}
	if n != wake.PerHour {
		t.Errorf("%d wakes in an hour", n)
	}
	if held := s.TakeHeld(); held != 40-wake.PerHour || s.TakeHeld() != 0 {
		t.Errorf("%d are held back", held)
	}
	if v := s.Offer(wake.Rules{}, noon.Add(61*time.Minute), []wire.Wake{query("39", "p7")}); v.Wake == nil {
		t.Error("what was held back does not wake when the hour is over")
	}
}

func TestWakesOfOneSenderAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules wake.Rules
		want  int
	}{"by default": {wake.Rules{}, 4}, "as configured": {wake.Rules{PerSender: 2}, 2}} {
		var s wake.State
		n := 0
		for i := range 10 {
			from := fmt.Sprintf("beta/%d", i) // sessions of one program are one sender
			if s.Offer(c.rules, noon.Add(time.Duration(i)*time.Minute), []wire.Wake{query(fmt.Sprint(i), from)}).Wake != nil {
				n++
				s.Active(true)
			}
		}
		if n != c.want {
			t.Errorf("%s: %d wakes", name, n)
		}
		if s.Offer(c.rules, noon.Add(11*time.Minute), []wire.Wake{query("x", "gamma")}).Wake == nil {
			t.Errorf("%s: another sender does not wake", name)
		}
	}
}

func TestTwoAgentsThatOnlyWakeEachOtherEndAfterSixExchanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ to, kind string }{
		"by messages for each other": {"", "QUERY"},
		"by messages for all":        {"all", "QUERY"},
		"by messages for a group":    {"group:reviewers", "DIRECTIVE"},
		"by tasks for each other":    {"", "TASK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopAfterSix(t, c.to, c.kind)
		})
	}
}

// stopAfterSix lets two agents wake each other by what they send to a target, the other's address where that is empty.
func stopAfterSix(t *testing.T, to, kind string) {
	t.Helper()
	rules := wake.Rules{PerHour: 100, PerSender: 100}
	a, b := &wake.State{}, &wake.State{}
	woken, told := 0, []string{}
	sender, receiver, from := b, a, "beta/1"
	for i := range 40 {
		v := receiver.Offer(rules, noon.Add(time.Duration(i)*time.Minute), []wire.Wake{reason(fmt.Sprint(i), from, kind)})
		if v.Stopped != "" {
			told = append(told, v.Stopped)
		}
		if v.Wake == nil {
			break
		}
		woken++
		receiver.Active(false)
		other := from
		sender, receiver = receiver, sender
		if from = "beta/1"; other == "beta/1" {
			from = "alpha/1"
		}
		sender.Sent(cmp.Or(to, other), kind)
	}
	if woken != 12 || !reflect.DeepEqual(told, []string{"beta"}) {
		t.Errorf("%d wakes, and the person is told of %v", woken, told)
	}
	again := func() wake.Verdict {
		return stored(t, a).Offer(rules, noon.Add(5*time.Hour), []wire.Wake{reason("later", "beta", kind)})
	}
	if v := again(); v.Wake != nil || v.Stopped != "" {
		t.Errorf("it goes on, or the person is told twice: %+v", v)
	}
	a.Active(true)
	if v := again(); v.Wake == nil {
		t.Error("it does not wake after a person came")
	}
}

func TestTheTextOfAWakeSaysWhetherAPersonSentIt(t *testing.T) {
	t.Parallel()
	w := reason("1", "human", "TASK")
	if text := wake.Text(w); strings.Contains(text, "a person") {
		t.Errorf("of an agent: %s", text)
	}
	w.Human = true
	if text := wake.Text(w); !strings.Contains(text, "TASK from human (verified, a person)") {
		t.Errorf("of a person: %s", text)
	}
}

func TestWhatComesBetweenEndsTheExchanges(t *testing.T) {
	t.Parallel()
	rules := wake.Rules{PerHour: 100, PerSender: 100, Exchanges: 2}
	for name, between := range map[string]func(s *wake.State, at time.Time){
		"a person's prompt": func(s *wake.State, _ time.Time) { s.Active(true) },
		"another agent": func(s *wake.State, at time.Time) {
			s.Offer(rules, at, []wire.Wake{query(at.String(), "gamma")})
			s.Active(false)
		},
		"a task of another agent": func(s *wake.State, at time.Time) {
			s.Offer(rules, at, []wire.Wake{reason(at.String(), "gamma", "TASK")})
			s.Active(false)
		},
		"a task of a person": func(s *wake.State, at time.Time) {
			w := reason(at.String(), "beta", "TASK")
			w.Human = true
			s.Offer(rules, at, []wire.Wake{w})
			s.Active(false)
		},
		"a message of a person": func(s *wake.State, at time.Time) {
			s.Offer(rules, at, []wire.Wake{reason(at.String(), "beta", "HUMAN")})
			s.Active(false)
		},
		"a message to another": func(s *wake.State, _ time.Time) { s.Sent("gamma", "QUERY") },
		"no answer":            nil,
		"an answer of no wake": nil,
	} {
		var s wake.State
		for i := range 20 {
			at := noon.Add(time.Duration(2*i) * time.Minute)
			if v := s.Offer(rules, at, []wire.Wake{query(fmt.Sprint(i), "beta")}); v.Wake == nil {
				t.Errorf("%s: stopped after %d", name, i)
				break
			}
			s.Active(false)
			switch {
			case between != nil:
				s.Sent("beta", "QUERY")
				between(&s, at.Add(time.Minute))
			case name == "an answer of no wake":
				s.Sent("beta", "RESULT")
			}
		}
	}
}
