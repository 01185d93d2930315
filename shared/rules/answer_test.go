package rules

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/signal"
	"parley.internal/shared/task"
)

// A question that is answered through the hub and one that is answered by an app are stored alike, except for the
// times.
func answers(t *testing.T, p *project) {
	d := p.newFixture(t)
	for name, c := range map[string]struct {
		text     string
		more     fields
		demanded identity.Assurance
	}{
		"an option":           {"left", nil, ""},
		"free text":           {"neither of them", nil, ""},
		"one character":       {"1", nil, ""},
		"the longest":         {strings.Repeat("é", 4000), nil, ""},
		"kept for 30 days":    {"left", fields{"purgeAt": clock().Add(task.Retention)}, ""},
		"with what it is for": {"left", fields{"status": "done"}, ""},
		"one for the machine": {"left", nil, identity.Local},
		"one for a device":    {"left", nil, identity.Device},
	} {
		byHub, byApp := d.ask("left", "right"), d.ask("left", "right")
		for _, id := range []string{byHub, byApp} {
			d.change(id, func(v *task.Task) { v.Question.Assurance = c.demanded })
		}
		_, err := d.Answer(t.Context(), d.person, signal.AnswerInput{QuestionID: byHub, Response: c.text})
		if err != nil {
			t.Fatal(err)
		}
		before := clock()
		allowed(t, name, d.give(byApp, with(answer(c.text), c.more)))
		want, got := d.kept(byHub), d.kept(byApp)
		for _, at := range []time.Time{got.CompletedAt, got.Question.AnsweredAt} {
			if at.Sub(before).Abs() > time.Minute {
				t.Errorf("%s: answered at %v, at %v", name, at, before)
			}
		}
		if got.PurgeAt.Before(got.CompletedAt.Add(29*24*time.Hour)) ||
			got.PurgeAt.After(got.ExpiresAt.Add(task.Retention)) {
			t.Errorf("%s: answered at %v it is purged at %v", name, got.CompletedAt, got.PurgeAt)
		}
		got.CreatedAt, got.ExpiresAt = want.CreatedAt, want.ExpiresAt
		got.CompletedAt, got.PurgeAt = want.CompletedAt, want.PurgeAt
		got.Question.AnsweredAt = want.Question.AnsweredAt
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: an app leaves %+v %+v\nthe hub leaves %+v %+v", name, got, got.Question, want, want.Question)
		}
	}
}

// wrong returns the invalid answers, and the changes that may not be made with an answer.
func wrong() map[string]fields {
	days := func(n int) time.Time { return clock().Add(time.Duration(n) * 24 * time.Hour) }
	return map[string]fields{
		"an empty response":           {"question.response": ""},
		"a response too long":         {"question.response": strings.Repeat("x", 4001)},
		"a number":                    {"question.response": 7},
		"a list":                      {"question.response": []string{"left"}},
		"a map":                       {"question.response": fields{"text": "left"}},
		"nothing":                     {"question.response": nil},
		"by another name":             {"question.answeredBy": "key:0123456789ab"},
		"the asker's name":            {"question.answeredBy": "alpha"},
		"with another assurance":      {"question.answeredWith": "local"},
		"with an assurance demanded":  {"question.assurance": "device"},
		"answered at the app's time":  {"question.answeredAt": clock()},
		"completed at the app's time": {"completedAt": clock()},
		"changed at the app's time":   {"changedAt": clock()},
		"changed long ago":            {"changedAt": days(-1)},
		"active":                      {"status": "active"},
		"failed":                      {"status": "failed"},
		"derezzed":                    {"status": "derezzed"},
		"still created":               {"status": "created"},
		"purged too soon":             {"purgeAt": days(28)},
		"purged at once":              {"purgeAt": firestore.ServerTimestamp},
		"purged too late":             {"purgeAt": days(40)},
		"never purged":                {"purgeAt": firestore.Delete},
		"purged at no time":           {"purgeAt": "2099-01-01"},
		"with another question":       {"question.content": "may I?"},
		"with other options":          {"question.options": []string{"left", "mine"}},
		"with more in the question":   {"question.by": "ann"},
		"with less in the question":   {"question.options": firestore.Delete},
		"with another title":          {"title": "x"},
		"with other routes":           {"routes": []string{"*", "beta"}},
		"with a result":               {"result": "x"},
		"with a new field":            {"mine": true},
		"with less":                   {"context": firestore.Delete},
		"of another type":             {"type": "task"},
		"with a longer life":          {"expiresAt": days(2)},
		"with an older birth":         {"createdAt": days(-2)},
		"claimed":                     {"claimedBy": "key:firebase"},
		"with the question made anew": {
			"question": fields{
				"response":     "left",
				"answeredAt":   firestore.ServerTimestamp,
				"answeredBy":   "key:firebase",
				"answeredWith": "device",
			},
		},
		"with the question made a text": {"question": "left"},
		"with the question taken away":  {"question": firestore.Delete},
	}
}

