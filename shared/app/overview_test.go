package app

import (
	"fmt"
	"testing"
	"time"
)

// An overview shows live sessions, not past ones.
func TestAnOverviewShowsTheSessionsThatAreLive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		agent := bound("u", "alpha")
		begin := func(id, state string) {
			w.must(agent, "create_session", map[string]any{"name": id, "sessionId": id, "state": state})
		}
		begin("silent", "working")
		w.now = w.now.Add(66 * time.Minute) // no sweep has come by since
		begin("working", "working")
		w.now = w.now.Add(time.Second)
		begin("pinned", "pinned")
		begin("complete", "complete")
		shown := []string{}
		for _, s := range w.must(human("u"), "get_overview", map[string]any{})["sessions"].([]any) {
			shown = append(shown, fmt.Sprint(s.(map[string]any)["id"]))
		}
		if fmt.Sprint(shown) != "[pinned working]" {
			t.Errorf("the overview shows the sessions %v, want pinned and working", shown)
		}
	})
}
