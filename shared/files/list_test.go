package files

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
)

// pages reads a list to its end.
func (d *desk) pages(in ListInput) (all []ListOutput) {
	d.t.Helper()
	for {
		out := domaintest.Must(d.List(d.t.Context(), ann, in))(d.t)
		all = append(all, out)
		if in.Cursor = out.NextCursor; in.Cursor == "" {
			return all
		}
	}
}

// queued gives a call a turn in a project for a minute.
func (d *desk) queued(project, program, pattern string) {
	d.t.Helper()
	id := boardID(project)
	b := domaintest.Must(boards.Get(d.t.Context(), d.DB.User("u"), id))(d.t)
	b.Waiters = append(b.Waiters, Waiter{Holder: Holder{Program: program}, Mode: Exclusive, Patterns: []string{pattern},
		Since: d.Clock.Now(), Until: d.Clock.Now().Add(time.Minute)})
	d.put(func(tx *store.Tx) { boards.Put(tx, id, b) })
}

func TestAListHasTheCallsThatWaitInTheOrderOfTheirTurns(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		second := d.wait("beta.1", Exclusive, 1, "src/a.go", "1", "2", "3", "4", "5", "6")
		third := d.wait("gamma", Shared, 2, "src/", "web/")
		for _, c := range []struct {
			in   ListInput
			want string
		}{
			{ListInput{}, "beta.1 src/a.go | gamma src/"},
			{ListInput{Project: app}, "beta.1 src/a.go | gamma src/"},
			{ListInput{Project: app, Program: "GAMMA"}, "gamma src/"},
			{ListInput{Project: app, Path: "web/x"}, "gamma src/"},
			{ListInput{Project: app, Path: "docs/x"}, ""},
			{ListInput{Project: "host/other"}, ""},
		} {
			out := domaintest.Must(d.List(t.Context(), ann, c.in))(t)
			var got []string
			for _, w := range out.Waiting {
				who := w.Holder
				if w.SessionID != "" {
					who = w.SessionID
				}
				got = append(got, who+" "+w.Patterns[0])
			}
			if strings.Join(got, " | ") != c.want {
				t.Errorf("%+v: there wait %q, want %q", c.in, got, c.want)
			}
		}
		first := domaintest.Must(d.List(t.Context(), ann, ListInput{}))(t).Waiting[0]
		if len(first.Patterns) != maxPatterns || first.More != 2 || first.Project != app || first.Mode != Exclusive ||
			first.Since != d.Clock.Now() || !first.Until.After(first.Since) {
			t.Errorf("%+v", first)
		}
		d.release("alpha")
		domaintest.Check(t, <-second)
		d.release("beta.1")
		domaintest.Check(t, <-third)
		if out := domaintest.Must(d.List(t.Context(), ann, ListInput{}))(t); len(out.Waiting) != 0 {
			t.Errorf("there wait %+v", out.Waiting)
		}
	})
}

func TestEachReservationAndEachWaitIsOnOnePageOfAList(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		reserved, waiting := 0, 0
		for i := range 5 {
			project := fmt.Sprintf("host/p/%d", i)
			paths := many(70, 10)
			domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Project: project, Paths: paths, Mode: Shared}))(t)
			// The first of the board has now the highest token.
			domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Project: project, Paths: paths[:1]}))(t)
			d.queued(project, "beta", paths[0])
			d.queued(project, "gamma", paths[1])
			reserved, waiting = reserved+len(paths), waiting+2
			if i%2 == 1 { // nothing is reserved there, and calls are about to take it
				domaintest.Must(d.Release(t.Context(), alpha, ReleaseInput{Project: project}))(t)
				reserved -= len(paths)
			}
		}
		ids, waits, pages := map[string]int{}, map[string]int{}, d.pages(ListInput{})
		for _, p := range pages {
			for _, v := range p.Reservations {
				ids[v.ReservationID]++
			}
			for _, w := range p.Waiting {
				waits[w.Project+" "+w.Holder]++
			}
		}
		if len(ids) != reserved || len(waits) != waiting || len(pages) != 3 {
			t.Errorf("%d of %d reservations and %d of %d waits on %d pages", len(ids), reserved, len(waits), waiting, len(pages))
		}
		for what, n := range waits {
			if n != 1 {
				t.Errorf("the wait of %s is listed %d times", what, n)
			}
		}
	})
}

