package team

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestATaskHasTheShapeOfTheFileFormat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		out, err := w.CreateTask(t.Context(), alpha, CreateTaskInput{TeamName: "core", Subject: "Write <it>",
			Description: "all & more", ActiveForm: "Writing it",
			Metadata: json.RawMessage(`{"b": [1, [2]], "a": "<&>", "n": null, "big": 12345678901234567890}`)})
		want := `{"id":"1","subject":"Write <it>","description":"all & more","activeForm":"Writing it",` +
			`"status":"pending","blocks":[],"blockedBy":[],"metadata":{"a":"<&>","b":[1,[2]],` +
			`"big":12345678901234567890}}`
		if err != nil || !sameJSON(t, asJSON(t, out), want) ||
			!strings.Contains(string(out.Metadata), "12345678901234567890") {
			t.Errorf("%s, %v", asJSON(t, out), err)
		}
		if got := asJSON(t, w.task("1")); !sameJSON(t, got, want) {
			t.Errorf("%s", got)
		}
		w.tasks("core", 1)
		got := w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), AddBlocks: []string{"2", "2"},
			Metadata: json.RawMessage(`{"a":null,"c":true}`)})
		want = `{"id":"1","subject":"Write <it>","description":"all & more","activeForm":"Writing it",` +
			`"status":"pending","blocks":["2"],"blockedBy":[],"owner":"ann","metadata":{"b":[1,[2]],` +
			`"big":12345678901234567890,"c":true}}`
		if !sameJSON(t, asJSON(t, got), want) || asJSON(t, w.task("1")) != asJSON(t, got) {
			t.Errorf("%s, %s", asJSON(t, got), asJSON(t, w.task("1")))
		}
		if got := w.task("2"); !slices.Equal(got.BlockedBy, []string{"1"}) {
			t.Errorf("%+v", got)
		}
		got = w.updated(UpdateTaskInput{TaskID: "1", Owner: new(""), Subject: new("s"), Description: new(""),
			ActiveForm: new("f"), Metadata: json.RawMessage(`{"b":null,"big":null,"c":null}`)})
		if asJSON(
			t,
			got,
		) != `{"id":"1","subject":"s","description":"","activeForm":"f","status":"pending","blocks":["2"],"blockedBy":[]}` {
			t.Errorf("%s", asJSON(t, got))
		}
	})
}

// sameJSON reports whether two texts are equal as JSON.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return asJSON(t, x) == asJSON(t, y)
}

func TestOnlyANewOwnerGetsTheAssignment(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob")
		w.tasks("core", 1)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann")})
		want := `{"type":"task_assignment","taskId":"1","subject":"task 1","description":"the whole of it",` +
			`"assignedBy":"team-lead","timestamp":"2026-03-01T12:00:00.000Z"}`
		if m := w.last("core", "ann"); m.Text != want || m.From != Lead || m.Read {
			t.Errorf("%+v", m)
		}
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), Status: InProgress})
		if got := w.inbox("core", "ann"); len(got) != 2 {
			t.Errorf("the owner got the assignment again: %+v", got)
		}
		out, err := w.UpdateTask(t.Context(), domaintest.Bound("u", "ann"),
			UpdateTaskInput{TeamName: "core", TaskID: "1", Owner: new("bob")})
		if m := w.last("core", "bob"); err != nil || out.Warning != "" ||
			!strings.Contains(m.Text, `"assignedBy":"ann"`) || m.From != "ann" || m.Color != "blue" {
			t.Errorf("%+v, %+v, %v", out, m, err)
		}
		out, err = w.update(UpdateTaskInput{TaskID: "1", Owner: new("eve")})
		if err != nil ||
			out.Warning != `no member of team core is named "eve"; the assignment waits in that inbox. Members: `+
				`team-lead, ann, bob` ||
			len(w.inbox("core", "eve")) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		if got := w.inbox("core", "bob"); len(got) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestARefusedUpdateChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		w.tasks("core", 3)
		w.updated(UpdateTaskInput{TaskID: "1", AddBlocks: []string{"2"}})
		for name, tc := range map[string]struct {
			in    UpdateTaskInput
			kind  fault.Kind
			words string
		}{
			"a status that is blocked": {UpdateTaskInput{Status: Completed}, fault.Precondition,
				"Cannot set status to completed: blocked by task 1 (status: pending)"},
			"a circle": {UpdateTaskInput{AddBlocks: []string{"3", "1"}}, fault.Precondition,
				"Adding block 2 -> 1 would create a circular dependency"},
			"no subject": {UpdateTaskInput{Subject: new(" ")}, fault.Invalid,
				"Task subject must not be empty"},
			"too much metadata": {UpdateTaskInput{Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x",
				maxMetadata) + `"}`)}, fault.Invalid,
				"metadata: must have at most 16000 bytes in all; set keys to null to remove them"},
			"an owner with no name": {UpdateTaskInput{Owner: new("a b")}, fault.Invalid,
				"Invalid agent name: 'a b'. Use only letters, numbers, hyphens, underscores."},
		} {
			in := tc.in
			in.TaskID, in.Description = "2", new("changed")
			if in.Owner == nil {
				in.Owner = new("ann")
			}
			if in.Metadata == nil {
				in.Metadata = json.RawMessage(`{"a":1}`)
			}
			_, err := w.update(in)
			if !fault.Is(err, tc.kind) || err.Error() != tc.words {
				t.Errorf("%s: %v %q", name, fault.Of(err), err)
			}
			got := asJSON(t, w.task("2"))
			if got != `{"id":"2","subject":"task 2","description":"the whole of it","activeForm":"",`+
				`"status":"pending","blocks":[],"blockedBy":["1"]}` {
				t.Errorf("%s: %s", name, got)
			}
			if got := w.inbox("core", "ann"); len(got) != 1 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

func TestTasksOfAMissingTeamOrUnderABadNameAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for team, want := range map[string]struct {
			kind  fault.Kind
			words string
		}{
			"none": {fault.NotFound, "Team none does not exist"},
			"a b":  {fault.Invalid, "Invalid team name: 'a b'. Use only letters, numbers, hyphens, underscores."},
		} {
			_, err := w.CreateTask(t.Context(), alpha, CreateTaskInput{TeamName: team, Subject: "s"})
			says(t, err, want.kind, want.words)
			_, err = w.UpdateTask(t.Context(), alpha, UpdateTaskInput{TeamName: team, TaskID: "1"})
			says(t, err, want.kind, want.words)
			_, err = w.ListTasks(t.Context(), alpha, ListTasksInput{TeamName: team})
			says(t, err, want.kind, want.words)
			_, err = w.GetTask(t.Context(), alpha, TaskInput{team, "1"})
			says(t, err, want.kind, want.words)
		}
		w.team("core")
		_, err := w.CreateTask(t.Context(), alpha, CreateTaskInput{TeamName: "core", Subject: "\t"})
		says(t, err, fault.Invalid, "Task subject must not be empty")
		_, err = w.GetTask(t.Context(), alpha, TaskInput{"core", "1"})
		says(t, err, fault.NotFound, "Task 1 not found in team core")
		_, err = w.ListTasks(t.Context(), alpha, ListTasksInput{TeamName: "core", Status: "done"})
		says(t, err, fault.Invalid, "Invalid status: done")
	})
}

