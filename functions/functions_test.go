package functions_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/functions/internal/entry"
	"parley.internal/shared/app"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	"parley.internal/shared/store/words"
	"parley.internal/shared/task"
	"parley.internal/shared/team"
)

func TestThereAreSevenFunctions(t *testing.T) {
	t.Parallel()
	reactions, sweeps := entry.Names()
	if !slices.Equal(reactions, []string{"OnSessionUpdate", "OnTaskCreate", "OnTaskUpdate"}) ||
		!slices.Equal(sweeps, []string{"CleanupExpiredSessions", "CleanupOrphanedTasks", "CleanupExpiredRelay",
			"CleanupLedger"}) {
		t.Errorf("%q, %q", reactions, sweeps)
	}
}

// asked has alpha ask a question and returns its ID and the event of its creation.
func (w *world) asked(in signal.AskInput) (id string, created change) {
	w.t.Helper()
	q, err := w.Signal.Ask(w.t.Context(), alpha, op.Fill(in))
	must(w, q, err)
	return q.QuestionID, w.event("OnTaskCreate", nil, w.doc("tasks/"+q.QuestionID))
}

// blocked has beta report a task as blocked and returns its ID and the event.
func (w *world) blocked() (id string, updated change) {
	w.t.Helper()
	ctx := w.t.Context()
	made, err := w.Dispatch.Create(ctx, alpha,
		op.Fill(dispatch.CreateInput{Title: "build it", Target: "beta", Instructions: "the secret plan"}))
	must(w, made, err)
	claim, err := w.Dispatch.Claim(ctx, beta, op.Fill(dispatch.ClaimInput{TaskID: made.TaskID}))
	must(w, claim, err)
	before := w.doc("tasks/" + made.TaskID)
	v, err := w.Dispatch.Update(ctx, beta,
		op.Fill(dispatch.UpdateInput{TaskID: made.TaskID, Status: task.Blocked, Note: "no disk"}))
	must(w, v, err)
	return made.TaskID, w.event("OnTaskUpdate", before, w.doc("tasks/"+made.TaskID))
}

// stuck has beta report a session as blocked and returns its ID and the event.
func (w *world) stuck() (id string, updated change) {
	w.t.Helper()
	s, err := w.Pulse.Create(w.t.Context(), beta, op.Fill(pulse.CreateInput{Name: "the build", SessionID: "beta.1"}))
	must(w, s, err)
	before := w.doc("sessions/beta.1")
	status := "waits for a disk"
	v, err := w.Pulse.Update(w.t.Context(), beta,
		op.Fill(pulse.UpdateInput{SessionID: "beta.1", State: pulse.Blocked, Status: &status}))
	must(w, v, err)
	return "beta.1", w.event("OnSessionUpdate", before, w.doc("sessions/beta.1"))
}

func TestEachReactionSendsItsPush(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone")
	q, asked := w.asked(signal.AskInput{Question: "Deploy now?", Options: []string{"yes", "no"},
		Context: "a secret context", Priority: task.High})
	tid, blocked := w.blocked()
	sid, stuck := w.stuck()
	for i, tc := range []struct {
		event       change
		title, body string
		data        map[string]string
	}{
		{asked, "alpha needs your answer", "Deploy now?", map[string]string{"type": "question", "taskId": q,
			"priority": "high", "url": "https://parley.example/q/" + q}},
		{blocked, "build it is blocked", "no disk", map[string]string{"type": "task", "taskId": tid,
			"priority": "normal", "url": "https://parley.example/q/" + tid}},
		{stuck, "the build is blocked", "waits for a disk", map[string]string{"type": "session", "sessionId": sid,
			"priority": "normal", "url": "https://parley.example/q"}},
	} {
		if status := w.post(tc.event); status != http.StatusOK {
			t.Fatalf("%s answers %d\n%s", tc.event.function, status, w.logs)
		}
		all := w.fcm.Messages()
		if len(all) != i+1 {
			t.Fatalf("%s: %d messages\n%s", tc.event.function, len(all), w.logs)
		}
		m := all[i]
		if m.Project != w.project || m.Token != "phone" || m.Title != tc.title || m.Body != tc.body {
			t.Errorf("%s sent %+v", tc.event.function, m)
		}
		for key, want := range tc.data {
			if m.Data[key] != want {
				t.Errorf("%s: %s is %q in %v", tc.event.function, key, m.Data[key], m.Data)
			}
		}
	}
	if w.end(); strings.Contains(w.logs.String(), "secret") {
		t.Error("the log must not contain a secret")
	}
}