func TestAListHasWhatWentPastReservationsOnTheLastDay(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		recent := func(project string) (got []string) {
			t.Helper()
			for _, i := range domaintest.Must(d.List(t.Context(), ann, ListInput{Project: project, Recent: true}))(t).Recent {
				got = append(got, fmt.Sprintf("%s %s%s of %s by %s: %s", i.Kind, i.Path, i.Pattern, i.Holder, i.By, i.Reason))
			}
			return got
		}
		in := ReserveInput{Paths: []string{"src/"}, Reason: "the parser", SessionID: "alpha.1"}
		held := domaintest.Must(d.Reserve(t.Context(), alpha, in))(t).Reservations[0]
		edit := Edit{Project: app, Worktree: "main", Branch: "main", Paths: []string{"src/a.go", "free"}, SessionID: "beta.2"}
		for range 2 {
			domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
		}
		d.Pass(time.Minute)
		brk := BreakInput{ReservationID: held.ReservationID, Reason: "in the way"}
		domaintest.Must(d.Break(t.Context(), ann, brk))(t)
		mine := d.takes("alpha", "web/")[0]
		domaintest.Must(d.Break(t.Context(), alpha, BreakInput{ReservationID: mine.ReservationID}))(t)

		want := []string{"broken src/ of alpha/alpha.1 by " + ann.Actor() + ": in the way",
			"changed src/a.gosrc/ of alpha/alpha.1 by beta/beta.2: the parser"}
		for _, project := range []string{"", app} {
			if got := recent(project); !slices.Equal(got, want) {
				t.Errorf("of %q: %q, want %q", project, got, want)
			}
		}
		if got := recent("host/other"); got != nil {
			t.Errorf("of another project: %q", got)
		}
		if out := domaintest.Must(d.List(t.Context(), ann, ListInput{}))(t); out.Recent != nil {
			t.Errorf("without being asked: %+v", out.Recent)
		}
		d.Pass(recentTime)
		if got := recent(""); len(got) != 1 || !strings.HasPrefix(got[0], "broken") {
			t.Errorf("a day after the first: %q", got)
		}
		d.Pass(time.Hour)
		if got := recent(""); got != nil {
			t.Errorf("later: %q", got)
		}
	})
}

func TestIncidentsByOneProgramDoNotHideThoseByOthers(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "gen/")
		d.takes("delta", "web/")
		changes := func(who, path string) {
			t.Helper()
			edit := Edit{Project: app, Paths: []string{path}, SessionID: session(who)}
			domaintest.Must(d.Service.Changed(t.Context(), callerOf(who), edit))(t)
			d.Pass(time.Second)
		}
		changes("gamma", "web/a.go")
		for i := range 30 {
			changes("beta.1", fmt.Sprintf("gen/%d.go", i))
		}
		recent := func(in ListInput) ListOutput {
			t.Helper()
			in.Recent = true
			return domaintest.Must(d.List(t.Context(), ann, in))(t)
		}
		out := recent(ListInput{Project: app})
		if n := len(out.Recent); n != recentCount || !out.RecentMore || out.Recent[0].Path != "gen/29.go" ||
			out.Recent[n-1].Path != "web/a.go" {
			t.Errorf("more %t, recent are %+v", out.RecentMore, out.Recent)
		}
		for _, who := range []string{"GAMMA", "delta"} {
			if out := recent(ListInput{Program: who}); len(out.Recent) != 1 || out.RecentMore || out.Recent[0].Path != "web/a.go" {
				t.Errorf("of %s: more %t, recent are %+v", who, out.RecentMore, out.Recent)
			}
		}
		if out := recent(ListInput{Program: "epsilon"}); out.Recent != nil || out.RecentMore {
			t.Errorf("of another: more %t, recent are %+v", out.RecentMore, out.Recent)
		}
	})
}

func TestIncidentsAreOnTheFirstPageOfAListAlone(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Paths: many(100, 10)}))(t)
		d.takes("alpha", "web/")
		edit := Edit{Project: app, Paths: []string{"web/a.go"}}
		domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
		pages := d.pages(ListInput{Project: app, Recent: true})
		if len(pages) != 2 || len(pages[0].Recent) != 1 || pages[1].Recent != nil {
			t.Errorf("pages are %+v", pages)
		}
	})
}
