package signal

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestPushesForCreatedTasks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 150)
	for name, c := range map[string]struct {
		t    task.Task
		want string // "title | channel | body", empty for nothing
	}{
		"a question": {task.Task{Type: task.Question, Source: "alpha", Target: human,
			Question: &task.QuestionPart{Content: "Ship it?", Options: []string{"yes"}}},
			"alpha needs your answer | questions | Ship it?"},
		"a question of nobody": {task.Task{Type: task.Question, Target: human,
			Question: &task.QuestionPart{Content: long}}, "An agent needs your answer | questions | " + long},
		"an error": {task.Task{Type: task.Alert, Source: "alpha", Target: human, AlertType: "error",
			Instructions: "it burns"}, "Error from alpha | alerts | it burns"},
		"a warning": {task.Task{Type: task.Alert, Target: human, AlertType: "warning", Instructions: "hot"},
			"Warning | alerts | hot"},
		"a success": {task.Task{Type: task.Alert, Source: "alpha", Target: human, AlertType: "success",
			Instructions: "done"}, "Success from alpha | alerts | done"},
		"an info": {task.Task{Type: task.Alert, Source: "alpha", Target: human, AlertType: "info",
			Instructions: "fyi"}, "Info from alpha | alerts | fyi"},
		"a dream": {task.Task{Type: task.Dream, Target: "alpha", Title: "sheep"},
			"Dream started | dreams | sheep"},
		"a task for the user": {task.Task{Type: task.Work, Source: "a\u202eb\nc", Target: human, Priority: task.High,
			Title: "review"}, "New task from ab c | tasks | review"},
		"one of no source": {task.Task{Type: task.Work, Target: human, Priority: task.Normal, Title: "review"},
			"New task from an agent | tasks | review"},
		"one of low priority":   {task.Task{Type: task.Work, Target: human, Priority: task.Low}, ""},
		"a task for a program":  {task.Task{Type: task.Work, Target: "alpha", Priority: task.High}, ""},
		"a sprint":              {task.Task{Type: task.Sprint, Target: "any"}, ""},
		"a story":               {task.Task{Type: task.Story, Target: "any"}, ""},
		"a question of nothing": {task.Task{Type: task.Question, Target: human}, ""},
	} {
		r, ok := notificationOf(store.Created, nil, &c.t)
		got := r.notice.Title + " | " + string(r.notice.Channel) + " | " + r.notice.Body
		if ok != (c.want != "") || (ok && (got != c.want || r.notice.TaskID != "id" || r.taskID != "id" ||
			r.notice.Type != string(c.t.Type))) {
			t.Errorf("%s: %q %+v, want %q", name, got, r, c.want)
		}
		if quiet := c.t.AlertType == "info" || c.t.AlertType == "success"; r.quiet != quiet {
			t.Errorf("%s: held back in quiet hours is %t", name, r.quiet)
		}
	}
}

var types = []task.Type{task.Work, task.Question, task.Alert, task.Dream, task.Sprint, task.Story}

// The test covers every pair of statuses of every type.
func TestPushesForChangedTasks(t *testing.T) {
	t.Parallel()
	for _, kind := range types {
		for _, from := range task.Statuses() {
			for _, to := range task.Statuses() {
				before, after := task.Task{Type: kind, Status: from, Title: "build\nit"}, task.Task{Type: kind,
					Status: to, Title: "build\nit", Reason: "no disk", Note: "a note"}
				want := ""
				switch {
				case from == to:
				case kind == task.Dream && to == task.Done:
					want = "Dream complete | dreams | build\nit"
				case kind == task.Dream && to == task.Failed:
					want = "Dream failed | dreams | build\nit"
				case kind == task.Dream && from == task.Created && to == task.Active:
					want = "Dream activated | dreams | build\nit"
				case kind == task.Work && to == task.Done:
					want = "build it is done | tasks | a note"
				case to == task.Failed || to == task.Blocked:
					want = "build it is " + string(to) + " | tasks | no disk"
				}
				r, ok := notificationOf(store.Updated, &before, &after)
				got := r.notice.Title + " | " + string(r.notice.Channel) + " | " + r.notice.Body
				if ok != (want != "") || (ok && got != want) {
					t.Errorf("%s %s → %s: %q, want %q", kind, from, to, got, want)
				}
				if limited := r.about == Changes || r.about == Completions; ok && limited != (r.notice.Channel == push.Tasks) {
					t.Errorf("%s %s → %s is about %s", kind, from, to, r.about)
				}
			}
		}
	}
}

// fields returns the fields of a task that occasionOf reads.
func fields(t *task.Task) store.Fields {
	if t == nil {
		return nil
	}
	f := store.Fields{"type": string(t.Type), "status": string(t.Status), "target": t.Target,
		"priority": string(t.Priority)}
	if t.Question != nil {
		f["question"] = store.Fields{}
	}
	return f
}

