//go:build !windows

package process_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"parley.internal/services/hub/internal/hook/hooktest"
)

func TestAPipeInPlaceOfTheClientsRecordHoldsNoHookUp(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"claude", "codex"} {
		hub := hooktest.New(t)
		m := hooktest.NewMachine(t, hub.URL, client)
		pipe := filepath.Join(m.Dir, "record.jsonl")
		agents := filepath.Join(m.Dir, "agent.jsonl")
		if err := errors.Join(syscall.Mkfifo(pipe, 0o600), syscall.Mkfifo(agents, 0o600)); err != nil {
			t.Fatal(err)
		}
		at := map[string]any{"transcript_path": pipe, "agent_transcript_path": agents}
		for _, event := range []string{"SessionStart", "SubagentStop", "Stop", "SessionEnd"} {
			m.Hook("t1", event, at)
		}
		if got := hub.Inputs(); len(got) != 3 {
			t.Errorf("%s: the server heard of %+v", client, got)
		}
	}
}
