package scale

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/campfire"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/team"
)

// The changes of a document in a test, and how many of them begin in a second on average, at random times.
const changes, rate = 60, 10

// The team and the fire in the emulator that everybody changes.
const busyTeam, busyFire = "core", "hearth"

// busy is a document that many change, with the servers that they call.
type busy struct {
	*testing.T
	servers []*app.App
	sent    []func() map[string]int
}

// newBusy makes the team, its members and its tasks, and the fire.
func newBusy(t *testing.T, servers int) *busy {
	b, project, ids := &busy{T: t}, emulator.Project(t), domaintest.IDs{}
	for range servers {
		dial, sent := firestore.CountRPCs()
		d, err := firestore.Open(t.Context(),
			firestore.Options{EmulatorHost: emulator.Shared(t), Project: project, GRPC: dial})
		domaintest.Check(t, err)
		db := store.New(d, app.Schema())
		t.Cleanup(func() { domaintest.Check(t, db.Close()) })
		b.servers = append(b.servers, app.New(db, app.Ports{NewID: ids.NewID}))
		b.sent = append(b.sent, sent)
	}
	s, lead := b.servers[0], member(0)
	domaintest.Must(s.Campfire.GetOrCreate(t.Context(), lead, campfire.FireInput{FireID: busyFire}))(t)
	domaintest.Must(s.Team.Create(t.Context(), lead, team.CreateInput{TeamName: busyTeam}))(t)
	for i := 1; i < teamSize; i++ {
		domaintest.Must(s.Team.Spawn(t.Context(), lead, team.SpawnInput{TeamName: busyTeam, Name: fmt.Sprintf("m%d", i),
			Prompt: "work", BackendType: team.External}))(t)
	}
	for i := range changes {
		domaintest.Must(s.Team.CreateTask(t.Context(), lead, team.CreateTaskInput{TeamName: busyTeam, Subject: fmt.Sprint(i)}))(t)
	}
	return b
}

// member is the caller with the number of a member, the first of whom is the lead.
func member(i int) identity.Caller { return domaintest.Bound("u", fmt.Sprintf("m%d", i%teamSize)) }

// busies are the changes of one document each, by their number.
var busies = map[string]func(*busy, *app.App, int) error{
	"a board": func(b *busy, s *app.App, i int) error { // every sixth makes a task, the others begin one
		if i%6 == 5 {
			_, err := s.Team.CreateTask(b.Context(), member(i), team.CreateTaskInput{TeamName: busyTeam, Subject: fmt.Sprint("new ", i)})
			return err
		}
		_, err := s.Team.UpdateTask(b.Context(), member(i), team.UpdateTaskInput{TeamName: busyTeam, TaskID: fmt.Sprint(1 + i),
			Status: team.InProgress})
		return err
	},
	"the inbox of a lead": func(b *busy, s *app.App, i int) error {
		_, err := s.Team.Send(b.Context(), member(1+i%(teamSize-1)), team.SendInput{TeamName: busyTeam, Type: "message",
			Recipient: team.Lead, Content: fmt.Sprint("done ", i), Summary: "done"})
		return err
	},
	"a fire": func(b *busy, s *app.App, i int) error {
		_, err := s.Campfire.Post(b.Context(), member(i), campfire.PostInput{FireID: busyFire, Text: fmt.Sprint("word ", i)})
		return err
	},
}

// commits returns the number of commits that the servers have tried.
func (b *busy) commits() (n int) {
	for _, sent := range b.sent {
		n += sent()["Commit"]
	}
	return n
}

func TestABusyDocumentTakesTenChangesASecondWithoutAStormOfAborts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ servers, atMost int }{
		{1, changes},
		// Which of two servers wins depends on the emulator's speed, but a change is not aborted again and again.
		{2, 3 * changes},
	} {
		for name, change := range busies {
			t.Run(fmt.Sprintf("%s of %d servers", name, c.servers), func(t *testing.T) {
				t.Parallel()
				b, random := newBusy(t, c.servers), rand.New(rand.NewPCG(1, 0))
				begins, at := make([]time.Duration, changes), time.Duration(0)
				for i := range begins {
					begins[i], at = at, at+time.Duration(random.ExpFloat64()*float64(time.Second/rate))
				}
				before := b.commits()
				for _, err := range domaintest.Together(changes, func(i int) error {
					time.Sleep(begins[i])
					return change(b, b.servers[i%len(b.servers)], i)
				}) {
					t.Error(err)
				}
				n := b.commits() - before
				t.Logf("%d changes took %d commits", changes, n)
				if n > c.atMost {
					t.Errorf("%d changes took %d commits, so %d were aborted; want at most %d", changes, n, n-changes, c.atMost)
				}
			})
		}
	}
}