func TestAListIsSortedByIDAndPaged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		w.tasks("core", 12)
		w.updated(UpdateTaskInput{TaskID: "3", AddBlocks: []string{"4", "10"}})
		w.updated(UpdateTaskInput{TaskID: "2", Owner: new("ann"), Status: InProgress})
		w.updated(UpdateTaskInput{TaskID: "5", Status: Completed})
		w.updated(UpdateTaskInput{TaskID: "6", Status: Deleted})
		same(t, "all", w.list(ListTasksInput{}), []string{"1", "2", "3", "4", "5", "7", "8", "9", "10", "11", "12"})
		same(t, "ready", w.list(ListTasksInput{Ready: true}), []string{"1", "3", "7", "8", "9", "11", "12"})
		same(t, "in progress", w.list(ListTasksInput{Status: InProgress}), []string{"2"})
		same(t, "of ann", w.list(ListTasksInput{Owner: "ann"}), []string{"2"})
		same(t, "ready of ann", w.list(ListTasksInput{Owner: "ann", Ready: true}), []string{})
		var all []string
		for in, pages := (ListTasksInput{TeamName: "core", Limit: 4}), 0; ; pages++ {
			out, err := w.ListTasks(t.Context(), alpha, in)
			if err != nil || pages > 3 {
				t.Fatalf("%d pages, %v", pages, err)
			}
			for _, task := range out.Tasks {
				all = append(all, task.ID)
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		same(t, "by page", all, w.list(ListTasksInput{}))
		w.updated(UpdateTaskInput{TaskID: "3", Status: Completed})
		same(t, "ready then", w.list(ListTasksInput{Ready: true}), []string{"1", "4", "7", "8", "9", "10", "11", "12"})
		_, err := w.ListTasks(t.Context(), alpha, ListTasksInput{TeamName: "core", Cursor: "x"})
		says(t, err, fault.Invalid, "cursor: must be the a nextCursor")
	})
}

func TestConcurrentCreatorsNeverShareAnID(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		const creators = 8
		ids := make([]string, creators)
		failed := domaintest.Together(creators, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				out, err := w.CreateTask(t.Context(), alpha, CreateTaskInput{TeamName: "core", Subject: fmt.Sprint(i)})
				ids[i] = out.ID
				return err
			})
		})
		if len(failed) != 0 {
			t.Error(failed)
		}
		for i, id := range ids {
			if got := w.task(id); got.Subject != fmt.Sprint(i) {
				t.Errorf("creator %d was given %s, which is that of %s", i, id, got.Subject)
			}
		}
		slices.Sort(ids)
		same(t, "ids", ids, []string{"1", "2", "3", "4", "5", "6", "7", "8"})
		w.updated(UpdateTaskInput{TaskID: "8", Status: Deleted}) // deleted ids are not reused
		same(t, "the next", w.tasks("core", 1), []string{"9"})
	})
}

// Each update is valid alone, and both together close a cycle.
func TestOfTwoConcurrentUpdatesThatCloseACycleOneIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		w.tasks("core", 2)
		failed := domaintest.Together(2, func(i int) error {
			ids := []string{"1", "2"}
			return domaintest.Retry(t.Context(), func() error {
				return domaintest.Err(w.update(UpdateTaskInput{TaskID: ids[i], AddBlocks: ids[1-i : 2-i]}))
			})
		})
		if len(failed) != 1 || !fault.Is(failed[0], fault.Precondition) {
			t.Errorf("%v", failed)
		}
	})
}
