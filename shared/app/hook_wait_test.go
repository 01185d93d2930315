package app

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/pauses"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/team"
)

// waited makes one wait of alpha for sessions by their known states.
func (o *fixture) waited(known map[string]string, ms int) (map[string]wire.Changed, error) {
	in := wire.WaitInput{Version: 1, WaitMs: ms}
	for address, since := range known {
		in.Sessions = append(in.Sessions, wire.WaitedFor{SessionID: address, Since: since})
	}
	out, err := o.Hook.Wait(o.t.Context(), alpha, in)
	changed := map[string]wire.Changed{}
	for _, v := range out.Sessions {
		changed[v.SessionID] = v
	}
	return changed, err
}

// look returns the changed states of sessions and brings known up to date.
func (o *fixture) look(known map[string]string) map[string]wire.Changed {
	o.t.Helper()
	v, err := o.waited(known, 0)
	domaintest.Check(o.t, err)
	for address, c := range v {
		known[address] = c.Since
	}
	return v
}

func TestAWaitEndsWithWhatHappensToItsSessionsAlone(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, person := t.Context(), domaintest.Human("u")
		one, two := o.start(alpha, "one"), o.start(alpha, "two")
		made, err := o.Dispatch.Create(ctx, beta, op.Fill(dispatch.CreateInput{Title: "work", Target: "alpha"}))
		id := domaintest.Must(made, err)(t).TaskID
		_, err = o.Dispatch.Claim(ctx, alpha, op.Fill(dispatch.ClaimInput{TaskID: id, SessionID: one}))
		domaintest.Check(t, err)
		asked, err := o.Signal.Ask(ctx, alpha, op.Fill(signal.AskInput{Question: "ship it?", SessionID: one}))
		domaintest.Must(asked, err)(t)
		o.hook(alpha, wire.HookInput{}) // it knows of its claim
		known := map[string]string{one: ""}
		beside := map[string]string{two: ""}
		o.look(known)
		for _, c := range []struct {
			name   string
			change func() error
			shows  func(v wire.Changed) bool
			alone  bool
		}{
			{"a message", func() error { o.send(one, "look here", "DIRECTIVE"); return nil }, func(v wire.Changed) bool {
				return v.Mail == 1 && v.Urgent == 1 && len(v.Wakes) == 1 && v.Wakes[0].Kind == "DIRECTIVE" &&
					v.Wakes[0].Summary == "look here" && v.Wakes[0].From == "beta" && v.Wakes[0].To == one
			}, true},
			{"an answer", func() error {
				_, err := o.Signal.Answer(ctx, person, signal.AnswerInput{QuestionID: asked.QuestionID, Response: "yes"})
				return err
			}, func(v wire.Changed) bool { return v.Answers == 1 && v.Wakes[0].Kind == "ANSWER" && v.Wakes[0].May }, true},
			{"a cancelled task", func() error {
				_, err := o.Dispatch.Update(ctx, person, op.Fill(dispatch.UpdateInput{TaskID: id, Status: "derezzed"}))
				return err
			}, func(v wire.Changed) bool { return len(v.Lost) == 1 && v.Lost[0] == id }, true},
			{"a pause", func() error {
				_, err := o.Pause.Pause(ctx, person, pauses.Input{Scope: identity.PausedAgent, Name: one, Words: "stop"})
				return err
			}, func(v wire.Changed) bool { return v.Pause != nil && v.Pause.Words == "stop" }, true},
			{"a task for the program", func() error {
				_, err := o.Dispatch.Create(ctx, beta, op.Fill(dispatch.CreateInput{Title: "more", Target: "alpha"}))
				return err
			}, func(v wire.Changed) bool { return v.Tasks && v.Wakes[len(v.Wakes)-1].Kind == "TASK" }, false},
			{"its end", func() error {
				_, err := o.tryHook(alpha, wire.HookInput{Event: wire.End})
				return err
			}, func(v wire.Changed) bool { return v.Ended }, false},
		} {
			o.look(beside)
			if !o.ends(known, one, c.change, c.shows) {
				t.Fatalf("%s does not show", c.name)
			}
			if other, err := o.waited(beside, 1); err != nil || c.alone && len(other) > 0 {
				t.Errorf("%s shows in the other session: %+v, %v", c.name, other, err)
			}
		}
		_, err = o.Hook.Wait(ctx, beta, wire.WaitInput{Version: 1, Sessions: []wire.WaitedFor{{SessionID: one}}})
		domaintest.Refused(t, "another program", err, fault.Forbidden)
	})
}