func TestARedeliveredEventSendsNoSecondPush(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone", "tablet")
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?"})
	_, blocked := w.blocked()
	_, stuck := w.stuck()
	for i, e := range []change{asked, blocked, stuck} {
		for n := range 2 {
			if status := w.post(e); status != http.StatusOK || len(w.fcm.Messages()) != 2*(i+1) {
				t.Fatalf("%s, time %d: %d, sent to %s\n%s", e.function, n+1, status, w.tokens(), w.logs)
			}
		}
	}
}

func TestConcurrentDeliveriesOfAnEventSendOnePush(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone", "tablet")
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?"})
	_, blocked := w.blocked()
	_, stuck := w.stuck()
	for i, e := range []change{asked, blocked, stuck} {
		release := w.fcm.Hold()
		first := make(chan int, 1)
		go func() { first <- w.post(e) }()
		if _, err := w.fcm.Wait(t.Context(), 2*i+1); err != nil {
			t.Fatal(err)
		}
		if status := w.post(e); status != http.StatusInternalServerError {
			t.Errorf("%s: while it is told the second answers %d", e.function, status)
		}
		release()
		if status := <-first; status != http.StatusOK {
			t.Errorf("%s: the first answers %d", e.function, status)
		}
		if status := w.post(e); status != http.StatusOK || len(w.fcm.Messages()) != 2*(i+1) {
			t.Errorf("%s: the second, again: %d, sent to %s", e.function, status, w.tokens())
		}
	}
}

func TestManyConcurrentDeliveriesSendOnePushEach(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone")
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?"})
	const n = 8
	answers := make(chan int, n)
	for range n {
		go func() { answers <- w.post(asked) }()
	}
	for range n {
		if status := <-answers; status != http.StatusOK && status != http.StatusInternalServerError {
			t.Errorf("one answers %d", status)
		}
	}
	if status := w.post(asked); status != http.StatusOK || w.tokens() != "phone" {
		t.Errorf("%d, sent to %q\n%s", status, w.tokens(), w.logs)
	}
}

func TestAnEventThatCanNeverBeHandledIsDropped(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone")
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?"})
	_, blocked := w.blocked()
	_, stuck := w.stuck()
	old := func(c change, age time.Duration) change { c.at = c.at.Add(-age); return c }
	broken := func(c change) change { c.body = []byte("\xff no protobuf"); return c }
	useless := map[string]change{
		"a question of yesterday":       old(asked, 24*time.Hour+time.Minute),
		"a task of an hour ago":         old(blocked, time.Hour+time.Minute),
		"a session of an hour ago":      old(stuck, time.Hour+time.Minute),
		"a broken body of OnTaskCreate": broken(asked), "of OnTaskUpdate": broken(blocked),
		"of OnSessionUpdate": broken(stuck),
	}
	for what, c := range useless {
		c.id = what
		if status := w.post(c); status != http.StatusOK || len(w.fcm.Messages()) != 0 {
			t.Errorf("%s: %d, sent to %q", what, status, w.tokens())
		}
	}
	// An event that is not too old is handled. An event of another function is dropped.
	if status := w.post(old(asked, 24*time.Hour-time.Minute)); status != http.StatusOK || w.tokens() != "phone" {
		t.Errorf("of today: %d, sent to %q", status, w.tokens())
	}
	other := blocked
	other.function = "OnSessionUpdate"
	if status := w.post(other); status != http.StatusOK || w.tokens() != "phone" {
		t.Errorf("a task given to OnSessionUpdate: %d, sent to %q", status, w.tokens())
	}
	w.end()
	if n := strings.Count(w.logs.String(), `"message":"event dropped"`); n != len(useless) {
		t.Errorf("the log tells of %d dropped events:\n%s", n, w.logs)
	}
	for what, c := range useless {
		if !strings.Contains(w.logs.String(),
			`"message":"event dropped","reaction":"`+c.function+`","event":"`+what+`"`) {
			t.Errorf("%s is not in the log:\n%s", what, w.logs)
		}
	}
}

