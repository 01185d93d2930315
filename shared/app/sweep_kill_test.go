package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/task"
	"parley.internal/shared/team"
)

// filled is a store with many documents of two users that are due for a sweep, and as many that are not.
type filled struct {
	*fixture      // for the callers, directly on the driver
	sweeper  *App // on the stepped driver
	driver   *stepped
	// Of user u: silent is a session that a sweep must end, lapsed a claim that has expired, deletedTeam a team that
	// was deleted.
	silent, lapsed, deletedTeam string
}

// template is a closed store, of which each test opens a copy: its directory, and the time that has passed on its clock.
type template struct {
	dir                         string
	passed                      time.Duration
	silent, lapsed, deletedTeam string
}

func (s *template) open(t *testing.T) *filled {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	p := openFilled(t, dir, "new-")
	p.Pass(s.passed)
	p.silent, p.lapsed, p.deletedTeam = s.silent, s.lapsed, s.deletedTeam
	t.Cleanup(func() { _ = p.DB.Close() })
	return p
}

// openFilled opens a store in which generated ids begin with the prefix.
func openFilled(t *testing.T, dir, prefix string) *filled {
	t.Helper()
	d, err := sqlite.Open(t.Context(), filepath.Join(dir, "parley.db"), Schema())
	if err != nil {
		t.Fatal(err)
	}
	clock := newClock()
	ports := Ports{Now: clock.Now, NewID: func() string { return prefix + clock.NewID() }}
	p := &filled{driver: &stepped{Driver: d}}
	p.fixture = &fixture{New(store.New(d, Schema()), ports), clock, t}
	p.sweeper = New(store.New(p.driver, Schema()), ports)
	return p
}

// newTemplate fills a store.
func newTemplate(t *testing.T) *template {
	t.Helper()
	s := &template{dir: t.TempDir(), passed: task.Retention + 2*time.Hour, silent: "b.u"}
	p := openFilled(t, s.dir, "")
	users := []string{"u", "v"}
	for _, user := range users {
		id, token := p.claim(user, "ended", "", 0)
		v, err := p.Dispatch.Complete(
			t.Context(),
			domaintest.Bound(user, "beta"),
			op.Fill(dispatch.CompleteInput{TaskID: id, ClaimToken: token}),
		)
		domaintest.Must(v, err)(t)
		p.record(user)
	}
	p.Pass(task.Retention)
	for _, user := range users {
		session, err := p.Pulse.Create(t.Context(), domaintest.Bound(user, "beta"), op.Fill(pulse.CreateInput{
			Name:      "b",
			SessionID: "b." + user,
		}))
		domaintest.Must(session, err)(t)
		p.claim(user, "of a session", "b."+user, 86_400)
		p.claim(user, "of the same session", "b."+user, 86_400)
		if id, _ := p.claim(user, "lapsed", "", 0); user == "u" {
			s.lapsed = id
		}
		for i := range 3 {
			p.create(user, fmt.Sprint("late ", i), 60)
			p.send(user, fmt.Sprint("late ", i), 60)
		}
	}
	p.startTeam("quiet")
	s.deletedTeam = p.deleteTeam("gone")
	p.Pass(2 * time.Hour)
	p.startTeam("busy")
	for _, user := range users {
		session, err := p.Pulse.Create(t.Context(), domaintest.Bound(user, "beta"), op.Fill(pulse.CreateInput{
			Name:      "live",
			SessionID: "live." + user,
		}))
		domaintest.Must(session, err)(t)
		p.claim(user, "live", "live."+user, 0)
		p.create(user, "waiting", 3600)
		p.send(user, "unread", 3600)
		p.record(user)
	}
	if err := p.DB.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *filled) create(user, title string, ttl int64) string {
	p.t.Helper()
	made, err := p.Dispatch.Create(p.t.Context(), domaintest.Bound(user, "alpha"), op.Fill(dispatch.CreateInput{
		Title:  title,
		Target: "beta",
		TTL:    ttl,
	}))
	return domaintest.Must(made, err)(p.t).TaskID
}

