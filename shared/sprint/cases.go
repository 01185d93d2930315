package sprint

import (
	"fmt"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The initial steps of the cases.
var (
	// threeStories are a; b, which waits for a and alerts a human on failure; and c in a later
	// wave.
	threeStories = []any{
		op.In{"id": "a", "title": "Write the parser ✓"},
		op.In{"id": "b", "title": "Test it", "dependencies": []string{"a"}, "complexity": "high",
			"retryPolicy": "escalate", "maxRetries": 0},
		op.In{"id": "c", "title": "Document it", "wave": 7, "dependencies": []string{"a"}},
	}
	planned = []op.Step{{Op: "create_sprint", In: op.In{"projectName": "p", "branch": "b", "stories": threeStories},
		Save: "sprintId as sprint"}}
	// busy takes up the first story.
	busy = op.After(planned, setting("a", "active"))
	// taken is a story that beta has taken up.
	taken = op.After(planned, op.Step{Op: "update_sprint_story", As: "beta",
		In: op.In{"sprintId": "$sprint", "storyId": "a", "status": "active", "sessionId": "beta.1"}})
	// late completes the first story and takes up the second.
	late = op.After(busy, setting("a", "complete"), setting("b", "active"))
	// last takes up the last story; all others have ended.
	last = op.After(late, setting("b", "complete"), setting("c", "active"))
)

// setting returns a step that sets the status of a story.
func setting(id, status string) op.Step {
	return op.Step{Op: "update_sprint_story", In: op.In{"sprintId": "$sprint", "storyId": id, "status": status}}
}

// chain returns n stories, each of which waits for the one before.
func chain(n int) []any {
	out := make([]any, n)
	for i := range out {
		s := op.In{"id": fmt.Sprint("s", i), "title": "t"}
		if i > 0 {
			s["dependencies"] = []string{fmt.Sprint("s", i-1)}
		}
		out[i] = s
	}
	return out
}

func createCases() op.Cases {
	once := op.In{"projectName": "p", "branch": "b", "stories": threeStories, "idempotencyKey": "k"}
	before := []op.Step{{Op: "create_sprint", In: once}}
	return op.Cases{RPCs: 1, Rights: op.Rights{Program: op.May, Unbound: op.May, Human: op.May}, Examples: []op.Example{
		{In: op.In{"projectName": "parley", "branch": "main", "stories": threeStories}},
		{Name: "with everything", In: op.In{"projectName": "p ✓", "branch": "b", "stories": threeStories,
			"sessionId": "alpha.1", "config": op.In{"orchestratorModel": "m", "subagentModel": "n",
				"maxConcurrent": 2}}},
		{Name: "of 200 stories", In: op.In{"projectName": "p", "branch": "b", "stories": chain(200)}},
		{Name: "with an idempotency key", In: once, RPCs: 2, Over: "the key is read"},
		{Name: "again with the same key", Given: before, In: once},
		{Name: "another with the same key", Given: before,
			In:    op.In{"projectName": "another", "branch": "b", "stories": threeStories, "idempotencyKey": "k"},
			Fault: fault.Precondition},
	}, Refused: append(refusedPlans(), refusedStories()...)}
}

// plan returns the input of a sprint with these stories.
func plan(stories string) string {
	return `{"projectName":"p","branch":"b","stories":[` + stories + `]}`
}

func refusedPlans() []op.Refusal {
	const some = `{"id":"x","title":"t"}`
	return []op.Refusal{
		{Name: "no stories", In: plan(``), Path: "stories", Words: "must not be empty"},
		{Name: "too many stories", In: plan(strings.Repeat(some+",", 200) + some), Path: "stories",
			Words: "must have at most 200 members, not 201"},
		{Name: "two stories with one id", In: plan(`{"id":"a","title":"t"},{"id":"a","title":"u"}`),
			Path: "stories[1].id", Words: `"a" is the id of stories[0] already`},
		{Name: "an unknown dependency", In: plan(`{"id":"a","title":"t","dependencies":["b"]}`),
			Path:  "stories[0].dependencies[0]",
			Words: `there is no story "b" in this plan`},
		{Name: "a cycle", In: plan(`{"id":"a","title":"t","dependencies":["c"]},{"id":"b","title":"t","dependencies":["a"]},` +
			`{"id":"c","title":"t","dependencies":["b"]}`),
			Path: "stories[0].dependencies[0]", Words: "cycle: a → c → b → a"},
		{Name: "a cycle beside other faults", In: plan(`{"id":"a","title":"a","dependencies":["b","nowhere"]},` +
			`{"id":"b","title":"b","dependencies":["a","b"]},{"id":"a","title":"again"}`), Path: "stories[0].dependencies[1]",
			Words: `there is no story "nowhere" in this plan`},
		{Name: "a dependency on a later wave",
			In:   plan(`{"id":"a","title":"t","wave":1,"dependencies":["b"]},{"id":"b","title":"t","wave":2}`),
			Path: "stories[0].dependencies[0]", Words: `"b" is in wave 2`},
		{Name: "a limit of no stories at once",
			In:   `{"projectName":"p","branch":"b","stories":[` + some + `],"config":{"maxConcurrent":0}}`,
			Path: "config.maxConcurrent", Words: "must be at least 1"},
	}
}

func refusedStories() []op.Refusal {
	return []op.Refusal{
		{Name: "a story without a title", In: plan(`{"id":"a"}`), Path: "stories[0].title", Words: "is required"},
		{Name: "a story with an unknown field", In: plan(`{"id":"a","title":"t","titel":"t"}`),
			Path: "stories[0].titel", Words: "the fields are id, title, dependencies"},
		{Name: "a story's id with a slash", In: plan(`{"id":"a","title":"t"},{"id":"a/b","title":"t"}`),
			Path: "stories[1].id", Words: "must match ^[A-Za-z0-9]"},
		{Name: "a negative wave", In: plan(`{"id":"a","title":"t","wave":-1}`), Path: "stories[0].wave",
			Words: "must be at least 0"},
		{Name: "too many retries", In: plan(`{"id":"a","title":"t","maxRetries":6}`), Path: "stories[0].maxRetries",
			Words: "must be at most 5"},
		{Name: "an unknown retry policy", In: plan(`{"id":"a","title":"t","retryPolicy":"always"}`),
			Path:  "stories[0].retryPolicy",
			Words: "must be one of none, auto_retry, escalate"},
	}
}

func updateCases() op.Cases {
	to := func(id, status string) op.In { return op.In{"sprintId": "$sprint", "storyId": id, "status": status} }
	with := func(in op.In, name string, v any) op.In { in[name] = v; return in }
	// A story that is taken up is its holder's; one that is not may be anyone's.
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{Owned: []string{"sprintId", "storyId"}, Rights: rights, Examples: []op.Example{
		{Given: busy, In: to("a", "complete")},
		{Name: "to active", Given: planned, In: to("a", "active")},
		{Name: "to active, by another program", Given: planned, As: "beta", In: with(to("a", "active"), "sessionId", "beta.1")},
		{Name: "to active, again for the same session", Given: taken, As: "beta",
			In: with(to("a", "active"), "sessionId", "beta.1")},
		{Name: "to active, for another agent of the program", Given: busy, In: to("a", "active"), Fault: fault.Precondition},
		{Name: "with progress", Given: busy, In: op.In{"sprintId": "$sprint", "storyId": "a", "progress": 40,
			"currentAction": "I <dig>", "model": "m"}},
		{Name: "to complete, with the token of the claim", Given: taken, As: "beta",
			In: with(to("a", "complete"), "claimToken", 1)},
		{Name: "to complete, with a stale token", Given: op.After(busy, setting("a", "queued"), setting("a", "active")),
			In: with(to("a", "complete"), "claimToken", 1), Fault: fault.Precondition},
		{Name: "to complete, which another program holds", Given: busy, As: "beta",
			In: with(to("a", "complete"), "claimToken", 1), Fault: fault.Forbidden},
		{Name: "to complete, which a program holds, by an unbound key", Given: busy, As: op.Unbound,
			In: with(to("a", "complete"), "claimToken", 1), Fault: fault.Forbidden},
		{Name: "to complete, which nobody holds, by the sprint's creator", Given: planned, In: to("a", "complete")},
		{Name: "to skipped, which another program holds, by the sprint's creator", Given: taken, In: to("a", "skipped"), RPCs: 5,
			Over: "the inbox of the session that holds it is looked for"},
		{Name: "to skipped, which nobody holds, by another program", Given: planned, As: "beta", In: to("a", "skipped"),
			Fault: fault.Forbidden},
		{Name: "to queued", Given: busy, In: to("a", "queued")},
		{Name: "to failed, with others to come", Given: busy, In: to("a", "failed")},
		{Name: "to failed, which alerts a human", Given: late, In: to("b", "failed")},
		{Name: "to skipped, by the human", Given: op.After(late, setting("b", "failed")), As: op.Human,
			In: to("b", "skipped")},
		{Name: "to skipped, by the sprint's creator", Given: planned, In: to("a", "skipped")},
		{Name: "to complete, the last of its sprint", Given: last, In: to("c", "complete"), RPCs: 6,
			Over: "the sprint is made completing, once: it is read again with all its stories, and written"},
		{Name: "that waits for another", Given: planned, In: to("b", "active"), Fault: fault.Precondition},
		{Name: "of a wave that is not open", Given: op.After(busy, setting("a", "complete")), In: to("c", "active"),
			Fault: fault.Precondition},
		{Name: "that another program holds", Given: busy, As: "beta", In: to("a", "active"), Fault: fault.Precondition},
		{Name: "of a story that is nowhere", Given: planned, Fault: fault.NotFound,
			In: op.In{"sprintId": "$sprint", "storyId": "nobodys", "progress": 1}},
	}, Refused: []op.Refusal{
		{Name: "a status of tasks", Given: planned, In: `{"sprintId":"$sprint","storyId":"a","status":"done"}`,
			Path: "status", Words: "must be one of queued, active, complete, failed, skipped"},
		{Name: "a token of 0", Given: planned, In: `{"sprintId":"$sprint","storyId":"a","claimToken":0}`,
			Path: "claimToken", Words: "must be at least 1"},
		{Name: "no token, with a key that is bound to no program", As: op.Unbound,
			Given: op.After(planned, op.Step{Op: "update_sprint_story", As: op.Unbound,
				In: op.In{"sprintId": "$sprint", "storyId": "a", "status": "active"}}),
			In: `{"sprintId":"$sprint","storyId":"a","status":"complete"}`, Path: "claimToken",
			Words: "is required with a key that is bound to no program"},
		{Name: "too much progress", Given: planned, In: `{"sprintId":"$sprint","storyId":"a","progress":101}`,
			Path: "progress", Words: "must be at most 100"},
		{Name: "an id of dots", Given: planned, In: `{"sprintId":"$sprint","storyId":".."}`, Path: "storyId",
			Words: "must match ^[A-Za-z0-9]"},
		{Name: "an action too long", Given: planned,
			In:   `{"sprintId":"$sprint","storyId":"a","currentAction":"` + strings.Repeat("é", 201) + `"}`,
			Path: "currentAction", Words: "must be at most 200 characters, not 201"},
	}}
}

func addCases() op.Cases {
	adding := func(s op.In) op.In { return op.In{"sprintId": "$sprint", "story": s} }
	once := op.In{"sprintId": "$sprint", "story": op.In{"id": "d", "title": "d", "dependencies": []string{"a"}},
		"insertionMode": "current_wave", "idempotencyKey": "k"}
	before := op.After(planned, op.Step{Op: "add_story_to_sprint", In: once})
	rights := op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	return op.Cases{Owned: []string{"sprintId"}, Rights: rights, Examples: []op.Example{
		{Given: planned, In: adding(op.In{"id": "d", "title": "Review it"})},
		{Name: "with dependencies", Given: busy, In: adding(op.In{"id": "d", "title": "d",
			"dependencies": []string{"a", "b"}})},
		{Name: "with an idempotency key", Given: planned, In: once, RPCs: 4, Over: "the key is read"},
		{Name: "again with the same key", Given: before, In: once},
		{Name: "with an id that is taken", Given: planned, In: adding(op.In{"id": "a", "title": "again"}),
			Fault: fault.Exists},
		{Name: "to a sprint whose stories have ended", Given: op.After(last, setting("c", "complete")),
			In:    adding(op.In{"id": "d", "title": "d"}),
			Fault: fault.Precondition},
		{Name: "to a sprint that is nowhere", Fault: fault.NotFound,
			In: op.In{"sprintId": "nobody-made-this", "story": op.In{"id": "d", "title": "d"}}},
	}, Refused: []op.Refusal{
		{Name: "a story that is a text", Given: planned, In: `{"sprintId":"$sprint","story":"d"}`, Path: "story",
			Words: "must be of type object, not string"},
		{Name: "no story", Given: planned, In: `{"sprintId":"$sprint"}`, Path: "story", Words: "is required"},
		{Name: "a story with a wave", Given: planned,
			In: `{"sprintId":"$sprint","story":{"id":"d","title":"t","wave":1}}`, Path: "story.wave",
			Words: "the fields are id, title, dependencies"},
		{Name: "a story that waits for itself", Given: planned,
			In:   `{"sprintId":"$sprint","story":{"id":"d","title":"t","dependencies":["a","d"]}}`,
			Path: "story.dependencies[1]", Words: `"d" cannot depend on itself`},
		{Name: "an unknown dependency", Given: planned,
			In:   `{"sprintId":"$sprint","story":{"id":"d","title":"t","dependencies":["a","x"]}}`,
			Path: "story.dependencies[1]", Words: `there is no story "x" in this sprint`},
		{Name: "an unknown place", Given: planned,
			In: `{"sprintId":"$sprint","story":{"id":"d","title":"t"},"insertionMode":"first"}`, Path: "insertionMode",
			Words: "must be one of current_wave, next_wave, backlog"},
	}}
}

func getCases() op.Cases {
	task := []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Save: "taskId as task"}}
	rights := op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	return op.Cases{RPCs: 2, Owned: []string{"sprintId"}, Rights: rights, Examples: []op.Example{
		{Given: planned, In: op.In{"sprintId": "$sprint"}},
		{Name: "that is complete", Given: op.After(planned,
			op.Step{Op: "complete_sprint", In: op.In{"sprintId": "$sprint"}}),
			In: op.In{"sprintId": "$sprint"}},
		{Name: "by the id of a task", Given: task, In: op.In{"sprintId": "$task"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "an id with a space", In: `{"sprintId":"a b"}`, Path: "sprintId", Words: "must match ^[A-Za-z0-9]"},
		{Name: "an id that begins with a hyphen", In: `{"sprintId":"-no id-"}`, Path: "sprintId",
			Words: "must match ^[A-Za-z0-9]"},
	}}
}

