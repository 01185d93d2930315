package pulse

import (
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestASessionOfAProgramGetsTheLowestFreeAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i, want := range []string{"alpha/1", "alpha/2", "alpha/3"} {
			if out := w.create(alpha, CreateInput{}); out.SessionID != want || out.Address != want || !out.Created {
				t.Errorf("session %d is %+v, want %s", i, out, want)
			}
		}
		if out := w.create(beta, CreateInput{}); out.Address != "beta/1" {
			t.Errorf("another program's is %+v", out)
		}
		if out := w.create(person, CreateInput{ProgramID: "alpha"}); out.Address != "alpha/4" {
			t.Errorf("a person's for the program is %+v", out)
		}
		w.create(alpha, CreateInput{SessionID: "6"})
		if out := w.create(alpha, CreateInput{}); out.Address != "alpha/5" {
			t.Errorf("after it comes %+v", out)
		}
		if out := w.create(alpha, CreateInput{}); out.Address != "alpha/7" {
			t.Errorf("the number of a given name is used again: %+v", out)
		}
	})
}

func TestTheNumberOfAnArchivedSessionIsFreeForANewOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{Status: new("busy"), Progress: new(40)})
		w.create(alpha, CreateInput{})
		w.Pass(time.Hour)
		w.update(alpha, UpdateInput{SessionID: "alpha/2"})
		w.Pass(10 * time.Minute)
		if n := w.sweep(10); n != 1 {
			t.Fatalf("swept %d", n)
		}
		out := w.create(alpha, CreateInput{Name: "fresh"})
		if out.Address != "alpha/1" || !out.Created || out.Status != "" || out.Progress != 0 || !out.CreatedAt.Equal(w.Now()) {
			t.Errorf("the new session is %+v", out)
		}
	})
}

func TestOfConcurrentSessionsEachGetsAnAddressOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const n = 8
		got := make(chan string, n)
		for _, err := range domaintest.Together(n, func(int) error {
			return domaintest.Retry(t.Context(), func() error {
				out, err := w.Create(t.Context(), alpha, CreateInput{Name: "one of many", State: Working})
				if err == nil {
					got <- out.Address
				}
				return err
			})
		}) {
			domaintest.Check(t, err)
		}
		close(got)
		seen := map[string]bool{}
		for address := range got {
			seen[address] = true
		}
		for i := range n {
			if want := fmt.Sprintf("alpha/%d", i+1); !seen[want] {
				t.Errorf("nobody has %s: %v", want, seen)
			}
		}
	})
}

func TestASessionIsFoundByItsIdAndItsAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "build"})
		w.create(alpha, CreateInput{SessionID: "alpha/Test"})
		for _, id := range []string{"build", "alpha/build", "Alpha/build"} {
			if v := w.update(alpha, UpdateInput{SessionID: id}); v.SessionID != "build" || v.Address != "alpha/build" {
				t.Errorf("%s finds %+v", id, v)
			}
		}
		for _, id := range []string{"alpha/Test", "alpha/test", "Test"} {
			if v := w.update(alpha, UpdateInput{SessionID: id}); v.SessionID != "alpha/Test" {
				t.Errorf("%s finds %+v", id, v)
			}
			if out := w.create(alpha, CreateInput{SessionID: id}); out.Created || out.SessionID != "alpha/Test" {
				t.Errorf("creating %s again gives %+v", id, out)
			}
		}
		if got := ids(w.list(alpha, ListInput{Limit: 10, State: "all"})); got != "build alpha/Test" && got != "alpha/Test build" {
			t.Errorf("listed %s", got)
		}
	})
}

