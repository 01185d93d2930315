package hubtest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/storetest"
)

const (
	claimers = 16
	tasks    = 200
	// maxLost is the number of claims lost in a row after which a claimer stops.
	maxLost = 20
)

// The claimers of a group race for some tasks. For the remaining tasks each starts at a place of its own and goes on
// into those of the others.
func TestEachTaskIsClaimedByOneOfManyClaimers(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name string
		open func(*testing.T, *store.Schema, ...store.Option) *store.DB
		// group is the number of claimers that race for the same tasks, and raced the number of these tasks.
		group, raced int
	}{
		{"sqlite", storetest.SQLite, claimers, 50},
		// The emulator takes seconds for a race of several claimers, and minutes for one of many.
		{"firestore", storetest.Firestore, 4, 3},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			hub := hubtest.New(t, s.open(t, app.Schema()), hubtest.Options{})
			maker := hub.Agent("u", "maker")
			ids := makeTasks(t, hub, maker)
			var mu sync.Mutex
			won := map[string][]string{}
			var all sync.WaitGroup
			for c := range claimers {
				name := fmt.Sprintf("claimer%d", c)
				key := hub.Agent("u", name)
				all.Go(func() {
					claim := func(id string) bool {
						mine, err := tryClaim(t.Context(), hub, key, id, c%2 == 0)
						if err != nil {
							t.Error(err)
						}
						if mine {
							mu.Lock()
							defer mu.Unlock()
							won[id] = append(won[id], name)
						}
						return mine
					}
					from := c / s.group * s.raced
					for _, id := range ids[from : from+s.raced] {
						claim(id)
					}
					rest := ids[claimers/s.group*s.raced:]
					for i, lost := c*len(rest)/claimers, 0; lost < maxLost && !t.Failed(); i++ {
						if lost++; claim(rest[i%len(rest)]) {
							lost = 0
						}
					}
				})
			}
			all.Wait()
			if len(won) != tasks {
				t.Errorf("%d tasks were claimed, want %d", len(won), tasks)
			}
			for id, by := range won {
				// The stored claimer is the one whose claim succeeded.
				var got struct{ ClaimedBy, Status string }
				err := hub.REST(maker, "GET", "/v1/tasks/"+id, nil).Into(&got)
				if err != nil || len(by) != 1 || got.ClaimedBy != by[0] || got.Status != "active" {
					t.Errorf("%s was claimed by %v; stored %+v, %v", id, by, got, err)
				}
			}
		})
	}
}

func makeTasks(t *testing.T, hub *hubtest.Hub, key string) []string {
	t.Helper()
	ids := make([]string, tasks)
	var makers sync.WaitGroup
	for m := range 8 {
		makers.Go(func() {
			for i := m; i < tasks; i += 8 {
				var made struct{ TaskID string }
				a, err := hub.TryTool(t.Context(), key, "/mcp", "create_task", args{"title": "t", "target": "any"})
				if err == nil {
					err = a.Into(&made)
				}
				if err != nil {
					t.Error(err)
				}
				ids[i] = made.TaskID
			}
		})
	}
	makers.Wait()
	return ids
}

// tryClaim claims a task and reports whether the claim succeeded.
func tryClaim(ctx context.Context, hub *hubtest.Hub, key, id string, overREST bool) (bool, error) {
	for {
		code := ""
		if overREST {
			a, err := hub.Try(ctx, "POST", "/v1/tasks/"+id+"/claim", args{}, "Authorization", "Bearer "+key)
			if err != nil {
				return false, err
			}
			code = a.Fault().Code
		} else {
			a, err := hub.TryTool(ctx, key, "/mcp", "claim_task", args{"taskId": id})
			if err != nil {
				return false, err
			}
			code = a.Fault().Code
		}
		switch code {
		case "":
			return true, nil
		case "FAILED_PRECONDITION":
			return false, nil
		case "CONFLICT": // contention; the same call may succeed
		default:
			return false, fmt.Errorf("a claim failed with %s", code)
		}
	}
}

func TestTwoServersThatShareADatabaseServeOneUser(t *testing.T) {
	t.Parallel()
	host, project := emulator.Shared(t), emulator.Project(t)
	server := func() *hubtest.Hub {
		d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: host, Project: project})
		hubtest.Must(t, err)
		db := store.New(d, app.Schema())
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return hubtest.New(t, db, hubtest.Options{})
	}
	here, there := server(), server()
	alpha, beta, human := here.Agent("u", "alpha"), there.Agent("u", "beta"), here.Human("u")
	type end struct {
		text string
		err  error
	}
	wait := func(path string, key string) <-chan end {
		done := make(chan end, 1)
		go func() {
			a, err := here.Try(t.Context(), "GET", path, nil, "Authorization", "Bearer "+key)
			done <- end{string(a.Body), err}
		}()
		return done
	}
	for i := range 3 {
		mail, work := wait("/v1/messages?waitMs=55000", alpha), wait("/v1/tasks?target=alpha&waitMs=55000", alpha)
		text := fmt.Sprintf("number %d", i)
		message := args{"message": text, "source": "beta", "target": "alpha", "message_type": "DIRECTIVE"}
		if a := there.Tool(beta, "/mcp", "send_message", message); a.IsError {
			t.Fatal(a.Answer)
		}
		var made struct{ TaskID string }
		hubtest.Must(t, there.Tool(beta, "/mcp", "create_task", args{"title": text, "target": "alpha"}).Into(&made))
		for what, done := range map[string]<-chan end{"mail": mail, "work": work} {
			if e := <-done; e.err != nil || !strings.Contains(e.text, text) {
				t.Errorf("%s: the wait returned %s, %v; want %q", what, e.text, e.err, text)
			}
		}
		if a := here.Tool(alpha, "/mcp", "claim_task", args{"taskId": made.TaskID}); a.IsError {
			t.Error(a.Answer)
		}
		a := there.Tool(beta, "/mcp", "claim_task", args{"taskId": made.TaskID})
		if code := a.Fault().Code; code != "FORBIDDEN" && code != "FAILED_PRECONDITION" {
			t.Errorf("got %s, want a refusal of the second claim", a.Answer)
		}
	}
	var asked struct{ QuestionID string }
	hubtest.Must(t, there.REST(beta, "POST", "/v1/questions", args{"question": "q"}).Into(&asked))
	answer := wait("/v1/questions/"+asked.QuestionID+"/response?waitMs=55000", beta)
	a := there.REST(human, "POST", "/v1/questions/"+asked.QuestionID+"/answer", args{"response": "yes"})
	if a.Status != 200 {
		t.Error(a)
	}
	if e := <-answer; e.err != nil || !strings.Contains(e.text, `"answered"`) {
		t.Errorf("the wait for an answer returned %s, %v", e.text, e.err)
	}
}
