package files

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestAReleaseEndsWhatItNames(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.setTask("task", task.Created)
		id := func(token int64) string { return reservationID(boardID(app), token) }
		for name, c := range map[string]struct {
			in   ReleaseInput
			lost []string
			left string
		}{
			"ids": {ReleaseInput{ReservationIDs: []string{id(1), id(99), "x"}}, []string{"x", id(99)},
				"alpha docs/ | alpha web/ | beta lib/"},
			"paths": {ReleaseInput{Project: app, Paths: []string{"./src/", "lib/"}}, []string{"lib/"},
				"alpha docs/ | alpha web/ | beta lib/"},
			"a task":     {ReleaseInput{Project: app, TaskID: "task"}, nil, "alpha src/ | alpha docs/ | beta lib/"},
			"everything": {ReleaseInput{Project: app}, nil, "beta lib/"},
			"nothing":    {ReleaseInput{Project: "host/other"}, nil, "alpha src/ | alpha docs/ | alpha web/ | beta lib/"},
		} {
			d.takes("alpha", "src/", "docs/")
			domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Paths: []string{"web/"}, TaskID: "task"}))(t)
			d.takes("beta", "lib/")
			out := domaintest.Must(d.Release(t.Context(), alpha, c.in))(t)
			if !slices.Equal(out.NotFound, c.lost) {
				t.Errorf("%s: not found %q, want %q", name, out.NotFound, c.lost)
			}
			if got := d.held(); got != c.left {
				t.Errorf("%s: left %q, want %q", name, got, c.left)
			}
			d.put(func(tx *store.Tx) { boards.Delete(tx, boardID(app)) })
		}
	})
}

func TestOnlyTheHolderOrAHumanRenewsAndReleases(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha.1", "src/")
		ids := []string{reservationID(boardID(app), 1)}
		for name, c := range map[string]struct {
			by      identity.Caller
			session string
			may     bool
		}{
			"another program":                 {by: beta},
			"another program in that session": {by: beta, session: "alpha.1"},
			"an unbound key":                  {by: loose, session: "alpha.1"},
			"the program without its session": {by: alpha},
			"another session of the program":  {by: alpha, session: "alpha.2"},
			"a human":                         {by: ann, may: true},
			"the session":                     {by: alpha, session: "alpha.1", may: true},
		} {
			_, err := d.Renew(t.Context(), c.by, RenewInput{ReservationIDs: ids, SessionID: c.session})
			if c.may {
				domaintest.Check(t, err)
				continue
			}
			domaintest.Refused(t, name+" renews", err, fault.Forbidden, `is held by "alpha/alpha.1"`)
			_, err = d.Release(t.Context(), c.by, ReleaseInput{ReservationIDs: ids, SessionID: c.session})
			domaintest.Refused(t, name+" releases", err, fault.Forbidden, "or a human")
		}
		d.holds("alpha.1 src/")
		domaintest.Must(d.Release(t.Context(), ann, ReleaseInput{ReservationIDs: ids}))(t)
		d.holds("")
	})
}

func TestARenewalExtendsTheLeaseAndIsWrittenOnceAMinute(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		first := d.takes("alpha", "src/", "docs/")
		board := d.board()
		renew := func(want time.Time) {
			t.Helper()
			out := domaintest.Must(d.Renew(t.Context(), alpha, RenewInput{Project: app}))(t)
			if len(out.Renewed) != 2 || out.Renewed[0].Until != want || out.Renewed[1].Until != want {
				t.Errorf("%+v, want until %v", out, want)
			}
		}
		d.Pass(59 * time.Second)
		renew(first[0].Until)
		d.Pass(20 * time.Minute)
		until := first[0].Until.Add(59*time.Second + 20*time.Minute)
		renew(until)
		d.Pass(30 * time.Second)
		renew(until)
		if now := d.board(); now.UpdatedAt != board.UpdatedAt {
			t.Errorf("a renewal wrote the board: %+v", now)
		}
		d.Pass(15 * time.Minute) // past the first end
		d.refuses("beta", "src/a")
		d.takes("alpha", "web/") // merges the renewals
		if b := d.board(); len(b.Reservations) != 3 || b.Reservations[0].Until != until {
			t.Errorf("%+v", b)
		}
		if _, err := renewals.Get(t.Context(), d.DB.User("u"), boardID(app)); !fault.Is(err, fault.NotFound) {
			t.Errorf("the renewals are left: %v", err)
		}
		d.Pass(time.Hour)
		out := domaintest.Must(d.Renew(t.Context(), alpha, RenewInput{ReservationIDs: []string{first[0].ReservationID}}))(t)
		if len(out.Renewed) != 0 || !slices.Equal(out.NotFound, []string{first[0].ReservationID}) {
			t.Errorf("after its end: %+v", out)
		}
	})
}

