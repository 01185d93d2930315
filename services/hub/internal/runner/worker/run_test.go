//go:build unix

package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/runner/worker"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

var one = dispatch.View{ID: "t1", Title: "Build it", Instructions: "All of it.", Source: "alpha"}

// answers is a script that ends as Claude Code does, with an answer and the usage of its session.
func answers(text, session string, in int, dollars float64) string {
	return fmt.Sprintf(`echo '{"type":"result","is_error":false,"result":%q,"session_id":%q,"total_cost_usd":%v,`+
		`"modelUsage":{"m":{"inputTokens":%d,"outputTokens":2}}}'`, text, session, dollars, in)
}

func TestATaskIsWorkedOnWithAKeyOfItsOwnAndCompletedOnceWithItsUsage(t *testing.T) {
	t.Parallel()
	q := newQueue(one)
	s := newSetup(t).plays("claude", `cat > prompt; echo "$PARLEY_KEY $PARLEY_URL $PWD" > env; echo "$@" > args; `+
		`cat "$3" > entry; `+answers("built", "s-1", 40, 0.5))
	s.with = func(w *worker.Worker) { w.Limits, w.Model = worker.Limits{Turns: 3, Dollars: 2}, "opus" }
	if log, err := s.work(t.Context(), q, 1); err != nil {
		t.Fatal(err, log)
	}
	if want := "claim t1\nkey\ncomplete t1 1 done built\nrevoke id"; q.said() != want {
		t.Errorf("got %s, want %s", q.said(), want)
	}
	if got := q.done[0]; got.TokensIn != 40 || got.TokensOut != 2 || got.CostUSD != 0.5 {
		t.Errorf("got %+v", got)
	}
	if got := q.made[0]; got.Name != "task t1" || got.Program != "worker" || len(got.Scopes) != 1 {
		t.Errorf("the task's key is %+v", got)
	}
	for file, want := range map[string]string{
		"prompt": "Build it\n\nAll of it.\n\n---\nThis is the task \"t1\" in Parley, which \"alpha\" gave to \"worker\"",
		"env":    "key of task t1 http://h " + s.dir + "\n",
		"args":   "-p --mcp-config " + filepath.Join(s.state, "private", "t1", "mcp.json") + " --strict-mcp-config ",
		"entry": `{"mcpServers":{"parley":{"headers":{"Authorization":"Bearer ${PARLEY_KEY}"},"type":"http",` +
			`"url":"http://h/mcp?toolsets=agent"}}}`,
	} {
		if text, err := os.ReadFile(filepath.Join(s.dir, file)); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s is %s, %v; want %s", file, text, err, want)
		}
	}
	if args, _ := os.ReadFile(filepath.Join(s.dir, "args")); !strings.HasSuffix(string(args),
		" --model opus --output-format json --max-turns 3 --max-budget-usd 2\n") {
		t.Errorf("the arguments are %s", args)
	}
	if left := s.left(); len(left) != 0 {
		t.Errorf("the journal has %+v", left)
	}
	if _, err := os.Stat(filepath.Join(s.state, "private", "t1")); !os.IsNotExist(err) {
		t.Errorf("the task's files are left: %v", err)
	}
}

func TestAClientGetsTheWorkersKeyWhereTheWorkerMayMakeNone(t *testing.T) {
	t.Parallel()
	q := newQueue(one)
	s := newSetup(t).plays("claude", `echo "$PARLEY_KEY" > env; `+answers("built", "s", 1, 0))
	s.with = func(w *worker.Worker) { w.Keys = nil }
	if log, err := s.work(t.Context(), q, 1); err != nil {
		t.Fatal(err, log)
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "env")); err != nil || string(text) != "own\n" {
		t.Errorf("the client's key is %q, %v", text, err)
	}
	if want := "claim t1\ncomplete t1 1 done built"; q.said() != want {
		t.Errorf("got %s, want %s", q.said(), want)
	}
}

