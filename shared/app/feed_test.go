package app

import (
	"slices"
	"testing"

	"parley.internal/shared/feed"
	"parley.internal/shared/task"
)

// A key whose scopes name toolsets sees the changes of those in the feed, so each kind of change belongs to one.
func TestEachKindOfTheLogBelongsToAToolset(t *testing.T) {
	t.Parallel()
	kinds := []string{string(task.Work), string(task.Question), string(task.Alert), string(task.Dream),
		string(task.Sprint), string(task.Story)}
	for _, d := range Schema().Defs() {
		if d.Log != "" {
			kinds = append(kinds, d.Log)
		}
	}
	if len(kinds) < 18 {
		t.Errorf("the kinds are %q", kinds)
	}
	sets := catalogue().Toolsets()
	for _, kind := range kinds {
		if set := feed.ToolsetOf(kind); !slices.Contains(sets, set) {
			t.Errorf("%s belongs to %q, which is no toolset", kind, set)
		}
	}
}
