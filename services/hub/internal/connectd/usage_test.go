package connectd_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/shared/hook/wire"
)

func TestTheUsageOfASubagentIsReportedOnceAlsoWhereItIsWrittenLater(t *testing.T) {
	t.Parallel()
	line := func(id string, in int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","usage":{"input_tokens":%d}}}`+"\n", id, in)
	}
	for name, with := range map[string]bool{"with a daemon": true, "without a daemon": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			if with {
				daemon(t, m, connectd.Options{})
			}
			path := func(name string) string { return filepath.Join(m.Dir, name+".jsonl") }
			write := func(name, text string) {
				if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			booked := func(ids ...string) {
				t.Helper()
				hooktest.Eventually(t, fmt.Sprint("the usage is ", ids), func() bool {
					return slices.Equal(slices.Sorted(maps.Keys(hub.Usage())), ids)
				})
			}
			at := map[string]any{"transcript_path": path("main")}
			ends := func(name string) {
				if got := m.Hook("t1", "SubagentStop", map[string]any{"transcript_path": path("main"),
					"agent_transcript_path": path(name), "stop_hook_active": false}); got.Out+got.Err != "" || got.Code != 0 {
					t.Errorf("it says %+v", got)
				}
			}
			m.Hook("t1", "SessionStart", at)
			write("main", line("a", 1))
			write("early", line("b1", 1)+line("b1", 5)+`{"type":"cost-state","sessionId":"t1","totalCostUSD":0.5}`+"\n")
			ends("early")
			ends("late") // which is not written yet
			ends("early")
			m.Hook("t1", "Stop", at)
			booked("a", "b1")
			write("late", line("c1", 3))
			m.Hook("t1", "Stop", at)
			booked("a", "b1", "c1")
			write("late", line("c1", 3)+line("c2", 3))
			m.Hook("t1", "SessionEnd", at)
			booked("a", "b1", "c1", "c2")
			if u := hub.Usage(); u["b1"].TokensIn != 5 {
				t.Errorf("got %+v", u)
			}
			sent := map[string]int{}
			for _, in := range hub.Inputs() {
				for _, u := range in.Usage {
					if sent[u.ID]++; sent[u.ID] > 1 {
						t.Errorf("%s was sent %d times", u.ID, sent[u.ID])
					}
				}
			}
		})
	}
}

func TestATurnThatEndsWhileTheServerIsAskedIsReportedToo(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	record := filepath.Join(m.Dir, "main.jsonl")
	text := ""
	turn := func(id string) {
		t.Helper()
		text += fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","usage":{"input_tokens":1}}}`+"\n", id)
		if err := os.WriteFile(record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Hook("t1", "Stop", map[string]any{"transcript_path": record})
	}
	m.Hook("t1", "SessionStart", map[string]any{"transcript_path": record})
	told, release := make(chan bool, 9), make(chan bool)
	hub.BeforeAnswers(func(in wire.HookInput) {
		if len(in.Usage) > 0 {
			told <- true
			<-release
		}
	})
	turn("a")
	<-told
	turn("b")
	close(release)
	hooktest.Eventually(t, "the second turn is not reported", func() bool { return len(hub.Usage()) == 2 })
}

func TestAForkReportsNothingOfItsParentAgain(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]bool{"with a daemon": true, "without a daemon": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			if with {
				daemon(t, m, connectd.Options{})
			}
			line := func(id string, at time.Time) string {
				return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"message":{"id":%q,"model":"m","usage":{"input_tokens":1}}}`+"\n",
					at.UTC().Format(time.RFC3339Nano), id)
			}
			cost := func(session string, dollars float64) string {
				return fmt.Sprintf(`{"type":"cost-state","sessionId":%q,"totalCostUSD":%g}`+"\n", session, dollars)
			}
			path := filepath.Join(m.Dir, "fork.jsonl")
			at := map[string]any{"transcript_path": path, "source": "fork"}
			m.Hook("t2", "SessionStart", at)
			copied := line("a", time.Now().Add(-time.Hour)) + cost("t2", 0.5)
			if err := os.WriteFile(path, []byte(copied+line("b", time.Now().Add(time.Hour))+cost("t2", 0.75)), 0o600); err != nil {
				t.Fatal(err)
			}
			m.Hook("t2", "Stop", at)
			hooktest.Eventually(t, "the usage of the fork", func() bool { return len(hub.Usage()) == 2 })
			dollars := 0.0
			for id, u := range hub.Usage() {
				if dollars += u.CostUSD; id == "a" {
					t.Errorf("the parent's %+v is booked", u)
				}
			}
			if dollars != 0.25 {
				t.Errorf("%g dollars are booked", dollars)
			}
		})
	}
}