func listCases() op.Cases {
	page := op.After(planned, op.After(planned, op.Step{Op: "list_sprints", In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})...)
	return op.Cases{RPCs: 1, Rights: op.Rights{Program: op.May, Unbound: op.May, Human: op.May}, Examples: []op.Example{
		{Given: planned, In: op.In{}},
		{Name: "that run", Given: planned, In: op.In{"status": "active", "limit": 1}},
		{Name: "the next page", Given: page, In: op.In{"limit": 1, "cursor": "$cursor"}},
	}, Refused: []op.Refusal{
		{Name: "an unknown status", In: `{"status":"open"}`, Path: "status",
			Words: "must be one of active, completing, done, all"},
		{Name: "an unknown cursor", In: `{"cursor":"xyz"}`, Path: "cursor", Words: "use the one that came with the page before"},
	}}
}

func completeCases() op.Cases {
	all := []op.Step{{Op: "create_sprint", In: op.In{"projectName": "p", "branch": "b", "stories": chain(200)},
		Save: "sprintId as sprint"}}
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{Owned: []string{"sprintId"}, Rights: rights, Examples: []op.Example{
		{Given: planned, In: op.In{"sprintId": "$sprint"}},
		{Name: "with a summary", Given: op.After(last, setting("c", "complete")),
			In: op.In{"sprintId": "$sprint", "summary": op.In{"completed": 2, "duration": 5}}},
		{Name: "of 200 stories", Given: all, In: op.In{"sprintId": "$sprint"}},
		{Name: "twice", Given: op.After(planned, op.Step{Op: "complete_sprint", In: op.In{"sprintId": "$sprint"}}),
			In: op.In{"sprintId": "$sprint"}},
		{Name: "while a story is active", Given: busy, In: op.In{"sprintId": "$sprint"}, Fault: fault.Precondition},
		{Name: "of another program's sprint", Given: planned, As: "beta", In: op.In{"sprintId": "$sprint"},
			Fault: fault.Forbidden},
		{Name: "of a program's sprint, by an unbound key", Given: planned, As: op.Unbound, In: op.In{"sprintId": "$sprint"},
			Fault: fault.Forbidden},
		{Name: "that is nowhere", In: op.In{"sprintId": "nobody-made-this"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a negative number", Given: planned, In: `{"sprintId":"$sprint","summary":{"skipped":-1}}`,
			Path: "summary.skipped", Words: "must be at least 0"},
		{Name: "an unknown number", Given: planned, In: `{"sprintId":"$sprint","summary":{"done":1}}`,
			Path: "summary.done", Words: "the fields are completed, failed, skipped, duration"},
	}}
}
