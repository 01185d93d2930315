package team

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// archive is a team as another program wrote it.
func archive() Archive {
	a := Archive{Config: newConfig("core", "what for", "", "", "session", 1700000000123)}
	a.Members[0].Cwd, a.Members[0].Model = "/w", "opus"
	a.Members = append(a.Members, Member{AgentID: "ann@core", Name: "ann", AgentType: "tester", Model: "sonnet",
		Prompt: new("go"), Color: new("cyan"), PlanModeRequired: new(true), JoinedAt: 1700000000456, TmuxPaneID: "%3",
		Cwd: "/w", Subscriptions: []string{}, BackendType: new("tmux"), IsActive: new(true)})
	a.Inboxes = map[string][]Message{"ann": {{ID: "0000000001", From: Lead, Text: "go",
		Timestamp: "2023-11-14T22:13:20.456Z", Read: true},
		{ID: "0000000002", From: "gone", Text: "still", Timestamp: "then", Summary: "s", Color: "red"}},
		"gone": {{ID: "0000000001", From: "ann", Text: "hello", Timestamp: "2023-11-14T22:13:21.000Z"}}}
	a.Tasks = []Task{{ID: "2", Subject: "b", Description: "bb", ActiveForm: "bbb", Status: Completed,
		Blocks: []string{"11"}, BlockedBy: []string{}},
		{ID: "11", Subject: "c", Status: Pending, Owner: "ann", Blocks: []string{}, BlockedBy: []string{"2"},
			Metadata: json.RawMessage(`{"n":[1.50,null]}`)}}
	return a
}

func TestAnExportEqualsTheImport(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if err := w.Import(t.Context(), alpha, archive()); err != nil {
			t.Fatal(err)
		}
		got, err := w.Export(t.Context(), human, "core")
		if err != nil || asJSON(t, got) != asJSON(t, archive()) {
			t.Errorf("%s\n%s\n%v", asJSON(t, got), asJSON(t, archive()), err)
		}
		// The import continues the ids of tasks and messages, and its lead leads it.
		if ids := w.tasks("core", 1); ids[0] != "12" {
			t.Errorf("%v", ids)
		}
		if out := w.send(alpha, SendInput{Type: "message", Recipient: "ann", Content: "c",
			Summary: "s"}); out.Routing.Sender != Lead || w.last("core", "ann").ID != "0000000003" {
			t.Errorf("%+v", out)
		}
		_, err = w.Create(t.Context(), alpha, CreateInput{TeamName: "other"})
		says(t, err, fault.Precondition, "Session already has active team: core. One team per session.")
		if err := w.Import(t.Context(), beta, archive()); !fault.Is(err, fault.Exists) {
			t.Error(err)
		}
		w.holds(map[string]int{"teamGraves": 0})
		_, err = w.Export(t.Context(), beta, "core")
		says(t, err, fault.Forbidden, `only the lead of team core or a human may do this; this key speaks for "beta"`)
		_, err = w.Export(t.Context(), beta, "none")
		says(t, err, fault.NotFound, "Team none does not exist")
	})
}

func TestAMalformedArchiveIsRefusedAndLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, tc := range map[string]struct {
			spoil func(*Archive)
			words string
		}{
			"a bad name": {func(a *Archive) { a.Name = "a/b" },
				"Invalid team name: 'a/b'. Use only letters, numbers, hyphens, underscores."},
			"no lead": {func(a *Archive) { a.Members = a.Members[1:] },
				"the team has no member named team-lead"},
			"a member twice": {func(a *Archive) { a.Members = append(a.Members, a.Members[1]) },
				"Member 'ann' already exists in team 'core'"},
			"a member in another case": {func(a *Archive) {
				a.Members = append(a.Members, a.Members[1])
				a.Members[2].Name = "ANN"
			}, "Member 'ANN' already exists in team 'core'"},
			"a bad member": {func(a *Archive) { a.Members[1].Name = ".." },
				"Invalid agent name: '..'. Use only letters, numbers, hyphens, underscores."},
			"a bad inbox": {func(a *Archive) { a.Inboxes["a b"] = nil },
				"Invalid agent name: 'a b'. Use only letters, numbers, hyphens, underscores."},
			"an id that is none": {func(a *Archive) { a.Tasks[0].ID = "02" },
				`"02" is not the id of a task: it must be a whole number from 1 on`},
			"a task twice":      {func(a *Archive) { a.Tasks[0].ID = "11" }, "there are two tasks 11"},
			"an unknown status": {func(a *Archive) { a.Tasks[0].Status = "done" }, "task 2: Invalid status: done"},
			"an unknown task": {func(a *Archive) { a.Tasks[0].Blocks = []string{"3"} },
				"task 2: Referenced task 3 does not exist"},
			"a circle": {func(a *Archive) { a.Tasks[0].BlockedBy = []string{"11"} },
				"task 2 waits for itself: its blockedBy is a circular dependency"},
			"metadata of no shape": {func(a *Archive) { a.Tasks[0].Metadata = json.RawMessage(`[]`) },
				"task 2: metadata: must be an object"},
			"too many tasks": {func(a *Archive) { a.Tasks = make([]Task, MaxTasks+1) },
				"a team has at most 100 members, 400 inboxes and 1000 tasks; this one has 2, 2 and 1001"},
		} {
			a := archive()
			tc.spoil(&a)
			err := w.Import(t.Context(), alpha, a)
			if !fault.Is(err, fault.Invalid) || err.Error() != tc.words {
				t.Errorf("%s: %v %q", name, fault.Of(err), err)
			}
		}
		w.holds(map[string]int{"teams": 0, "teamBoards": 0, "teamSeats": 0, "teamInboxes": 0})
	})
}

// No call sees an interrupted import, the sweep deletes it, and it can be repeated.
func TestAnInterruptedImportIsDeletedBySweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := archive()
		for i := range 3 * clearPage {
			a.Inboxes["ann"] = append(a.Inboxes["ann"], Message{From: Lead, Text: strings.Repeat("x", 30_000),
				Timestamp: fmt.Sprint(i)})
		}
		a.Inboxes["ann"][400].Text = strings.Repeat("x", 2<<20) // more than a document holds
		if err := w.Import(t.Context(), alpha, a); err == nil {
			t.Fatal("it was taken")
		}
		w.holds(map[string]int{"teams": 0, "teamSeats": 0, "teamGraves": 1})
		page, _, err := deletions.QueryAll(t.Context(), w.admin(),
			store.Query{Where: []store.Cond{store.Le("dueAt", w.Now().Add(importTimeout))}, Order: []string{"dueAt"},
				Limit: 10})
		if err != nil || len(page) != 1 {
			t.Fatalf("%v, %v", page, err)
		}
		left := func() int {
			p, err := messages.Under(page[0].Ref.ID).Query(t.Context(), w.DB.User("u"), store.Query{Limit: 10})
			return len(domaintest.Must(p, err)(t).Docs)
		}
		if left() == 0 {
			t.Error("no document was written, so that the test is void")
		}
		w.sweep(func() (int, error) { return w.SweepTeams(t.Context(), w.admin(), 10) }, 0)
		w.Pass(importTimeout + time.Second)
		w.sweep(func() (int, error) { return w.SweepTeams(t.Context(), w.admin(), 10) }, 1)
		if left() != 0 {
			t.Error("messages are left")
		}
		a.Inboxes["ann"][400].Text = "short"
		if err := w.Import(t.Context(), alpha, a); err != nil {
			t.Fatal(err)
		}
		got, err := w.Export(t.Context(), alpha, "core")
		if err != nil || len(got.Inboxes["ann"]) != 3*clearPage+2 ||
			!slices.EqualFunc(
				got.Inboxes["ann"],
				a.Inboxes["ann"],
				func(x, y Message) bool { return x.Text == y.Text && x.Timestamp == y.Timestamp },
			) {
			t.Errorf("%d messages, %v", len(got.Inboxes["ann"]), err)
		}
	})
}
