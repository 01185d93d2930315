package task

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

// allowed lists the moves of every type, written independently of the tables of the package.
const allowed = `
task,sprint,sprint-story: created>active created>blocked created>failed created>derezzed active>created active>blocked active>completing active>done active>failed active>derezzed blocked>active blocked>created blocked>failed blocked>derezzed completing>active completing>done completing>failed completing>created completing>derezzed done>derezzed failed>created failed>derezzed
question,alert: created>done created>derezzed done>derezzed
dream: created>active created>failed created>derezzed active>completing active>done active>failed active>derezzed completing>active completing>done completing>failed completing>derezzed done>derezzed failed>derezzed`

func TestEveryTypeAllowsExactlyItsMoves(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(allowed), "\n") {
		types, moves, _ := strings.Cut(line, ": ")
		for typ := range strings.SplitSeq(types, ",") {
			for m := range strings.FieldsSeq(moves) {
				want[typ+" "+m] = true
			}
		}
	}
	for _, typ := range []Type{Work, Question, Alert, Dream, Sprint, Story} {
		for _, from := range Statuses() {
			for _, to := range Statuses() {
				err := Move(typ, from, to)
				if ok := want[string(typ)+" "+string(from)+">"+string(to)]; ok != (err == nil) {
					t.Errorf("%s: %s → %s: %v", typ, from, to, err)
				}
				if err != nil && (!fault.Is(err, fault.Precondition) ||
					err.Error() != "Invalid transition for "+string(typ)+": "+string(from)+" → "+string(to)) {
					t.Errorf("the fault is %v", err)
				}
			}
		}
	}
	if Move("nonsense", Created, Active) == nil {
		t.Error("an unknown type moves")
	}
}

func TestRoutesFollowFromTargetFallbackAndType(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task Task
		want string
	}{
		"a task": {Task{Type: Work, Target: "beta"}, "* beta"},
		"with fallbacks": {Task{Type: Work, Target: "beta", Fallback: []string{"gamma", "beta", "gamma"}},
			"* beta gamma"},
		"an alert is apart": {Task{Type: Alert, Target: "user"}, "alert:* alert:user"},
		"so is a story":     {Task{Type: Story, Target: "alpha"}, "sprint-story:* sprint-story:alpha"},
		"a question":        {Task{Type: Question, Target: "user", Status: Created}, "* user question:*"},
	} {
		c.task.Route()
		if got := strings.Join(c.task.Routes, " "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
