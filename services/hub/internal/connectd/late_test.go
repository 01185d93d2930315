package connectd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/shared/hook/wire"
)

// record is a client's own record of a session.
type record struct {
	*testing.T
	path string
}

func (r record) add(line string) {
	r.Helper()
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.Fatal(err)
	}
}

// call is a line about a call of a model, and dollars the line that Claude Code writes after the end of a session.
const (
	call    = `{"type":"assistant","message":{"id":"a","model":"m","usage":{"input_tokens":5,"output_tokens":1}}}`
	dollars = `{"type":"cost-state","sessionId":"t1","totalCostUSD":0.5}`
)

// spent returns the dollars that the server knows of.
func spent(hub *hooktest.Hub) (sum float64) {
	for _, u := range hub.Usage() {
		sum += u.CostUSD
	}
	return sum
}

// ends begins and ends a session with a record, and returns that.
func ends(t *testing.T, m *hooktest.Machine) record {
	t.Helper()
	r := record{t, filepath.Join(m.Dir, "t1.jsonl")}
	r.add(call)
	m.Hook("t1", "SessionStart", map[string]any{"transcript_path": r.path})
	m.Hook("t1", "SessionEnd", map[string]any{"transcript_path": r.path, "reason": "clear"})
	return r
}

// slow are the options of a daemon whose time to look again has not come, and the channel that says that it waits.
func slow() (connectd.Options, <-chan time.Duration) {
	asked := make(chan time.Duration, 9)
	return connectd.Options{After: func(d time.Duration) <-chan time.Time {
		asked <- d
		return nil
	}}, asked
}

func TestTheDollarsThatAClientWritesBeforeItsDaemonEndsAreReportedByIt(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	o, waits := slow()
	stop := daemon(t, m, o)
	r := ends(t, m)
	<-waits
	r.add(dollars)
	stop()
	if got := spent(hub); got != 0.5 || !hub.Ended("claude/1") {
		t.Errorf("%v dollars; ended: %t", got, hub.Ended("claude/1"))
	}
}

func TestTheDollarsThatAClientWritesAfterItsDaemonHasEndedAreReportedByTheNextOnce(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	o, waits := slow()
	stop := daemon(t, m, o)
	r := ends(t, m)
	<-waits
	stop()
	r.add(dollars)
	if got := spent(hub); got != 0 {
		t.Errorf("%v dollars before the next daemon", got)
	}
	stop = daemon(t, m, connectd.Options{})
	hooktest.Eventually(t, "the dollars are not told", func() bool { return spent(hub) == 0.5 })
	stop()
	told := len(hub.Inputs())
	r.add(strings.Replace(dollars, "0.5", "0.7", 1)) // of another session with this record, which tells it
	daemon(t, m, connectd.Options{})()
	if got := hub.Inputs(); len(got) != told || spent(hub) != 0.5 {
		t.Errorf("the third daemon tells %+v", got[told:])
	}
}

func TestANextDaemonEndsTheSessionWhoseServerWasAwayAtItsEnd(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	stop := daemon(t, m, connectd.Options{})
	r := record{t, filepath.Join(m.Dir, "t1.jsonl")}
	r.add(call)
	at := map[string]any{"transcript_path": r.path}
	m.Hook("t1", "SessionStart", at)
	hub.Set("down", 0)
	m.Hook("t1", "SessionEnd", at)
	stop()
	hub.Set("", 0)
	if hub.Ended("claude/1") || len(hub.Usage()) != 0 {
		t.Fatal("the server heard while it was away")
	}
	daemon(t, m, connectd.Options{})
	hooktest.Eventually(t, "the session does not end", func() bool { return hub.Ended("claude/1") })
	if got := hub.Usage(); len(got) != 1 || got["a"].TokensIn != 5 {
		t.Errorf("the usage is %+v", got)
	}
}

func TestTheDollarsThatAClientWritesAfterTheEndOfItsSessionAreReportedOnce(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	looks, asked := make(chan time.Time), make(chan time.Duration, 9)
	daemon(t, m, connectd.Options{After: func(d time.Duration) <-chan time.Time {
		asked <- d
		return looks
	}})
	r := ends(t, m)
	if d := <-asked; d <= 0 || !hub.Ended("claude/1") {
		t.Errorf("it looks again after %v; ended: %t", d, hub.Ended("claude/1"))
	}
	r.add(dollars)
	looks <- time.Now()
	var got map[string]wire.Usage
	hooktest.Eventually(t, "the dollars are not told", func() bool {
		got = hub.Usage()
		return len(got) == 2
	})
	if sum := spent(hub); sum != 0.5 || got["a"].TokensIn != 5 || !hub.Ended("claude/1") {
		t.Errorf("%v dollars of %+v; ended: %t", sum, got, hub.Ended("claude/1"))
	}
}
