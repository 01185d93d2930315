package connectd_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/shared/hook/wire"
)

func TestTheDollarsThatAClientWritesAfterTheEndOfItsSessionAreReportedOnce(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	looks, asked := make(chan time.Time), make(chan time.Duration, 9)
	daemon(t, m, connectd.Options{After: func(d time.Duration) <-chan time.Time {
		asked <- d
		return looks
	}})
	record := filepath.Join(m.Dir, "t1.jsonl")
	add := func(line string) {
		t.Helper()
		f, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	add(`{"type":"assistant","message":{"id":"a","model":"m","usage":{"input_tokens":5,"output_tokens":1}}}`)
	in := map[string]any{"transcript_path": record}
	m.Hook("t1", "SessionStart", in)
	m.Hook("t1", "SessionEnd", map[string]any{"transcript_path": record, "reason": "clear"})
	if d := <-asked; d <= 0 || !hub.Ended("claude/1") {
		t.Errorf("it looks again after %v; ended: %t", d, hub.Ended("claude/1"))
	}
	add(`{"type":"cost-state","sessionId":"t1","totalCostUSD":0.5}`)
	looks <- time.Now()
	var got map[string]wire.Usage
	hooktest.Eventually(t, "the dollars are not told", func() bool {
		got = hub.Usage()
		return len(got) == 2
	})
	sum := 0.0
	for _, u := range got {
		sum += u.CostUSD
	}
	if sum != 0.5 || got["a"].TokensIn != 5 || !hub.Ended("claude/1") {
		t.Errorf("%v dollars of %+v; ended: %t", sum, got, hub.Ended("claude/1"))
	}
}