func TestAnAddressIsOfTheSessionsOwnProgram(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(beta, CreateInput{SessionID: "beta/1"})
		_, err := w.Create(t.Context(), alpha, CreateInput{Name: "n", SessionID: "beta/1", State: Working})
		domaintest.Refused(t, "another program's address", err, fault.Forbidden, `"beta"`, `"alpha"`)
		_, err = w.Create(t.Context(), person, CreateInput{Name: "n", SessionID: "beta/1", ProgramID: "alpha", State: Working})
		domaintest.Refused(t, "an address and another program", err, fault.Invalid, `"beta"`, `"alpha"`)
		_, err = w.Update(t.Context(), alpha, UpdateInput{SessionID: "beta/1"})
		domaintest.Refused(t, "an update of it", err, fault.Forbidden, `"alpha"`)
		_, err = w.call(alpha, "update_session", `{"sessionId":"beta/1"}`)
		domaintest.Refused(t, "an update of it by a call", err, fault.Forbidden, `"alpha"`)
		// Without an address it is a session of its own, whatever others are called.
		if out := w.create(alpha, CreateInput{SessionID: "1"}); out.Address != "alpha/1" {
			t.Errorf("answered %+v", out)
		}
	})
}

func TestTheSessionOfACallIsTheOneThatItUpdates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		w.create(alpha, CreateInput{})
		c := alpha
		c.Session = "alpha/1"
		out := domaintest.Must(w.call(c, "update_session", `{"status":"here"}`))(t)
		if v := w.get("alpha/1"); v.Status != "here" {
			t.Errorf("%s was changed; the session of the call is %+v", out.SessionID, v)
		}
	})
}

func TestASessionThatEndsGivesItsMailToItsProgram(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		w.create(loose, CreateInput{SessionID: "of-nobody"})
		w.create(beta, CreateInput{SessionID: "silent"})
		w.update(alpha, UpdateInput{SessionID: "alpha/1", State: Blocked})
		if len(w.mail.forwarded) > 0 {
			t.Errorf("a session that goes on forwarded %v", w.mail.forwarded)
		}
		w.update(alpha, UpdateInput{SessionID: "alpha/1", State: Complete})
		w.update(loose, UpdateInput{SessionID: "of-nobody", State: Complete})
		if got := fmt.Sprint(w.mail.forwarded); got != "[u alpha/1]" {
			t.Errorf("forwarded %s", got)
		}
		w.Pass(2 * time.Hour)
		w.sweep(10)
		if got := fmt.Sprint(w.mail.forwarded); got != "[u alpha/1 u beta/silent]" && got != "[u beta/silent u alpha/1]" {
			t.Errorf("after the sweep forwarded %s", got)
		}
	})
}

func TestTheClaimsOfASessionFallUnderAllItsNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		w.create(alpha, CreateInput{SessionID: "build"})
		claims := map[string]string{"by-address": "alpha/1", "by-number": "1", "by-id": "build", "by-its-address": "alpha/build"}
		for id, session := range claims {
			w.holds(session, id, "beta")
		}
		w.holds("alpha/2", "of-another", "beta")
		w.Pass(2 * time.Hour)
		w.sweep(10)
		for id := range claims {
			if !w.free(id) {
				t.Errorf("the task %s is still held", id)
			}
		}
		if w.free("of-another") {
			t.Error("the task of another session is free")
		}
	})
}

func TestPresenceKnowsTheLiveSessionsOfAProgram(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		w.create(alpha, CreateInput{SessionID: "build"})
		w.create(alpha, CreateInput{SessionID: "over", State: Complete})
		w.create(beta, CreateInput{})
		got := domaintest.Must(w.Sessions(t.Context(), "u", "alpha"))(t)
		if len(got) != 2 {
			t.Errorf("the live sessions are %v", got)
		}
		for address, want := range map[string]bool{"alpha/1": true, "alpha/build": true, "ALPHA/1": true, "alpha/over": false,
			"alpha/2": false, "beta/build": false} {
			live := domaintest.Must(w.SessionLive(t.Context(), w.DB.User("u"), address))(t)
			if live != want {
				t.Errorf("%s is live: %v", address, live)
			}
		}
	})
}