func TestWhatAClientSaysAtItsEndIsTheOutcome(t *testing.T) {
	t.Parallel()
	const used = `"modelUsage":{"m":{"inputTokens":9,"outputTokens":1}}`
	for name, c := range map[string]struct{ client, script, want string }{
		"limit": {"claude", `echo '{"type":"result","is_error":true,"errors":["Reached maximum"],` + used + `}'; exit 1`,
			"complete t1 1 failed Reached maximum"},
		"codex": {"codex", `echo '{"type":"thread.started","thread_id":"t"}'; ` +
			`echo '{"type":"item.completed","item":{"type":"agent_message","text":"half"}}'; ` +
			`echo '{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":1}}'`, "complete t1 1 done half"},
		"killed":  {"claude", `echo working; kill -9 $$`, "complete t1 1 failed the client was ended by SIGKILL: working"},
		"command": {"", `cat; exit 0`, "complete t1 1 done Build it\n\nAll of it."},
		"failed":  {"", `echo no compiler >&2; exit 4`, "complete t1 1 failed the client exited with code 4: no compiler"},
		"long": {"", `head -c 9000 /dev/zero | tr '\0' x; exit 4`,
			"complete t1 1 failed the client exited with code 4: …" + strings.Repeat("x", 3968)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, s := newQueue(one), newSetup(t)
			if s.runs(c.script); c.client != "" {
				s.plays(c.client, c.script)
			}
			if log, err := s.work(t.Context(), q, 1); err != nil {
				t.Fatal(err, log)
			}
			if !strings.Contains(q.said(), c.want+"\nrevoke") {
				t.Errorf("got %.300s, want %.300s", q.said(), c.want)
			}
		})
	}
}

func TestAClientThatCannotBeginCostsNoTask(t *testing.T) {
	t.Parallel()
	q := newQueue(one, one, one, one)
	s := newSetup(t).plays("claude", `echo '{"type":"result","is_error":true,"result":"Please run /login"}'; exit 1`)
	_, err := s.work(t.Context(), q, 0)
	if err == nil || !strings.Contains(err.Error(), "could not begin 3 times in a row") ||
		!strings.Contains(err.Error(), "Please run /login") {
		t.Errorf("got %v", err)
	}
	want := strings.Repeat("\nclaim t1\nkey\nrelease t1 N the client could not begin: Please run /login\nrevoke id", 3)
	for i := range 3 {
		want = strings.Replace(want, "N", fmt.Sprint(i+1), 1)
	}
	if q.said() != want[1:] {
		t.Errorf("got %s, want %s", q.said(), want)
	}
}

func TestAStopEndsTheClientAndGivesTheTaskBack(t *testing.T) {
	t.Parallel()
	q := newQueue(one)
	// A start that is interrupted ends the client at once, so it begins to play some time after its start.
	s := newSetup(t).plays("claude", `trap 'echo told > ended; exit 143' TERM; sleep 1; touch began; while :; do sleep 0.05; done`)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for t.Context().Err() == nil {
			if _, err := os.Stat(filepath.Join(s.dir, "began")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		stop()
	}()
	if log, err := s.work(ctx, q, 0); err != nil {
		t.Fatal(err, log)
	}
	if want := "claim t1\nkey\nrelease t1 1 its worker was stopped\nrevoke id"; q.said() != want {
		t.Errorf("got %s, want %s", q.said(), want)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "ended")); err != nil || len(s.left()) != 0 {
		t.Errorf("the client was not told to end: %v, %+v", err, s.left())
	}
}

