package pulse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// populate creates sessions at intervals of a second and makes one of them silent.
func (w *world) populate() {
	w.t.Helper()
	w.create(alpha, CreateInput{SessionID: "silent"})
	w.Pass(65 * time.Minute)
	w.sweep(10)
	for _, s := range []struct {
		id    string
		by    identity.Caller
		state State
	}{{"working", alpha, Working}, {"pinned", beta, Pinned}, {"complete", alpha, Complete}, {"blocked", alpha, Blocked},
		{"nobodys", loose, Working}} {
		w.Pass(time.Second)
		w.create(s.by, CreateInput{SessionID: s.id, State: s.state})
	}
	w.create(stranger, CreateInput{SessionID: "theirs"})
}

func TestAListingAppliesItsFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.populate()
		for _, c := range []struct {
			in   ListInput
			want string
		}{
			{ListInput{}, "nobodys blocked complete pinned working"},
			{ListInput{State: "all"}, "nobodys blocked complete pinned working"},
			{ListInput{IncludeArchived: true}, "nobodys blocked complete pinned working silent"},
			{ListInput{State: Working}, "nobodys working"},
			{ListInput{State: Working, IncludeArchived: true}, "nobodys working silent"},
			{ListInput{State: Blocked}, "blocked"},
			{ListInput{State: Pinned}, "pinned"},
			{ListInput{State: Complete}, "complete"},
			{ListInput{ProgramID: "alpha"}, "blocked complete working"},
			{ListInput{ProgramID: "alpha", State: Working, IncludeArchived: true}, "working silent"},
			{ListInput{ProgramID: "gamma"}, ""},
			{ListInput{Limit: 2}, "nobodys blocked"},
		} {
			if got := ids(w.list(beta, c.in)); got != c.want {
				t.Errorf("%+v: %q, want %q", c.in, got, c.want)
			}
		}
		if got := ids(w.list(stranger, ListInput{IncludeArchived: true})); got != "theirs" {
			t.Errorf("another user sees %q", got)
		}
	})
}

func TestAListingHasTheTimesOfHeartbeats(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.populate()
		made := w.Now()
		w.Pass(64 * time.Minute)
		w.update(alpha, UpdateInput{SessionID: "working", LastHeartbeat: true})
		w.Pass(time.Minute)
		for id, want := range map[string]struct {
			live bool
			at   time.Time
		}{
			"working":  {true, w.Now().Add(-time.Minute)},
			"nobodys":  {false, made},
			"complete": {false, made.Add(-2 * time.Second)},
			"silent":   {false, made.Add(-65*time.Minute - 5*time.Second)},
		} {
			v := w.get(id)
			if v.Live != want.live || !v.LastHeartbeat.Equal(want.at) || v.Archived != (id == "silent") {
				t.Errorf("%s: %+v, want %+v", id, v, want)
			}
		}
	})
}

func TestPagesShowEverySessionOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var want []string
		for i := range 11 { // some of them at the same time
			if i%3 == 0 {
				w.Pass(time.Second)
			}
			id := fmt.Sprintf("s%02d", i)
			w.create(alpha, CreateInput{SessionID: id})
			want = append([]string{id}, want...)
		}
		in := ListInput{Limit: 4, ProgramID: "alpha"}
		var got []string
		for range 5 {
			out := w.list(alpha, in)
			got = append(got, strings.Fields(ids(out))...)
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("paged %q, want %q", got, want)
		}
		if n := len(w.list(alpha, ListInput{}).Sessions); n != 10 {
			t.Errorf("a page has %d by default", n)
		}
	})
}

func TestProgramsAreThoseWithALiveSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		programs := func(user string) string {
			out, err := w.Programs(t.Context(), user)
			if err != nil || out == nil {
				t.Errorf("%v, %v", out, err)
			}
			return strings.Join(out, " ")
		}
		if got := programs("u"); got != "" {
			t.Errorf("at first: %q", got)
		}
		w.populate()
		w.create(domaintest.Bound("u", "zeta"), CreateInput{State: Complete})
		w.create(domaintest.Bound("u", "eta"), CreateInput{})
		if got := programs("u"); got != "alpha beta eta" {
			t.Errorf("programs are %q", got)
		}
		if got := programs("v"); got != "alpha" {
			t.Errorf("another user's are %q", got)
		}
	})
}

func TestProgramsReadsMoreThanOnePage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(beta, CreateInput{})
		for page := range 2 {
			w.write(func(tx *store.Tx) {
				for i := range 250 {
					v := Session{ProgramID: "alpha", State: Working, Lifecycle: task.Active,
						CreatedAt: w.Now().Add(time.Hour)}
					sessions.Put(tx, fmt.Sprintf("s-%d-%d", page, i), v)
				}
			})
		}
		if got, err := w.Programs(t.Context(), "u"); err != nil || strings.Join(got, " ") != "alpha beta" {
			t.Errorf("programs are %q, %v", got, err)
		}
	})
}
