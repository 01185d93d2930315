package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/task"
)

// Each of three clients in one directory, of one connection, claims a task, and tries to complete that of the first.
func TestClientsOfOneConnectionKeepTheirClaimsFromEachOther(t *testing.T) {
	t.Parallel()
	for name, run := range withoutAPerson {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t, name)
			if name == "codex" {
				h.write("home/.codex/config.toml", h.model.CodexConfig())
			} else {
				h.write("home/.claude.json", strings.ReplaceAll(claudeTrust, "WORK", h.work))
			}
			h.run(append([]string{h.parley, "connect", name}, run.connect...)...)
			var ids []string
			for i := range 3 {
				made, err := h.person.CreateTask(t.Context(), dispatch.CreateInput{Title: fmt.Sprint("Part ", i), Target: name})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, made.TaskID)
			}
			release, requests := make(chan struct{}), 0
			var waits []func()
			for i, id := range ids {
				address := addressOf(name, i)
				steps := []fakemodel.Step{use(name, "claim_next_task", map[string]any{"sessionId": address})}
				if i > 0 {
					steps = append(steps, use(name, "complete_task",
						map[string]any{"taskId": ids[0], "sessionId": address, "result": "taken"}))
				}
				h.model.Add(append(steps, fakemodel.Step{Text: "I have mine.", Hold: release})...)
				waits = append(waits, h.starts(append([]string{name}, run.claims...)...))
				h.holds("the first request", h.request(requests+1).Text, "You are "+address+",")
				h.holds("the request after the claim", h.request(requests+2).Text, id)
				if requests += 2; i > 0 {
					requests++
					h.holds("the request after the refusal", h.request(requests).Text, "the task is claimed by session", addressOf(name, 0))
				}
			}
			for i, id := range ids {
				got, err := h.person.GetTask(t.Context(), dispatch.TaskInput{TaskID: id})
				if want := addressOf(name, i); err != nil || got.SessionID != want || got.Status != task.Active {
					t.Errorf("task %d is %s of %q, %v; want it active of %s", i, got.Status, got.SessionID, err, want)
				}
			}
			close(release)
			for _, wait := range waits {
				wait()
			}
		})
	}
}

// addressOf is the address of the i-th client: connect has tried the hook with the first.
func addressOf(name string, i int) string { return fmt.Sprintf("%s/%d", name, i+2) }