func brokenAnswers(t *testing.T, p *project) {
	d := p.newFixture(t)
	good, cases := answer("left"), wrong()
	for field := range good {
		cases["without "+field] = fields{field: drop}
	}
	for name, broken := range cases {
		id := d.ask("left", "right")
		written := with(good, broken)
		if _, whole := broken["question"]; whole {
			written = with(written, fields{
				"question.response":     drop,
				"question.answeredAt":   drop,
				"question.answeredBy":   drop,
				"question.answeredWith": drop,
			})
		}
		refused(t, name, d.give(id, written))
		if v := d.kept(id); v.Status != task.Created || v.Question == nil || v.Question.Response != "" {
			t.Errorf("%s: it is kept as %+v", name, v)
		}
	}
	// An app cannot create tasks.
	_, err := d.doc("tasks/mine").Create(t.Context(), fields{
		"type":      "question",
		"status":    "done",
		"changedAt": firestore.ServerTimestamp,
	})
	refused(t, "a question of one's own", err)
	_, err = d.doc("tasks/" + d.ask()).Delete(t.Context())
	refused(t, "deleting a question", err)
}

func unanswerable(t *testing.T, p *project) {
	d := p.newFixture(t)
	alert, err := d.Alert(t.Context(), d.agent, op.Fill(signal.AlertInput{Message: "look"}))
	if err != nil {
		t.Fatal(err)
	}
	work, ended, sure := d.ask(), d.ask(), d.ask()
	d.change(sure, func(v *task.Task) { v.Question.Assurance = "passkey" })
	d.change(work, func(v *task.Task) { v.Type = task.Work })
	d.change(ended, func(v *task.Task) { v.End(task.Derezzed, clock()) })
	for name, id := range map[string]string{
		"an alert":                               alert.AlertID,
		"a task":                                 work,
		"a question that was ended":              ended,
		"a question that demands more":           sure,
		"a question that no sweep has ended yet": d.past().ask(),
	} {
		refused(t, name, d.give(id, answer("left")))
	}
	if err := d.give("missing", answer("left")); err == nil {
		t.Error("a question that is not there was answered")
	}
	// The rules and the hub agree on the time at which a question expires.
	id := d.past().ask()
	out, err := d.Response(t.Context(), d.agent, signal.ResponseInput{QuestionID: id})
	if err != nil || out.Status != signal.Expired {
		t.Errorf("for the hub it is %+v, %v", out, err)
	}
}

func othersAnswers(t *testing.T, p *project) {
	d := p.newFixture(t)
	for name, w := range map[string]signIn{
		"another user":      bob,
		"nobody":            nobody,
		"an anonymous user": {uid: d.user.uid, provider: "anonymous"},
	} {
		id := d.ask("left")
		_, err := p.as(t, w).Doc("users/"+d.user.uid+"/tasks/"+id).Update(t.Context(), update(answer("left")))
		refused(t, name, err)
		if v := d.kept(id); v.Status != task.Created {
			t.Errorf("%s: it is kept as %+v", name, v)
		}
	}
}