func TestAWaitEndsWhenWhatWasToldAndNotConfirmedIsDueAgain(t *testing.T) {
	for name, tell := range map[string]func(o *fixture, address string){
		"a message": func(o *fixture, address string) { o.send(address, "hello", "") },
		"an answer": func(o *fixture, address string) {
			asked, err := o.Signal.Ask(o.t.Context(), alpha, op.Fill(signal.AskInput{Question: "ship it?", SessionID: address}))
			id := domaintest.Must(asked, err)(o.t).QuestionID
			_, err = o.Signal.Answer(o.t.Context(), domaintest.Human("u"), signal.AnswerInput{QuestionID: id, Response: "yes"})
			domaintest.Check(o.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, o *fixture) {
				address := o.start(alpha, "one")
				tell(o, address)
				if out := o.hook(alpha, wire.HookInput{MaxBytes: 4096}); len(out.Mail)+len(out.Answers) != 1 {
					t.Fatalf("told %+v", out)
				}
				known := map[string]string{address: ""}
				o.look(known)
				o.Pass(relay.Redeliver - 500*time.Millisecond)
				o.Tick()
				v, err := o.waited(known, 50_000)
				if got := v[address]; err != nil || got.Mail+got.Answers != 1 {
					t.Errorf("the wait ends with %+v, %v", v, err)
				}
			})
		})
	}
}

// ends makes a change while a wait on the known states goes on, and reports whether the change shows in the session.
func (o *fixture) ends(
	known map[string]string, session string, change func() error, shows func(wire.Changed) bool,
) bool {
	o.t.Helper()
	got := make(chan map[string]wire.Changed, 1)
	go func() {
		v, err := o.waited(known, 30_000)
		if err != nil {
			o.t.Error(err)
		}
		got <- v
	}()
	domaintest.Check(o.t, change())
	v, ok := (<-got)[session]
	for ok && !shows(v) { // a change in several steps shows in parts
		known[session] = v.Since
		next, err := o.waited(known, 2_000)
		domaintest.Check(o.t, err)
		v, ok = next[session]
	}
	known[session] = v.Since
	return ok
}

func TestAWaitReadsNothingForAnybody(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		known := map[string]string{}
		for i := range 40 {
			known[o.start(alpha, fmt.Sprint(i))] = ""
		}
		o.send("alpha/33", "unread", "")
		v := o.look(known)
		if len(v) != 40 || v["alpha/33"].Mail != 1 || v["alpha/1"].Mail != 0 {
			t.Errorf("%d sessions, of which one has %+v", len(v), v["alpha/33"])
		}
		if again := o.look(known); len(again) != 0 {
			t.Errorf("unchanged are %+v", again)
		}
		if out := o.hook(alpha, wire.HookInput{Thread: "32", MaxBytes: 1024}); texts(out.Mail) != "unread" {
			t.Errorf("%s has %+v", out.SessionID, out.Mail)
		}
	})
}

func TestWhoMayWakeASession(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, address := t.Context(), o.start(alpha, "one")
		may := func(name string, want bool) {
			t.Helper()
			v := o.look(map[string]string{address: ""})[address]
			if last := v.Wakes[len(v.Wakes)-1]; last.May != want {
				t.Errorf("%s: %+v, want %t", name, last, want)
			}
			o.hook(alpha, wire.HookInput{MaxBytes: 4096})
		}
		from := func(c identity.Caller, source string) {
			out, err := o.Relay.Send(ctx, c, op.Fill(relay.SendInput{Message: "hello", Target: address, Source: source,
				MessageType: "STATUS"}))
			domaintest.Must(out, err)(t)
		}
		from(beta, "")
		may("another program", false)
		from(domaintest.Unbound("u"), "somebody")
		may("a key without a program", false)
		from(domaintest.Human("u"), "beta")
		may("a person", true)
		from(alpha, "")
		may("its own program", true)

		made, err := o.Team.Create(ctx, alpha, op.Fill(team.CreateInput{TeamName: "crew"}))
		domaintest.Must(made, err)(t)
		spawned, err := o.Team.Spawn(ctx, alpha, op.Fill(team.SpawnInput{TeamName: "crew", Name: "beta", Prompt: "help"}))
		domaintest.Must(spawned, err)(t)
		from(beta, "")
		may("a member of its team", true)

		gamma, delta := domaintest.Bound("u", "gamma"), domaintest.Bound("u", "delta")
		o.start(gamma, "one")
		from(gamma, "")
		may("a program in its project", true)
		out, err := o.Relay.Send(ctx, alpha, op.Fill(relay.SendInput{Message: "hi", Target: "delta", MessageType: "STATUS"}))
		domaintest.Must(out, err)(t)
		from(delta, "")
		may("one that it wrote to", true)
	})
}

func TestAWakeSaysWhetherAPersonIsBehindIt(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, address := t.Context(), o.start(alpha, "one")
		for _, c := range []struct {
			caller identity.Caller
			human  bool
		}{{beta, false}, {domaintest.Human("u"), true}} {
			in := dispatch.CreateInput{Title: "look", Target: "alpha", Source: "beta"}
			made, err := o.Dispatch.Create(ctx, c.caller, op.Fill(in))
			domaintest.Must(made, err)(t)
			sent, err := o.Relay.Send(ctx, c.caller, op.Fill(relay.SendInput{Message: "hello", Target: address, Source: "beta",
				MessageType: "QUERY"}))
			domaintest.Must(sent, err)(t)
			wakes := o.look(map[string]string{address: ""})[address].Wakes
			if len(wakes) != 2 || wakes[0].Human != c.human || wakes[1].Kind != "TASK" || wakes[1].Human != c.human {
				t.Errorf("a person: %t; got %+v", c.human, wakes)
			}
			o.hook(alpha, wire.HookInput{MaxBytes: 4096})
			_, err = o.Dispatch.Update(ctx, domaintest.Human("u"), op.Fill(dispatch.UpdateInput{TaskID: made.TaskID, Status: "derezzed"}))
			domaintest.Check(t, err)
		}
	})
}