func (p *filled) claim(user, title, session string, lease int) (id string, token int64) {
	p.t.Helper()
	id = p.create(user, title, 0)
	c, err := p.Dispatch.Claim(p.t.Context(), domaintest.Bound(user, "beta"), op.Fill(dispatch.ClaimInput{
		TaskID:       id,
		SessionID:    session,
		LeaseSeconds: lease,
	}))
	return id, domaintest.Must(c, err)(p.t).ClaimToken
}

func (p *filled) send(user, text string, ttl int64) {
	p.t.Helper()
	m, err := p.Relay.Send(p.t.Context(), domaintest.Bound(user, "alpha"), op.Fill(relay.SendInput{
		Message:     text,
		Target:      "beta",
		MessageType: "STATUS",
		TTL:         ttl,
	}))
	domaintest.Must(m, err)(p.t)
}

func (p *filled) record(user string) {
	p.t.Helper()
	p.Ledger.Record(op.Usage{Op: "look", Transport: "mcp", Caller: domaintest.Bound(user, "alpha"), At: p.Now()})
	domaintest.Check(p.t, p.Ledger.Flush(p.t.Context()))
}

// startTeam makes a teammate of a team of user u work on a task.
func (p *filled) startTeam(name string) {
	p.t.Helper()
	ctx, lead, mate := p.t.Context(), domaintest.Bound("u", name), "mate"
	made, err := p.Team.Create(ctx, lead, op.Fill(team.CreateInput{TeamName: name}))
	domaintest.Must(made, err)(p.t)
	spawned, err := p.Team.Spawn(ctx, lead, op.Fill(team.SpawnInput{
		TeamName:    name,
		Name:        mate,
		Prompt:      "p",
		BackendType: team.External,
	}))
	domaintest.Must(spawned, err)(p.t)
	created, err := p.Team.CreateTask(ctx, lead, op.Fill(team.CreateTaskInput{TeamName: name, Subject: "s"}))
	domaintest.Must(created, err)(p.t)
	v, err := p.Team.UpdateTask(ctx, lead, op.Fill(team.UpdateTaskInput{
		TeamName: name,
		TaskID:   created.ID,
		Status:   team.InProgress,
		Owner:    &mate,
	}))
	domaintest.Must(v, err)(p.t)
}

// deleteTeam deletes a team that had tasks and mail, and returns its id.
func (p *filled) deleteTeam(name string) string {
	p.t.Helper()
	p.startTeam(name)
	killed, err := p.Team.Kill(p.t.Context(), domaintest.Bound("u", name), op.Fill(team.MemberInput{
		TeamName:  name,
		AgentName: "mate",
	}))
	domaintest.Must(killed, err)(p.t)
	gone, err := p.Team.Delete(p.t.Context(), domaintest.Bound("u", name), op.Fill(team.NameInput{TeamName: name}))
	domaintest.Must(gone, err)(p.t)
	for ref := range p.documents() {
		if ref.Coll == "teamGraves" {
			return ref.ID
		}
	}
	p.t.Fatal("a deleted team leaves no deletion to the sweep")
	return ""
}

// run sweeps once and reports whether documents are left.
func (p *filled) run(ctx context.Context, name string) Report {
	p.t.Helper()
	for _, s := range p.sweeper.Sweeps() {
		if s.Name == name {
			report, err := s.Run(ctx, store.NewAdmin(p.sweeper.DB))
			return domaintest.Must(report, err)(p.t)
		}
	}
	p.t.Fatalf("no sweep %q", name)
	return Report{}
}

// handles is the number of documents of a template that each sweep handles, and the least number of steps that it takes.
var handles = map[string]struct{ documents, steps int }{
	"sessions": {2 + 1 + 1, 30}, "tasks": {2 + 6 + 2, 13}, "relay": {6, 3}, "ledger": {2, 3},
}

func eachSweep(t *testing.T, test func(t *testing.T, name string, from *template)) {
	t.Helper()
	t.Parallel()
	from := newTemplate(t)
	for name := range handles {
		t.Run(name, func(t *testing.T) {
			test(t, name, from)
		})
	}
}

