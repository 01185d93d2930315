package scale

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/team"
)

// The changes of a board in a test, and how many of them begin in a second on average, at random times.
const changes, rate = 60, 10

// boardTeam is the team in the emulator whose members change tasks.
const boardTeam = "core"

// board is the board of a team, with the servers that its members call.
type board struct {
	*testing.T
	servers []*team.Service
	ids     domaintest.IDs
	sent    []func() map[string]int
}

// newBoard makes the team, its members and its tasks.
func newBoard(t *testing.T, servers int) *board {
	b, project := &board{T: t}, emulator.Project(t)
	for range servers {
		dial, sent := firestore.CountRPCs()
		d, err := firestore.Open(t.Context(),
			firestore.Options{EmulatorHost: emulator.Shared(t), Project: project, GRPC: dial})
		domaintest.Check(t, err)
		db := store.New(d, store.NewSchema(slices.Concat(new(team.Service).Defs(), new(keys.Service).Defs(),
			[]*store.Def{idempotency.Def()})...))
		t.Cleanup(func() { domaintest.Check(t, db.Close()) })
		b.servers = append(b.servers, &team.Service{DB: db, Now: time.Now, NewID: b.ids.NewID})
		b.sent = append(b.sent, sent)
	}
	s, lead := b.servers[0], domaintest.Bound("u", "m0")
	domaintest.Must(s.Create(t.Context(), lead, team.CreateInput{TeamName: boardTeam}))(t)
	for i := 1; i < teamSize; i++ {
		domaintest.Must(s.Spawn(t.Context(), lead, team.SpawnInput{TeamName: boardTeam, Name: fmt.Sprintf("m%d", i),
			Prompt: "work", BackendType: team.External}))(t)
	}
	for i := range changes {
		domaintest.Must(s.CreateTask(t.Context(), lead, team.CreateTaskInput{TeamName: boardTeam, Subject: fmt.Sprint(i)}))(t)
	}
	return b
}

// change makes the i-th change, by one after the other of the members: every sixth makes a task, the others begin one.
func (b *board) change(i int) error {
	s, c := b.servers[i%len(b.servers)], domaintest.Bound("u", fmt.Sprintf("m%d", i%teamSize))
	if i%6 == 5 {
		_, err := s.CreateTask(b.Context(), c, team.CreateTaskInput{TeamName: boardTeam, Subject: fmt.Sprint("new ", i)})
		return err
	}
	_, err := s.UpdateTask(b.Context(), c, team.UpdateTaskInput{TeamName: boardTeam, TaskID: fmt.Sprint(1 + i),
		Status: team.InProgress})
	return err
}

// commits returns the number of commits that the servers have tried.
func (b *board) commits() (n int) {
	for _, sent := range b.sent {
		n += sent()["Commit"]
	}
	return n
}

func TestABoardTakesTenChangesASecondWithoutAStormOfAborts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ servers, atMost int }{
		"of one server": {1, changes},
		// Which of two servers wins depends on the emulator's speed, but a change is not aborted again and again.
		"of two servers": {2, 3 * changes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, random := newBoard(t, c.servers), rand.New(rand.NewPCG(1, 0))
			begins, at := make([]time.Duration, changes), time.Duration(0)
			for i := range begins {
				begins[i], at = at, at+time.Duration(random.ExpFloat64()*float64(time.Second/rate))
			}
			before := b.commits()
			for _, err := range domaintest.Together(changes, func(i int) error {
				time.Sleep(begins[i])
				return b.change(i)
			}) {
				t.Error(err)
			}
			if n := b.commits() - before; n > c.atMost {
				t.Errorf("%d changes took %d commits, so %d were aborted; want at most %d", changes, n, n-changes, c.atMost)
			}
		})
	}
}
