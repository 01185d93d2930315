//go:build unix

package worker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
)

// leave writes the record that a killed worker left of the task t1 into the journal.
func (s *setup) leave(rec journal.Record) {
	s.t.Helper()
	kept, err := journal.Open(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	defer kept.Close()
	rec.ProcessID, rec.Name, rec.LogFile = "t1", "worker", kept.Log("worker")
	if rec.Work == nil {
		rec.Work = json.RawMessage(`{"taskId":"t1","claimToken":7,"keyId":"old"}`)
	}
	if err := kept.Put(rec); err != nil {
		s.t.Fatal(err)
	}
}

// says writes the output of the killed worker's client.
func (s *setup) says(text string) {
	s.t.Helper()
	log := filepath.Join(s.state, "logs", "worker.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte("earlier\n"+text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// gone is a process that has ended.
var gone = journal.Record{PID: 1 << 21, StartedAt: "then", LogFrom: int64(len("earlier\n"))}

const answer = `{"type":"result","result":"built","session_id":"s","total_cost_usd":1,"modelUsage":{"m":{"inputTokens":4}}}`

func TestASuccessorEndsWhatAKilledWorkerLeft(t *testing.T) {
	t.Parallel()
	ended := journal.Record{PID: 1 << 21, StartedAt: "then",
		End: json.RawMessage(`{"outcome":"done","result":"built","used":{"in":4,"out":0},"sum":{"in":4,"out":0}}`)}
	for name, c := range map[string]struct {
		rec          journal.Record
		output, want string
	}{
		"before its start": {journal.Record{}, "", "release t1 7 its worker ended before the client began\nrevoke old"},
		"after its answer": {gone, answer, "complete t1 7 done built\nrevoke old"},
		"without an answer": {gone, "thinking",
			"release t1 7 the client ended after its worker, and its outcome is not known\nrevoke old"},
		"with an end to report": {ended, "", "complete t1 7 done built\nrevoke old"},
		"without a key": {journal.Record{Work: json.RawMessage(`{"taskId":"t1","claimToken":7}`)}, "",
			"release t1 7 its worker ended before the client began"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, s := newQueue(one), newSetup(t).plays("claude", answers("next", "s-2", 1, 0))
			s.says(c.output)
			s.leave(c.rec)
			if log, err := s.work(t.Context(), q, 1); err != nil {
				t.Fatal(err, log)
			}
			want := c.want
			if strings.HasPrefix(want, "release") { // the one task that it is to do is still to come
				want += "\nclaim t1\n"
			}
			if got := q.said(); !strings.HasPrefix(got, want) || strings.HasPrefix(want, "complete") && strings.Contains(got, "claim") {
				t.Errorf("got %s, want first %s", got, want)
			}
			if left := s.left(); len(left) != 0 {
				t.Errorf("the journal has %+v", left)
			}
		})
	}
}

func TestASuccessorWaitsForAClientThatStillWorks(t *testing.T) {
	t.Parallel()
	q, s := newQueue(one), newSetup(t).plays("claude", answers("next", "s-2", 1, 0))
	s.says("")
	log, err := os.OpenFile(filepath.Join(s.state, "logs", "worker.log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := launch.Start([]string{self, "child"}, log)
	if err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(s.dir, "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	proc, err := waiting.Become(t.Context(), launch.Job{Path: "/bin/sh", Args: []string{"sh", "-c",
		"read go < " + fifo + "; echo '" + answer + "'"}, Dir: s.dir, Root: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	s.leave(journal.Record{PID: proc.PID, StartedAt: proc.StartedAt, LogFrom: int64(len("earlier\n"))})
	go func() {
		end, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer end.Close()
		if _, err := end.WriteString("go\n"); err != nil {
			t.Error(err)
		}
	}()
	if log, err := s.work(t.Context(), q, 2); err != nil {
		t.Fatal(err, log)
	}
	if want := "complete t1 7 done built\nrevoke old\nclaim t1\n"; !strings.HasPrefix(q.said(), want) {
		t.Errorf("got %s, want first %s", q.said(), want)
	}
}

func TestAJournalOfARunnerIsRefused(t *testing.T) {
	t.Parallel()
	s := newSetup(t).runs("true")
	s.leave(journal.Record{Work: json.RawMessage(`{}`)})
	if _, err := s.work(t.Context(), newQueue(), 1); err == nil || !strings.Contains(err.Error(), "a record \"t1\" that is no task") {
		t.Errorf("got %v", err)
	}
}