func TestTheClaimIsRenewedAndItsLossEndsTheClient(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"ended": refused(fault.Precondition), "taken": refused(fault.Forbidden)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(one)
			s := newSetup(t).plays("claude", `exec sleep 1000`)
			s.with = func(w *worker.Worker) { w.Times.Lease = 30 * time.Millisecond }
			go func() {
				q.until(t, "renew t1\nrenew t1")
				q.mu.Lock()
				q.refuse["renew"] = err
				q.mu.Unlock()
			}()
			if log, err := s.work(t.Context(), q, 1); err != nil {
				t.Fatal(err, log)
			}
			if got := q.said(); strings.Contains(got, "complete") || strings.Contains(got, "release") ||
				!strings.HasSuffix(got, "\nrevoke id") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestACallThatTheServerDoesNotAnswerIsRepeated(t *testing.T) {
	t.Parallel()
	q := newQueue(one)
	for _, call := range []string{"claim", "key", "complete", "revoke"} {
		q.refuse[call] = refused(fault.Unavailable)
	}
	s := newSetup(t).plays("claude", answers("built", "s", 1, 0))
	if log, err := s.work(t.Context(), q, 1); err != nil {
		t.Fatal(err, log)
	}
	if want := "claim t1\nclaim t1\nkey\nkey\ncomplete t1 1 done built\ncomplete t1 1 done built\nrevoke id\nrevoke id"; q.
		said() != want {
		t.Errorf("got %s, want %s", q.said(), want)
	}
}

func TestATaskThatItsAgentEndedIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	q := newQueue(one, dispatch.View{ID: "t2"})
	q.refuse["complete"] = refused(fault.Precondition)
	s := newSetup(t).plays("claude", answers("built", "s", 1, 0))
	log, err := s.work(t.Context(), q, 2)
	if err != nil || !strings.Contains(log, "the task had ended otherwise") || !strings.Contains(q.said(), "complete t2 2 done") {
		t.Errorf("got %v, %s, %s", err, q.said(), log)
	}
}

func TestARefusedKeyEndsTheWorker(t *testing.T) {
	t.Parallel()
	q := newQueue(one)
	e := refused(fault.Unauthenticated)
	q.refuse["claim"] = e
	if _, err := newSetup(t).runs("true").work(t.Context(), q, 0); err != e {
		t.Errorf("got %v", err)
	}
}

func TestASessionGoesOnWithItsThreadAndItsUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	for mode, want := range map[worker.Resumption][]int{ // the task whose session each of the tasks goes on with
		"": {0, 0, 2, 3, 0}, worker.ByThread: {0, 0, 2, 3, 0}, worker.OneForAll: {0, 0, 0, 0, 0}, worker.Anew: {0, 1, 2, 3, 4},
	} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			t.Parallel()
			q := newQueue(dispatch.View{ID: "a", ThreadID: "x"}, dispatch.View{ID: "b", ThreadID: "x"}, dispatch.View{ID: "c"},
				dispatch.View{ID: "d"}, dispatch.View{ID: "e", ThreadID: "x"})
			// The sum of a session grows by 10 with each of its runs.
			s := newSetup(t).plays("claude", `for a; do test "$p" = --resume && s=$a; p=$a; done; s=${s:-s-$PPID$$}; echo "$s" >> order
n=$(grep -c -x -e "$s" order); echo '{"type":"result","result":"ok","session_id":"'$s'","total_cost_usd":'$n`+
				`',"modelUsage":{"m":{"inputTokens":'$n'0}}}'`)
			s.with = func(w *worker.Worker) { w.Resume = mode }
			for _, n := range []int{2, 3} { // the second worker knows the sessions of the first
				if log, err := s.work(t.Context(), q, n); err != nil {
					t.Fatal(err, log)
				}
			}
			text, err := os.ReadFile(filepath.Join(s.dir, "order"))
			sessions := strings.Fields(string(text))
			var got []int
			for _, one := range sessions {
				got = append(got, slices.Index(sessions, one))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("the sessions were %v, %v; want %v", got, err, want)
			}
			for _, done := range q.done {
				if done.TokensIn != 10 || done.CostUSD != 1 || done.Outcome != task.Done {
					t.Errorf("got %+v, want the usage of one run", done)
				}
			}
		})
	}
}

func TestASessionThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	q := newQueue(dispatch.View{ID: "a"}, dispatch.View{ID: "b"}, dispatch.View{ID: "b"})
	s := newSetup(t).plays("claude", `case "$*" in *--resume*) echo "No conversation found" >&2; exit 1;; esac; `+
		answers("ok", "s-1", 5, 0))
	s.with = func(w *worker.Worker) { w.Resume = worker.OneForAll }
	if log, err := s.work(t.Context(), q, 2); err != nil {
		t.Fatal(err, log)
	}
	if !strings.Contains(q.said(), "release b 2 the client could not begin: the client exited with code 1: No conversation found") ||
		!strings.Contains(q.said(), "complete b 3 done ok") {
		t.Errorf("got %s", q.said())
	}
}
