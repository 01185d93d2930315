package files

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// many returns n different paths of a length.
func many(n, length int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%05d", i) + strings.Repeat("x", length-5)
	}
	return out
}

func TestAProjectHasAtMost500Reservations(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		paths := many(MaxReservations, 20)
		for i := 0; i < len(paths); i += 100 {
			d.takes("alpha", paths[i:i+100]...)
		}
		_, err := d.take("beta", "one/", "two/")
		domaintest.Refused(t, "two more", err, fault.Exhausted, "would have 502 reservations, and may have 500")
		d.takes("alpha", paths[:10]...) // held paths are extended
		domaintest.Must(d.Release(t.Context(), alpha, ReleaseInput{Project: app, Paths: paths[:2]}))(t)
		d.takes("beta", "one/", "two/")
	})
}

// The largest texts of all fields do not make a document that the store refuses.
func TestABoardOfTheLargestTextsIsRefusedBeforeItIsTooLargeForTheStore(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		var last error
		for i := range 5 {
			paths := many(100, 300)
			for k := range paths {
				paths[k] = fmt.Sprint(i) + strings.Repeat("é", 294) + paths[k][:5]
			}
			in := ReserveInput{Paths: paths, Reason: strings.Repeat("名", 200), Worktree: strings.Repeat("名", 200),
				SessionID: strings.Repeat("s", 100)}
			_, last = d.Reserve(t.Context(), domaintest.Bound("u", strings.Repeat("p", 100)), in)
			if last != nil {
				break
			}
		}
		domaintest.Refused(t, "the first too many", last, fault.Exhausted, "give shorter patterns and reasons")
	})
}

func TestAtMost100CallsWaitForOneProject(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		b := d.board()
		for i := range maxWaiters {
			b.Waiters = append(b.Waiters, Waiter{Holder: Holder{KeyID: fmt.Sprint(i)},
				Mode: Exclusive, Patterns: []string{"src/"}, Until: d.Clock.Now().Add(time.Minute)})
		}
		d.put(func(tx *store.Tx) { boards.Put(tx, boardID(app), b) })
		in := ReserveInput{Paths: []string{"src/"}, WaitMs: 1000}
		_, err := d.Reserve(t.Context(), beta, in)
		domaintest.Refused(t, "one more", err, fault.Exhausted, "100 calls wait for their turn already")
		d.Pass(2 * time.Minute) // the turns have passed
		_, err = d.Reserve(t.Context(), beta, in)
		domaintest.Refused(t, "after them", err, fault.Precondition, "holds src/")
	})
}

// The most complex patterns, in the largest number, are refused before they hold up the store.
func TestAttackHostilePatternsAreRefusedInBoundedWork(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		hostile := func(a, b string) (out []string) {
			for i := range 100 {
				out = append(out, strings.Repeat("*"+a, 120)+fmt.Sprintf("%03d", i)+strings.Repeat("?*"+b, 18))
			}
			return out
		}
		d.takes("alpha", hostile("a", "b")...)
		_, err := d.take("beta", hostile("b", "a")...)
		domaintest.Refused(t, "hostile patterns", err, fault.Invalid, "paths: the patterns are too complex to compare")
		d.takes("beta", "src/", "docs/*.md")
	})
}

func TestAListIsReadInPages(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		want := 0
		for i := range 7 {
			project := fmt.Sprintf("host/p/%d", i)
			domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Project: project, Paths: many(40, 10)}))(t)
			domaintest.Must(d.Reserve(t.Context(), beta, ReserveInput{Project: project, Paths: []string{"beta/", "b"}}))(t)
			want += 42
		}
		read := func(in ListInput) (seen map[string]int, pages int) {
			seen = map[string]int{}
			for {
				out := domaintest.Must(d.List(t.Context(), alpha, in))(t)
				pages++
				for _, v := range out.Reservations {
					seen[v.ReservationID]++
				}
				if in.Cursor = out.NextCursor; in.Cursor == "" {
					return seen, pages
				}
			}
		}
		if seen, pages := read(ListInput{}); len(seen) != want || pages != 3 {
			t.Errorf("%d of %d reservations in %d pages", len(seen), want, pages)
		}
		if seen, pages := read(ListInput{Program: "BETA"}); len(seen) != 14 || pages != 1 {
			t.Errorf("%d of beta in %d pages", len(seen), pages)
		}
		if seen, _ := read(ListInput{Project: "host/p/3", Path: "**/b*"}); len(seen) != 2 {
			t.Errorf("%d on the path", len(seen))
		}
	})
}

func TestACheckTellsForEachPathWhoHoldsIt(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		domaintest.Must(d.Reserve(t.Context(), beta, ReserveInput{Paths: []string{"docs/"}, Mode: Shared, Reason: "r"}))(t)
		domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Paths: []string{"docs/a*"}, Mode: Shared}))(t)
		domaintest.Must(d.Service.Set(t.Context(), ann, SettingsInput{Project: app, Strict: true}))(t)
		out := domaintest.Must(d.Check(t.Context(), alpha, CheckInput{Project: app,
			Paths: []string{"./src//a.go", "docs/a.md", "docs/b.md", "web/[id].tsx"}}))(t)
		var got []string
		for _, p := range out.Paths {
			text := p.Path + " " + p.State
			for _, by := range p.By {
				text += " " + by.Holder + " " + by.Pattern + " " + by.Reason
			}
			got = append(got, text)
		}
		const want = "src/a.go yours|docs/a.md yours|docs/b.md held beta docs/ r|web/[id].tsx free"
		if strings.Join(got, "|") != want || !out.Settings.Strict || out.Settings.Auto {
			t.Errorf("got %q, %+v\nwant %q", got, out.Settings, want)
		}
	})
}