// arrivals are the messages that reached the clients of two sessions.
type arrivals struct {
	mu       sync.Mutex
	arrived  map[string]int   // messages that reached a client
	firsts   map[string]int   // those that were handed over without the mark again
	receipts map[int][]string // to confirm, by session
}

// take returns a receipt of a session that is to be confirmed, an empty text if there is none.
func (a *arrivals) take(session int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.receipts[session]
	if len(all) == 0 {
		return ""
	}
	a.receipts[session] = all[:len(all)-1]
	return all[len(all)-1]
}

// note notes an answer, which reached the client unless it was lost.
func (a *arrivals) note(t *testing.T, session int, out wire.HookOutput, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range out.Mail {
		if m.To != "alpha" && m.To != out.SessionID {
			t.Errorf("%s got the mail of %s", out.SessionID, m.To)
		}
		if !m.Again {
			a.firsts[m.MessageID]++
		}
		if !lost {
			a.arrived[m.MessageID]++
		}
	}
	if !lost && out.Receipt != "" {
		a.receipts[session] = append(a.receipts[session], out.Receipt)
	}
}

// Hooks of two sessions run concurrently, and half of their answers are lost before they reach the client. What reached it
// is confirmed.
func TestConcurrentHooksHandEachMessageOverOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		const messages, hooks = 60, 8
		sessions := []string{o.start(alpha, "0"), o.start(alpha, "1")}
		for i := range messages {
			o.send([]string{sessions[0], sessions[1], "alpha"}[i%3], fmt.Sprint("message ", i), "")
		}
		a := &arrivals{arrived: map[string]int{}, firsts: map[string]int{}, receipts: map[int][]string{}}
		round := func(i int) error {
			r, session := rand.New(rand.NewPCG(uint64(i), 1)), i%2
			for range 6 {
				in := wire.HookInput{Thread: fmt.Sprint(session), MaxBytes: 900, Receipt: a.take(session)}
				var out wire.HookOutput
				err := domaintest.Retry(t.Context(), func() (err error) {
					out, err = o.tryHook(alpha, in)
					return err
				})
				if err != nil {
					return err
				}
				a.note(t, session, out, r.IntN(2) == 0)
			}
			return nil
		}
		for tries := 0; tries < 20 && len(a.arrived) < messages; tries++ {
			if failed := domaintest.Together(hooks, round); len(failed) > 0 {
				t.Fatal(failed)
			}
			for session := range sessions { // messages that arrived are confirmed before they come again
				for receipt := a.take(session); receipt != ""; receipt = a.take(session) {
					o.hook(alpha, wire.HookInput{Thread: fmt.Sprint(session), Receipt: receipt})
				}
			}
			o.Pass(relay.Redeliver + time.Second)
		}
		for name, all := range map[string]map[string]int{"arrived, and was confirmed": a.arrived, "came without again": a.firsts} {
			if len(all) != messages {
				t.Errorf("%d of %d messages %s", len(all), messages, name)
			}
			for id, n := range all {
				if n != 1 {
					t.Errorf("%s %s %d times", id, name, n)
				}
			}
		}
	})
}

func TestAHundredSessionsEachGetTheirOwnMailOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		const workers = 8
		sessions := 100
		if strings.HasSuffix(t.Name(), "firestore") {
			sessions = 16 // each takes a second on a busy emulator
		}
		addresses := make([]string, sessions)
		for i := range addresses {
			addresses[i] = o.start(alpha, fmt.Sprint(i))
			o.send(addresses[i], "for "+addresses[i], "")
		}
		failed := domaintest.Together(workers, func(worker int) error {
			receipt := ""
			for i := range 2 * (sessions/workers + 1) {
				session := (i/2)*workers + worker // twice in a row, the second time with the receipt
				if session >= sessions {
					continue
				}
				var out wire.HookOutput
				err := domaintest.Retry(t.Context(), func() (err error) {
					out, err = o.tryHook(alpha, wire.HookInput{Thread: fmt.Sprint(session), SessionID: addresses[session],
						MaxBytes: 1024, Receipt: receipt})
					return err
				})
				if err != nil {
					return err
				}
				want := ""
				if i%2 == 0 {
					want = "for " + addresses[session]
				}
				if receipt = out.Receipt; texts(out.Mail) != want || (want != "") != (receipt != "") {
					return fmt.Errorf("%s has %q, want %q", addresses[session], texts(out.Mail), want)
				}
			}
			return nil
		})
		if len(failed) > 0 {
			t.Error(failed)
		}
		o.Pass(relay.Redeliver)
		for i, v := range o.look(func() map[string]string {
			all := map[string]string{}
			for _, address := range addresses {
				all[address] = ""
			}
			return all
		}()) {
			if v.Mail != 0 {
				t.Errorf("%s has %d messages again", i, v.Mail)
			}
		}
	})
}
