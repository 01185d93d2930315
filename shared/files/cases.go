package files

import (
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// app is the project of the cases.
const app = "github.com/acme/app"

// first is the id of the first reservation of a project.
func first(project string) string { return reservationID(boardID(project), 1) }

// reserving returns the input of a call that reserves paths.
func reserving(more op.In, paths ...string) op.In {
	in := op.In{"project": app, "paths": paths}
	for name, v := range more {
		in[name] = v
	}
	return in
}

// taking returns a step that reserves paths.
func taking(as op.Role, more op.In, paths ...string) op.Step {
	return op.Step{Op: "reserve_files", As: as, In: reserving(more, paths...)}
}

var (
	anyone = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	holder = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	// alphas are the reservations of alpha, and betas one of beta.
	alphas = []op.Step{taking("", op.In{"reason": "the parser ✓"}, "src/parse/", "docs/*.md")}
	betas  = []op.Step{taking("beta", op.In{"reason": "the parser"}, "src/**/*.go")}
	// forTask is a reservation for a task, and inSession one in a session.
	forTask = []op.Step{
		{Op: "create_task", In: op.In{"title": "t", "target": "beta"}, Save: "taskId as task"},
		taking("beta", op.In{"taskId": "$task"}, "src/"),
	}
	inSession = []op.Step{
		{Op: "create_session", As: "beta", In: op.In{"name": "n", "sessionId": "beta.1"}},
		taking("beta", op.In{"sessionId": "beta.1"}, "src/"),
	}
)

func reserveCases() op.Cases {
	once := reserving(op.In{"idempotencyKey": "k"}, "src/")
	before := []op.Step{{Op: "reserve_files", In: once}}
	ended := op.After(forTask, op.Step{Op: "update_task", As: op.Human,
		In: op.In{"taskId": "$task", "status": "derezzed"}})
	over := op.After(inSession, op.Step{Op: "update_session", As: "beta", In: op.In{"sessionId": "beta.1", "state": "complete"}})
	return op.Cases{RPCs: 2, Owned: []string{"taskId"}, Named: []string{"project", "sessionId"}, Rights: anyone,
		Examples: append([]op.Example{
			{In: reserving(op.In{"reason": "the parser"}, "src/parse/", "docs/*.md")},
			{Name: "with everything", Given: forTask, As: "beta", In: reserving(op.In{"mode": "shared", "leaseSeconds": 60,
				"reason": "the parser ✓", "taskId": "$task", "worktree": "fix", "sessionId": "beta.2"}, "{web,api}/[a-m]?.go")},
			{Name: "with an idempotency key", In: once, RPCs: 3},
			{Name: "again with the same key", Given: before, In: once, RPCs: 3},
			{Name: "that it holds", Given: alphas, In: reserving(nil, "docs/*.md", "src/")},
			{Name: "shared", Given: []op.Step{taking("beta", op.In{"mode": "shared"}, "src/")},
				In: reserving(op.In{"mode": "shared"}, "src/")},
			{Name: "in another worktree", Given: []op.Step{taking("beta", op.In{"worktree": "main"}, "src/")},
				In: reserving(op.In{"worktree": "fix"}, "src/")},
			{Name: "as a dry run", Given: betas, In: reserving(op.In{"dryRun": true}, "src/")},
			{Name: "whose holder's task has ended", Given: ended, In: reserving(nil, "src/"), RPCs: 3},
			{Name: "whose holder's session has ended", Given: over, In: reserving(nil, "src/"), RPCs: 3},
			{Name: "whose lease has ended", Given: betas, Pass: 1800e9, In: reserving(nil, "src/")},
			{Name: "in a session that has ended", Given: over, As: "beta", In: reserving(op.In{"sessionId": "beta.1"}, "src/"),
				Fault: fault.Precondition},
			{Name: "for a task that has ended", Given: ended, In: reserving(op.In{"taskId": "$task"}, "src/"),
				Fault: fault.Precondition},
		}, heldExamples()...), Refused: refusedPaths()}
}

// heldExamples are of paths that another holds.
func heldExamples() []op.Example {
	return []op.Example{
		{Name: "that another holds", Given: betas, In: reserving(nil, "src/parse/", "docs/"), Fault: fault.Precondition},
		{Name: "that another holds for a task", Given: forTask, In: reserving(nil, "src/"), Fault: fault.Precondition, RPCs: 3},
		{Name: "that another session of the program holds", Given: inSession, As: "beta", In: reserving(nil, "src/"),
			Fault: fault.Precondition, RPCs: 3},
		{Name: "with a wait in vain", Given: betas, In: reserving(op.In{"waitMs": 1}, "src/"), Fault: fault.Precondition,
			RPCs: 10, Over: "the turn is written, followed and tried"},
	}
}

func refusedPaths() []op.Refusal {
	with := func(path string) string { return `{"project":"` + app + `","paths":["ok",` + path + `]}` }
	return []op.Refusal{
		{Name: "no paths", In: `{"project":"p","paths":[]}`, Path: "paths", Words: "must not be empty"},
		{Name: "no project", In: `{"paths":["a"]}`, Path: "project", Words: "is required"},
		{Name: "a URL as the project", In: `{"paths":["a"],"project":"https://github.com/acme/app"}`, Path: "project",
			Words: "must be host/owner/name, without scheme"},
		{Name: "a project with a space", In: `{"paths":["a"],"project":"a b"}`, Path: "project", Words: "must have no spaces"},
		{Name: "an absolute path", In: with(`"/etc/passwd"`), Path: "paths[1]", Words: "not absolute"},
		{Name: "a path that leads out", In: with(`"a/../../b"`), Path: "paths[1]", Words: `must not contain ".."`},
		{Name: "an empty path", In: with(`""`), Path: "paths[1]", Words: "must not be empty"},
		{Name: "an alternative without text", In: with(`"{,x}"`), Path: "paths[1]", Words: "must not have an alternative that is empty"},
		{Name: "a class without an end", In: with(`"[a"`), Path: "paths[1]", Words: `has a "[" without its "]"`},
		{Name: "too many alternatives", In: with(`"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"`), Path: "paths[1]",
			Words: "more than 32 patterns"},
		{Name: "a path too long", In: with(`"` + strings.Repeat("é", 301) + `"`), Path: "paths[1]",
			Words: "must be at most 300 characters, not 301"},
		{Name: "too many paths", In: `{"project":"p","paths":["a"` + strings.Repeat(`,"a"`, 100) + `]}`, Path: "paths",
			Words: "must have at most 100 members, not 101"},
		{Name: "a lease too short", In: `{"project":"p","paths":["a"],"leaseSeconds":59}`, Path: "leaseSeconds",
			Words: "must be at least 60"},
		{Name: "an unknown mode", In: `{"project":"p","paths":["a"],"mode":"read"}`, Path: "mode",
			Words: "must be one of exclusive, shared"},
		{Name: "a wait too long", In: `{"project":"p","paths":["a"],"waitMs":55001}`, Path: "waitMs",
			Words: "must be at most 55000"},
		{Name: "a reason too long", In: `{"project":"p","paths":["a"],"reason":"` + strings.Repeat("é", 201) + `"}`,
			Path: "reason", Words: "must be at most 200 characters, not 201"},
	}
}

func releaseCases() op.Cases {
	return op.Cases{RPCs: 2, Owned: []string{"reservationIds"}, Named: []string{"project", "sessionId"}, Rights: holder,
		Examples: []op.Example{
			{Given: alphas, In: op.In{"reservationIds": []string{first(app)}}},
			{Name: "of all in the project", Given: alphas, In: op.In{"project": app}},
			{Name: "of paths", Given: alphas, In: op.In{"project": app, "paths": []string{"docs/*.md", "src/"}}},
			{Name: "of a task", Given: forTask, As: "beta", In: op.In{"project": app, "taskId": "$task"}},
			{Name: "of a session", Given: inSession, As: "beta", In: op.In{"project": app, "sessionId": "beta.1"}},
			{Name: "of none", In: op.In{"project": app}, RPCs: 1},
			{Name: "of another program's", Given: betas, In: op.In{"reservationIds": []string{first(app)}},
				Fault: fault.Forbidden},
			{Name: "of a session's, without it", Given: inSession, As: "beta",
				In: op.In{"reservationIds": []string{first(app)}}, Fault: fault.Forbidden},
			{Name: "of ids that are nowhere", In: op.In{"reservationIds": []string{first("p"), "x"}}},
		}, Refused: append(refusedIDs(), op.Refusal{Name: "a malformed path", In: `{"project":"p","paths":["a","{"]}`,
			Path: "paths[1]", Words: `has a "{" without its "}"`})}
}

// refusedIDs are the refused inputs that name reservations.
func refusedIDs() []op.Refusal {
	return []op.Refusal{
		{Name: "neither project nor ids", In: `{}`, Path: "project", Words: "is required unless reservationIds are given"},
		{Name: "ids of two projects", In: `{"reservationIds":["` + first("a") + `","` + first("b") + `"]}`,
			Path: "reservationIds[1]", Words: "is of another project"},
	}
}

func renewCases() op.Cases {
	return op.Cases{RPCs: 2, Owned: []string{"reservationIds"}, Named: []string{"project", "sessionId"}, Rights: holder,
		Examples: []op.Example{
			{Given: alphas, Pass: 600e9, In: op.In{"reservationIds": []string{first(app)}}},
			{Name: "of all in the project", Given: alphas, Pass: 600e9, In: op.In{"project": app}},
			{Name: "twice in a minute", Given: alphas, In: op.In{"project": app}, RPCs: 1},
			{Name: "of a lease that has ended", Given: alphas, Pass: 1800e9, In: op.In{"reservationIds": []string{first(app)}},
				RPCs: 1},
			{Name: "of another program's", Given: betas, In: op.In{"reservationIds": []string{first(app)}},
				Fault: fault.Forbidden},
		}, Refused: refusedIDs()}
}

func listCases() op.Cases {
	many := make([]string, 60)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	page := []op.Step{
		taking("", nil, many...), taking("beta", op.In{"worktree": "w"}, many[0]+"/", "y"),
		taking("", nil, "a/", "b/", "c/"), {Op: "reserve_files", In: op.In{"project": "b.org/p", "paths": many}},
		{Op: "list_reservations", Save: "nextCursor as cursor"},
	}
	broken := op.After(betas, op.Step{Op: "break_reservation", As: op.Human,
		In: op.In{"reservationId": first(app), "reason": "it is in the way"}})
	return op.Cases{RPCs: 2, Named: []string{"project"}, Rights: anyone, Examples: []op.Example{
		{Given: alphas, In: op.In{"project": app}, RPCs: 1},
		{Name: "of all projects", Given: op.After(alphas, betas2...)},
		{Name: "of a program", Given: op.After(alphas, betas2...), In: op.In{"program": "BETA"}},
		{Name: "on a path", Given: alphas, In: op.In{"project": app, "path": "docs/a.md"}},
		{Name: "for a task", Given: forTask, In: op.In{"project": app}},
		{Name: "with what went past them", Given: broken, In: op.In{"project": app, "recent": true}},
		{Name: "of all projects, with what went past them", Given: broken, In: op.In{"recent": true},
			RPCs: 3, Over: "what went past them is read too"},
		{Name: "the next page", Given: page, In: op.In{"cursor": "$cursor"}},
		{Name: "where there are none", RPCs: 1},
	}, Refused: []op.Refusal{
		{Name: "a path without a project", In: `{"path":"a"}`, Path: "project", Words: "is required with path"},
		{Name: "a malformed path", In: `{"project":"p","path":"../a"}`, Path: "path", Words: `must not contain ".."`},
		{Name: "an unknown cursor", In: `{"cursor":"xyz"}`, Path: "cursor", Words: "use the one that came with the page before"},
	}}
}

// betas2 are reservations of beta in another project.
var betas2 = []op.Step{{Op: "reserve_files", As: "beta", In: op.In{"project": "gitlab.com/a/b", "paths": []string{"x"}}}}

func checkCases() op.Cases {
	some := op.In{"project": app, "paths": []string{"src/parse/a.go", "web/[id].tsx"}}
	return op.Cases{RPCs: 1, Named: []string{"project", "sessionId"}, Rights: anyone, Examples: []op.Example{
		{Given: alphas, In: some},
		{Name: "that another holds", Given: betas, In: some},
		{Name: "that another held for a task", Given: forTask, In: some, RPCs: 2},
		{Name: "in another worktree", Given: []op.Step{taking("beta", op.In{"worktree": "main"}, "src/")},
			In: op.In{"project": app, "paths": []string{"src/a.go"}, "worktree": "fix", "sessionId": "alpha.1"}},
		{Name: "of a project without reservations", In: some},
	}, Refused: []op.Refusal{
		{Name: "a directory", In: `{"project":"p","paths":["a","b/"]}`, Path: "paths[1]",
			Words: "must name a file, not a directory"},
		{Name: "no paths", In: `{"project":"p","paths":[]}`, Path: "paths", Words: "must not be empty"},
		{Name: "an absolute path", In: `{"project":"p","paths":["C:\\a"]}`, Path: "paths[0]", Words: "not absolute"},
	}}
}

func breakCases() op.Cases {
	breaking := op.In{"reservationId": first(app), "reason": "it is in the way"}
	return op.Cases{RPCs: 2, Owned: []string{"reservationId"}, Named: []string{"sessionId"}, Rights: holder,
		Examples: []op.Example{
			{Given: alphas, In: breaking},
			{Name: "by the human", Given: betas, As: op.Human, In: breaking},
			{Name: "of a silent holder", Given: betas, Pass: Silence, In: breaking},
			{Name: "of a silent session", Given: inSession, Pass: Silence, In: breaking, RPCs: 3},
			{Name: "of a holder that was heard of", Given: betas, In: breaking, Fault: fault.Forbidden},
			{Name: "of a session that was heard of", Given: inSession, In: breaking, Fault: fault.Forbidden},
			{Name: "that is nowhere", In: breaking, Fault: fault.NotFound},
		}, Refused: []op.Refusal{
			{Name: "a reason too long", In: `{"reservationId":"x","reason":"` + strings.Repeat("é", 201) + `"}`, Path: "reason",
				Words: "must be at most 200 characters, not 201"},
		}}
}

func settingsCases() op.Cases {
	given := []op.Step{{Op: "set_file_settings", As: op.Human, In: op.In{"project": app, "auto": true}}}
	return op.Cases{RPCs: 1, Named: []string{"project"}, Rights: anyone, Examples: []op.Example{
		{Given: given, In: op.In{"project": app}},
		{Name: "that nobody has set", In: op.In{"project": app}},
	}, Refused: []op.Refusal{
		{Name: "a URL as the project", In: `{"project":"https://github.com/acme/app"}`, Path: "project",
			Words: "without scheme"},
	}}
}

func setCases() op.Cases {
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{RPCs: 1, Named: []string{"project"}, Rights: rights, Examples: []op.Example{
		{As: op.Human, In: op.In{"project": app, "auto": true, "strict": true, "ignoreCase": true, "refuseWorktrees": true}},
		{Name: "to the defaults", As: op.Human, In: op.In{"project": app}},
		{Name: "by an agent", In: op.In{"project": app}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a setting that is a text", As: op.Human, In: `{"project":"p","auto":"sometimes"}`, Path: "auto",
			Words: "must be of type boolean"},
		{Name: "a project with a user", As: op.Human, In: `{"project":"git@github.com"}`, Path: "project",
			Words: "without scheme, user and port"},
	}}
}