// A sweep that is killed after any of its steps and run again leaves the same documents as one that is not killed.
func TestASweepMayBeKilledAtAnyStepAndRunAgain(t *testing.T) {
	eachSweep(t, func(t *testing.T, name string, from *template) {
		whole := from.open(t)
		before := whole.documents()
		report, steps := whole.run(t.Context(), name), whole.driver.steps
		want := whole.documents()
		if report.More || report.Total() != handles[name].documents || steps < handles[name].steps ||
			len(differences(want, before)) < handles[name].documents {
			t.Fatalf("of %d documents it left %d, in %d steps: %+v", len(before), len(want), steps, report)
		}
		for k := 1; k <= steps; k += killEvery {
			p := from.open(t)
			ctx, kill := context.WithCancel(t.Context())
			p.driver.before = func(step int) {
				if step >= k {
					kill()
				}
			}
			if r := p.run(ctx, name); !r.More {
				t.Errorf("killed at step %d of %d it says that nothing is left", k, steps)
			}
			p.driver.before = nil
			if r := p.run(t.Context(), name); r.More {
				t.Errorf("after step %d the next run reports %+v", k, r)
			}
			if d := differences(p.documents(), want); len(d) > 0 {
				t.Fatalf("killed at step %d of %d:\n%s", k, steps, strings.Join(d, "\n"))
			}
			kill()
		}
	})
}

// A document that is written at any step of a sweep is unchanged afterwards.
func TestDocumentsWrittenDuringASweepSurviveIt(t *testing.T) {
	eachSweep(t, func(t *testing.T, name string, from *template) {
		whole := from.open(t)
		whole.run(t.Context(), name)
		steps := whole.driver.steps
		for k := 1; k <= steps; k += killEvery {
			p := from.open(t)
			var written map[store.Ref]store.Fields
			p.driver.before = func(step int) {
				if step == k {
					written = p.meanwhile()
				}
			}
			if r := p.run(t.Context(), name); r.More {
				t.Errorf("written at step %d: %+v", k, r)
			}
			p.driver.before = nil
			p.run(t.Context(), name)
			now := p.documents()
			for ref, f := range written {
				if !reflect.DeepEqual(now[ref], f) {
					t.Errorf("written at step %d of %d: %v is %v instead of %v", k, steps, ref, now[ref], f)
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	})
}

// meanwhile makes the changes of others while a sweep runs: it creates documents, refreshes a session and a teammate
// that were silent, and claims a task again whose claim had expired. It returns the documents that are new or that the
// sweep might have removed.
func (p *filled) meanwhile() map[store.Ref]store.Fields {
	p.t.Helper()
	before := p.documents()
	session, err := p.Pulse.Create(p.t.Context(), domaintest.Bound("u", "beta"), op.Fill(pulse.CreateInput{
		Name:      "b",
		SessionID: p.silent,
	}))
	domaintest.Must(session, err)(p.t)
	again, err := p.Dispatch.Claim(p.t.Context(), domaintest.Bound("u", "beta"),
		op.Fill(dispatch.ClaimInput{TaskID: p.lapsed}))
	domaintest.Must(again, err)(p.t)
	beat, err := p.Team.Heartbeat(p.t.Context(), domaintest.Bound("u", "mate"), op.Fill(team.HeartbeatInput{
		TeamName:  "quiet",
		AgentName: "mate",
	}))
	domaintest.Must(beat, err)(p.t)
	p.startTeam("new")
	p.claim("u", "new", p.silent, 0) // in the session that is back
	p.create("u", "new and waiting", 3600)
	p.send("u", "new", 3600)
	p.record("u")
	written := map[store.Ref]store.Fields{}
	for ref, f := range p.documents() {
		_, known := before[ref]
		if !known || ref.ID == p.silent || ref.ID == p.lapsed || strings.HasPrefix(ref.ID, "team:quiet") {
			written[ref] = f
		}
	}
	return written
}