func TestAnEventIsRedeliveredWhenFCMIsUnavailable(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone")
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?"})
	w.fcm.Answer("phone", http.StatusServiceUnavailable, "UNAVAILABLE")
	if status := w.post(asked); status != http.StatusInternalServerError {
		t.Fatalf("it answers %d\n%s", status, w.logs)
	}
	tried := len(w.fcm.Messages())
	w.fcm.Answer("phone", http.StatusOK, "")
	for range 2 {
		if status := w.post(asked); status != http.StatusOK || tried == 0 || len(w.fcm.Messages()) != tried+1 {
			t.Errorf("%d, sent to %d times, %d of them in vain", status, len(w.fcm.Messages()), tried)
		}
	}
}

func TestADeadDeviceIsRemovedAndTheOthersGetThePush(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone", "old phone", "tablet")
	w.fcm.Answer("old phone", http.StatusNotFound, "UNREGISTERED")
	_, asked := w.asked(signal.AskInput{Question: "Deploy now?"})
	if status := w.post(asked); status != http.StatusOK || len(w.fcm.Messages()) != 3 {
		t.Errorf("%d, sent to %q", status, w.tokens())
	}
	left, err := w.Signal.Devices(t.Context(), human, op.Fill(signal.DevicesInput{}))
	if must(w, left, err); len(left.Devices) != 2 {
		t.Errorf("left are %+v", left.Devices)
	}
	_, stuck := w.stuck()
	if status := w.post(stuck); status != http.StatusOK || len(w.fcm.Messages()) != 5 {
		t.Errorf("%d, sent to %q", status, w.tokens())
	}
}

// stale creates, for every sweep, one document that is due and one that is not.
func (w *world) stale() {
	ctx, today := w.t.Context(), w.now
	for _, age := range []time.Duration{40 * 24 * time.Hour, 0} {
		w.now = func() time.Time { return today().Add(-age) }
		s, err := w.Pulse.Create(ctx, beta, op.Fill(pulse.CreateInput{Name: "b"}))
		must(w, s, err)
		leased, err := w.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{Title: "leased", Target: "beta"}))
		must(w, leased, err)
		claim, err := w.Dispatch.Claim(ctx, beta, op.Fill(dispatch.ClaimInput{TaskID: leased.TaskID}))
		must(w, claim, err)
		late, err := w.Dispatch.Create(ctx, alpha,
			op.Fill(dispatch.CreateInput{Title: "late", Target: "beta", TTL: 3600}))
		must(w, late, err)
		m, err := w.Relay.Send(ctx, alpha, op.Fill(relay.SendInput{Message: "hi", Target: "beta", MessageType: "STATUS",
			TTL: 3600}))
		must(w, m, err)
		w.Ledger.Record(op.Usage{Op: "look", Transport: "mcp", Caller: alpha, At: w.now()})
		must(w, 0, w.Ledger.Flush(ctx))
		name := "team-" + age.String()
		w.startTeam(identity.Caller{User: "u", Program: name, Kind: identity.Agent}, name)
	}
	w.now = today
	gone, err := w.Team.Create(ctx, alpha, op.Fill(team.CreateInput{TeamName: "gone"}))
	must(w, gone, err)
	deleted, err := w.Team.Delete(ctx, alpha, op.Fill(team.NameInput{TeamName: "gone"}))
	must(w, deleted, err)
}

// startTeam creates a teammate with a task in progress.
func (w *world) startTeam(lead identity.Caller, name string) {
	w.t.Helper()
	ctx, mate := w.t.Context(), "mate"
	made, err := w.Team.Create(ctx, lead, op.Fill(team.CreateInput{TeamName: name}))
	must(w, made, err)
	spawned, err := w.Team.Spawn(ctx, lead,
		op.Fill(team.SpawnInput{TeamName: name, Name: mate, Prompt: "p", BackendType: team.External}))
	must(w, spawned, err)
	created, err := w.Team.CreateTask(ctx, lead, op.Fill(team.CreateTaskInput{TeamName: name, Subject: "s"}))
	must(w, created, err)
	v, err := w.Team.UpdateTask(ctx, lead,
		op.Fill(team.UpdateTaskInput{TeamName: name, TaskID: created.ID, Status: team.InProgress, Owner: &mate}))
	must(w, v, err)
}

