package cli_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// shop is a store that several servers use, in turn or at once.
type shop struct {
	env, args []string
	human     string
}

// eachShop runs a test on an embedded store and on Firestore.
func eachShop(t *testing.T, test func(*testing.T, shop)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		test(t, shop{nil, local(data), makeKey(t, data, "--kind", "human")})
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		env := cloud(t)
		out, errOut, code := command(t, env, "key", "create", "--user", "ann", "--kind", "human")
		if code != 0 {
			t.Fatalf("key create: exit %d: %s", code, errOut)
		}
		test(t, shop{env, []string{"--addr", "127.0.0.1:0"}, strings.TrimSpace(out)})
	})
}

func TestTheLedgerIsCompleteAfterACleanStop(t *testing.T) {
	eachShop(t, func(t *testing.T, s shop) {
		p := serve(t, s.env, s.args...)
		alpha := p.newKey(s.human, "alpha")
		const agents, each = 8, 40
		var wrong atomic.Int32
		var wg sync.WaitGroup
		for n := range agents {
			wg.Go(func() {
				for i := range each {
					var a reply
					var err error
					if (n+i)%2 == 0 {
						a, err = p.try(t.Context(), alpha, "GET", "/v1/tasks", nil)
					} else {
						a, err = p.try(t.Context(), alpha, "POST", "/mcp",
							message(i, "tools/call",
								map[string]any{"name": "get_tasks", "arguments": map[string]any{"limit": -1}}))
					}
					if err != nil || a.Status != 200 {
						wrong.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if code := p.stop(syscall.SIGTERM); code != 0 || wrong.Load() > 0 {
			t.Fatalf("exit %d, %d calls went wrong\n%s", code, wrong.Load(), p.err)
		}
		p = serve(t, s.env, s.args...)
		var used struct {
			Groups []struct {
				Key           string
				Calls, Errors int
			}
		}
		if err := p.call(alpha, "GET", "/v1/usage?groupBy=transport", nil).Into(&used); err != nil {
			t.Fatal(err)
		}
		// One more over REST: the creation of the key.
		if got, want := fmt.Sprint(used.Groups), "[{rest 161 0} {mcp 160 160}]"; got != want {
			t.Errorf("the ledger has %s, want %s", got, want)
		}
	})
}

func TestAnAnswerToOneServerEndsAWaitInAnother(t *testing.T) {
	eachShop(t, func(t *testing.T, s shop) {
		here := serve(t, s.env, s.args...)
		there := here // an embedded store has one server
		if s.env != nil {
			there = serve(t, s.env, s.args...)
		}
		alpha := here.newKey(s.human, "alpha")
		for i, ask := range []func(question string) (reply, error){
			func(question string) (reply, error) {
				return here.try(t.Context(), alpha, "POST", "/v1/questions",
					map[string]any{"question": question, "waitMs": 55_000})
			},
			func(question string) (reply, error) {
				var asked struct{ QuestionID string }
				a, err := there.try(t.Context(), alpha, "POST", "/v1/questions", map[string]any{"question": question})
				if err == nil {
					err = a.Into(&asked)
				}
				if err != nil {
					return a, err
				}
				return here.try(t.Context(), alpha, "GET", "/v1/questions/"+asked.QuestionID+"/response?waitMs=55000",
					nil)
			},
		} {
			question, answer := fmt.Sprint("question ", i), fmt.Sprint("answer ", i)
			got := make(chan reply, 1)
			go func() {
				a, err := ask(question)
				if err != nil {
					t.Error(err)
				}
				got <- a
			}()
			var overview struct {
				Mark      string
				Questions []struct{ ID, Question string }
			}
			for len(overview.Questions) == 0 { // each turn waits for a change
				if err := there.call(s.human, "GET", "/v1/overview?waitMs=30000&since="+overview.Mark,
					nil).Into(&overview); err != nil {
					t.Fatal(err)
				}
			}
			if a := there.call(s.human, "POST", "/v1/questions/"+overview.Questions[0].ID+"/answer",
				map[string]any{"response": answer}); a.Status != 200 {
				t.Fatal(a)
			}
			if a := <-got; !strings.Contains(string(a.Body), `"status":"answered","response":"`+answer+`"`) {
				t.Errorf("the asking program got %s", a)
			}
		}
	})
}
