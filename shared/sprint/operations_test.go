package sprint

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestTheInputsOfOperationsRequireTheirFields(t *testing.T) {
	t.Parallel()
	want := map[string]struct {
		required string
		creates  bool
	}{
		"create_sprint":       {"branch projectName stories", true},
		"update_sprint_story": {"sprintId storyId", false},
		"add_story_to_sprint": {"sprintId story", true},
		"get_sprint":          {"sprintId", false},
		"list_sprints":        {"", false},
		"complete_sprint":     {"sprintId", false},
	}
	for _, o := range (&Service{}).Operations() {
		var input struct {
			Required   []string
			Properties struct {
				Stories struct{ Items struct{ Required []string } }
				Story   struct{ Required []string }
			}
		}
		if err := json.Unmarshal(o.Input, &input); err != nil {
			t.Fatal(err)
		}
		slices.Sort(input.Required)
		w, known := want[o.Name]
		if got := strings.Join(input.Required, " "); !known || got != w.required || o.Creates != w.creates ||
			o.Idempotent != w.creates || o.Toolset != "sprint" {
			t.Errorf("%s requires %q; creates %t, takes a key %t", o.Name, got, o.Creates, o.Idempotent)
		}
		for _, story := range [][]string{input.Properties.Stories.Items.Required, input.Properties.Story.Required} {
			if got := strings.Join(story, " "); w.creates && got != "" && got != "id title" {
				t.Errorf("%s: a story requires %q", o.Name, got)
			}
		}
	}
}