func notificationOf(kind store.EventKind, before, after *task.Task) (notification, bool) {
	o := occasionOf(kind, fields(before), fields(after))
	if o == "" {
		return notification{}, false
	}
	return o.notification("id", after), true
}

// A store keeps events for the reactions only if they concern them.
func TestADeletionAndTheCreationOfAProgramsTaskConcernNoReaction(t *testing.T) {
	t.Parallel()
	for _, kind := range types {
		for _, status := range task.Statuses() {
			v := &task.Task{Type: kind, Status: status, Target: "alpha", Question: &task.QuestionPart{}}
			if concerns(store.Deleted, fields(v), nil) {
				t.Errorf("a deleted %s %s is kept", status, kind)
			}
		}
	}
	if concerns(store.Created, nil, fields(&task.Task{Type: task.Work, Target: "alpha"})) {
		t.Error("the creation of a program's task is kept")
	}
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		v, err := time.Parse("2006-01-02T15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	night, day := &QuietHours{From: "22:00", To: "07:00"}, &QuietHours{From: "12:00", To: "13:30"}
	berlin := &QuietHours{From: "22:00", To: "07:00", TimeZone: "Europe/Berlin"}
	for name, c := range map[string]struct {
		hours *QuietHours
		at    string
		want  bool
	}{
		"none":                       {nil, "2026-03-01T23:00", false},
		"in the night":               {night, "2026-03-01T23:00", true},
		"after midnight":             {night, "2026-03-01T03:00", true},
		"when they begin":            {night, "2026-03-01T22:00", true},
		"when they end":              {night, "2026-03-01T07:00", false},
		"a minute before they end":   {night, "2026-03-01T06:59", true},
		"at noon":                    {night, "2026-03-01T12:00", false},
		"at lunch":                   {day, "2026-03-01T13:00", true},
		"after lunch":                {day, "2026-03-01T13:30", false},
		"winter in Berlin, before":   {berlin, "2026-03-01T20:59", false},
		"winter in Berlin":           {berlin, "2026-03-01T21:00", true},
		"summer in Berlin":           {berlin, "2026-07-01T20:00", true},
		"summer in Berlin, before":   {berlin, "2026-07-01T19:59", false},
		"hours that nobody can read": {&QuietHours{From: "dusk", To: "dawn"}, "2026-03-01T23:00", false},
		"a zone that is nowhere": {&QuietHours{From: "22:00", To: "07:00", TimeZone: "Mars/Base"},
			"2026-03-01T23:00", false},
	} {
		if got := (&Settings{Quiet: c.hours}).quiet(at(c.at)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// No hour has more pushes than the limits, and each push that was held back is counted once in a
// later one.
func TestTheLimitsHoldInEveryHour(t *testing.T) {
	t.Parallel()
	five, none := 5, 0
	for name, c := range map[string]struct {
		s            Settings
		r            notification
		all, changes int
	}{
		"the most":             {Settings{}, notification{about: Questions}, 100, 100},
		"the most of changes":  {Settings{}, notification{about: Changes}, 20, 20},
		"a cap of one's own":   {Settings{PerHour: &five}, notification{about: Questions}, 5, 5},
		"no changes":           {Settings{ChangesPerHour: &none}, notification{about: Changes}, 0, 0},
		"more than may be":     {Settings{PerHour: new(1_000)}, notification{about: Alerts}, 100, 100},
		"less than none":       {Settings{PerHour: new(-1)}, notification{about: Alerts}, 0, 0},
		"a cap on all changes": {Settings{PerHour: &five}, notification{about: Changes}, 5, 5},
	} {
		var q quota
		var sent []time.Time
		told, held := 0, 0
		for i := range 600 { // 10 hours, one a minute, and twice as many in the fourth
			now := t0.Add(time.Duration(i) * time.Minute)
			for range 1 + i/60%2 {
				more, ok := q.spend(&c.s, &c.r, now)
				if ok {
					sent = append(sent, now)
				} else {
					held++
				}
				told += more
			}
		}
		for i, first := range sent {
			n := 0
			for _, at := range sent[i:] {
				if at.Before(first.Add(time.Hour)) {
					n++
				}
			}
			if n > c.all {
				t.Fatalf("%s: %d in the hour from %v", name, n, first)
			}
		}
		if told+q.Over != held || (c.all == 0) != (len(sent) == 0) || len(q.Sent) > 100 || len(q.Changes) > 20 {
			t.Errorf("%s: %d were sent, %d were held back, %d told of, %d to tell", name, len(sent), held, told, q.Over)
		}
	}
}