// Apps and the hub answer one question concurrently, and once more afterwards.
func firstAnswer(t *testing.T, p *project) {
	d := p.newFixture(t)
	id := d.ask()
	var given atomic.Int64
	var won atomic.Value
	var all sync.WaitGroup
	for i := range 4 {
		text := fmt.Sprint("answer ", i)
		all.Go(func() {
			var err error
			if i == 0 {
				_, err = d.Answer(t.Context(), d.person, signal.AnswerInput{QuestionID: id, Response: text})
			} else {
				err = d.give(id, answer(text))
			}
			if err == nil {
				given.Add(1)
				won.Store(text)
			}
		})
	}
	all.Wait()
	if given.Load() != 1 || d.kept(id).Question.Response != won.Load() {
		t.Fatalf("%d answers were taken, %v the last; %+v is kept", given.Load(), won.Load(), d.kept(id).Question)
	}
	refused(t, "a second answer of an app", d.give(id, answer("again")))
	refused(t, "the same answer once more", d.give(id, answer(won.Load())))

	id = d.ask()
	allowed(t, "the first answer", d.give(id, answer("mine")))
	_, err := d.Answer(t.Context(), d.person, signal.AnswerInput{QuestionID: id, Response: "late"})
	if !fault.Is(err, fault.Precondition) || !strings.Contains(err.Error(), "was answered at") {
		t.Errorf("a second answer to the hub: %v", err)
	}
	if v := d.kept(id); v.Question.Response != "mine" {
		t.Errorf("%+v is kept", v.Question)
	}
}

// woken is the result of a wait for an answer.
type woken struct {
	signal.Answer
	err error
}

// waits starts a wait for the answer on another server and returns once that listens.
func (d *fixture) waits(id string) <-chan woken {
	looks, got := make(chan struct{}, 100), make(chan woken, 1)
	other := d.p.service(d.t, func() time.Time { looks <- struct{}{}; return clock() })
	go func() {
		out, err := other.Response(d.t.Context(), d.agent, signal.ResponseInput{QuestionID: id, WaitMs: 30_000})
		got <- woken{out, err}
	}()
	for range 3 { // read, looked, and looked again with the listener standing
		<-looks
	}
	return got
}

// The app is notified of a question and answers it. An agent that waits on another server than the one it asked
// receives the answer, and every view then shows the question as answered.
func wakes(t *testing.T, p *project) {
	d := p.newFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pending := d.app.Collection(
		"users/"+d.user.uid+"/tasks",
	).Where(
		"routes",
		"array-contains",
		"question:*",
	).Where(
		"status",
		"==",
		"created",
	).
		OrderBy(
			"rank",
			firestore.Desc,
		).OrderBy(
		"createdAt",
		firestore.Asc,
	).Limit(
		50,
	).Snapshots(
		ctx,
	)
	defer pending.Stop()
	if s, err := pending.Next(); err != nil || s.Size != 0 {
		t.Fatalf("the app hears of %+v, %v", s, err)
	}
	id := d.ask("left", "right")
	heard, err := pending.Next()
	if err != nil || heard.Size != 1 || heard.Changes[0].Doc.Ref.ID != id {
		t.Fatalf("the app hears of %+v, %v", heard, err)
	}

	// A server follows recent changes only. The question is much older.
	_, err = d.server.Doc(
		"users/"+d.user.uid+"/tasks/"+id,
	).Update(
		ctx,
		[]firestore.Update{{Path: "changedAt", Value: clock().Add(-time.Hour)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if heard, err := pending.Next(); err != nil || heard.Size != 1 {
		t.Fatalf("the app hears of %+v, %v", heard, err)
	}
	got := d.waits(id)
	if err := d.give(id, answer("left")); err != nil {
		t.Fatal(err)
	}
	has := <-got
	if has.err != nil || has.Status != signal.Answered || has.Response != "left" ||
		!has.AnsweredAt.Equal(d.kept(id).Question.AnsweredAt) {
		t.Errorf("the agent that waits has %+v", has)
	}
	out, err := d.Response(t.Context(), d.agent, signal.ResponseInput{QuestionID: id})
	if err != nil || out != has.Answer {
		t.Errorf("the response is %+v, %v", out, err)
	}
	for status, want := range map[signal.Status]int{signal.Pending: 0, signal.Answered: 1, signal.Expired: 0} {
		out, err := d.List(t.Context(), d.person, op.Fill(signal.ListInput{Status: status}))
		if err != nil || len(out.Questions) != want {
			t.Errorf("%s: %+v, %v", status, out, err)
		}
	}
	if gone, err := pending.Next(); err != nil || gone.Size != 0 {
		t.Errorf("the app hears of %+v, %v", gone, err)
	}
}