func TestEachSweepHandlesDueDocumentsAndReportsThem(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.stale()
	for _, tc := range []struct {
		function string
		want     map[string]int
	}{
		{"CleanupExpiredSessions", map[string]int{"sessions": 1, "teammates": 1, "teams": 1}},
		{"CleanupOrphanedTasks", map[string]int{"leases": 1, "expired": 1, "ended": 0}},
		{"CleanupExpiredRelay", map[string]int{"messages": 1}},
		{"CleanupLedger", map[string]int{"records": 1}},
	} {
		first := w.sweep(http.MethodPost, tc.function)
		if first.status != http.StatusOK || !first.Success || first.Data == nil || first.Data.More {
			t.Fatalf("%s: %+v\n%s", tc.function, first, w.logs)
		}
		for step, want := range tc.want {
			if first.Data.Handled[step] != want {
				t.Errorf("%s handled %v", tc.function, first.Data.Handled)
			}
		}
		if again := w.sweep(http.MethodPost, tc.function); again.status != http.StatusOK || again.Data.Total() != 0 {
			t.Errorf("%s again: %+v", tc.function, again.Data)
		}
	}
	w.end()
	if n := strings.Count(w.logs.String(), `"message":"sweep"`); n != 8 {
		t.Errorf("the log tells of %d sweeps:\n%s", n, w.logs)
	}
}

func TestASweepMustBeCalledWithPOST(t *testing.T) {
	t.Parallel()
	w := begin(t)
	var known app.App
	for _, s := range known.Sweeps() {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			if got := w.sweep(method, s.Function); got.status != http.StatusMethodNotAllowed ||
				got.allow != http.MethodPost || got.Success || got.Error == nil {
				t.Errorf("%s %s: %+v", method, s.Function, got)
			}
		}
	}
}

// An app writes an answer as firestore.rules allow: into the task alone, and with a purge time that it can compute.
func TestAnAnswerOfAnAppEntersTheLogAndTheSearchOnce(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.registerDevices("phone")
	id, _ := w.asked(signal.AskInput{Question: "Which colour?"})
	before := w.doc("tasks/" + id)
	asked, err := task.Tasks.Get(t.Context(), w.DB.User("u"), id)
	must(w, asked, err)
	now, q := w.now(), *asked.Question
	q.Response, q.AnsweredAt, q.AnsweredBy, q.AnsweredWith = "vermilion", now, "key:firebase", identity.Device
	err = w.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		task.Tasks.Unlogged().Patch(tx, id, store.Set("status", string(task.Done)), store.Set("completedAt", now),
			store.Set("question", q))
		return nil
	})
	must(w, 0, err)
	start, err := w.DB.User("u").Log(t.Context(), "")
	must(w, start, err)
	terms, err := words.Parse("vermilion")
	must(w, terms, err)
	found := func() int {
		hits, _, err := w.DB.User("u").Search(t.Context(), store.Search{Terms: terms, Limit: 5},
			func(store.Hit) (bool, error) { return true, nil })
		return len(must(w, hits, err))
	}
	if n := found(); n != 0 {
		t.Fatalf("the search finds %d before the event", n)
	}
	answered := w.event("OnTaskUpdate", before, w.doc("tasks/"+id))
	for range 2 { // an event is delivered at least once
		if status := w.post(answered); status != http.StatusOK {
			t.Fatalf("%d\n%s", status, w.logs)
		}
	}
	page, err := w.DB.User("u").Log(t.Context(), start.Next)
	must(w, page, err)
	if len(page.Entries) != 1 || page.Entries[0].ID != id || page.Entries[0].State != string(task.Done) || found() != 1 {
		t.Errorf("the log has %+v, and the search finds %d", page.Entries, found())
	}
	got, err := task.Tasks.Get(t.Context(), w.DB.User("u"), id)
	must(w, got, err)
	if !got.PurgeAt.Equal(got.CompletedAt.Add(task.Retention)) || got.Question.Response != "vermilion" || len(w.fcm.Messages()) != 0 {
		t.Errorf("got %+v, and %d pushes", got, len(w.fcm.Messages()))
	}
}