func TestAReservationIsBrokenByAHumanOrOnceItsHolderIsSilent(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		brk := func(c identity.Caller, v View) error {
			_, err := d.Break(t.Context(), c, BreakInput{ReservationID: v.ReservationID, Reason: "it is in the way"})
			return err
		}
		v := d.takes("alpha.1", "src/")[0]
		d.setLife("alpha.1", life{Heard: d.Clock.Now()})
		domaintest.Refused(t, "at once", brk(beta, v), fault.Forbidden, `"alpha/alpha.1" holds src/`, "last heard of at 2026-03-01T12:00:00Z")
		d.Pass(9 * time.Minute)
		d.setLife("alpha.1", life{Heard: d.Clock.Now()})
		d.Pass(9 * time.Minute)
		domaintest.Refused(t, "after a heartbeat", brk(beta, v), fault.Forbidden, "last heard of at 2026-03-01T12:09:00Z")
		domaintest.Must(d.Renew(t.Context(), alpha, RenewInput{Project: app, SessionID: "alpha.1"}))(t)
		d.Pass(9 * time.Minute)
		domaintest.Refused(t, "after a renewal", brk(beta, v), fault.Forbidden, "last heard of at 2026-03-01T12:18:00Z")
		d.Pass(time.Minute)
		domaintest.Check(t, brk(beta, v))
		if got := d.notices.all(); len(got) != 1 || !strings.HasPrefix(got[0],
			"alpha: Your reservation of src/ in "+app+" was broken by beta.") || !strings.Contains(got[0], "alpha.1") ||
			!strings.Contains(got[0], "it is in the way") {
			t.Errorf("told: %q", got)
		}
		domaintest.Refused(t, "twice", brk(beta, v), fault.NotFound, "may have ended")

		domaintest.Check(t, brk(ann, d.takes("alpha", "src/")[0]))
		domaintest.Check(t, brk(alpha, d.takes("alpha", "src/")[0]))
		v = d.takes("alpha.1", "src/")[0]
		d.setLife("alpha.1", life{Ended: true, Heard: d.Clock.Now()})
		domaintest.Check(t, brk(beta, v))
		if got := d.notices.all(); len(got) != 3 {
			t.Errorf("told: %q", got)
		}
		d.holds("")
		for _, id := range []string{"x", "1", v.ReservationID + "0", "." + v.ReservationID} {
			domaintest.Refused(t, id, brk(ann, View{ReservationID: id}), fault.NotFound)
		}
	})
}

func TestASweepRemovesWhatHasEnded(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		sweep := func(want int) {
			t.Helper()
			n := domaintest.Must(d.SweepBoards(t.Context(), store.NewAdmin(d.DB), 10))(t)
			if n != want {
				t.Errorf("swept %d boards, want %d", n, want)
			}
		}
		d.takes("alpha", "src/")
		d.Pass(10 * time.Minute)
		d.takes("beta", "docs/")
		d.Pass(10 * time.Minute)
		domaintest.Must(d.Renew(t.Context(), beta, RenewInput{Project: app}))(t)
		sweep(0)
		d.Pass(10 * time.Minute)
		sweep(1)
		if b := d.board(); len(b.Reservations) != 1 || b.Reservations[0].Program != "beta" || b.Token != 2 ||
			b.DueAt != b.Reservations[0].Until {
			t.Errorf("%+v", b)
		}
		d.Pass(time.Hour)
		sweep(1)
		sweep(0)
		if b := d.board(); len(b.Reservations) != 0 || !b.DueAt.IsZero() || b.PurgeAt != d.Clock.Now().Add(Retention) {
			t.Errorf("%+v", b)
		}
	})
}
