package signal

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

var (
	beta, loose = domaintest.Bound("u", "beta"), domaintest.Unbound("u")
	drift       = identity.Caller{User: "u", KeyID: "ffffffffffffffff", Kind: identity.Agent}
)

func TestAttackAnAnswerIsForItsAskerAndForPeople(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		older := func(id string, change func(*task.Task)) string {
			v := task.Task{Type: task.Question, Status: task.Created, Target: human, CreatedAt: t0, Source: "alpha",
				ExpiresAt: t0.AddDate(0, 0, 1), Question: &task.QuestionPart{Content: "?"}}
			change(&v)
			v.Route()
			domaintest.Check(t, d.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				task.Tasks.Put(tx, id, v)
				return nil
			}))
			return id
		}
		asked := func(c identity.Caller) string {
			return domaintest.Must(d.Ask(t.Context(), c, AskInput{Question: "?"}))(t).QuestionID
		}
		shout := domaintest.Bound("u", "ALPHA")
		verified := older("verified", func(v *task.Task) { v.Verified = true })
		named := older("named", func(v *task.Task) { v.Maker = loose.Owner() })
		unknown := older("unknown", func(*task.Task) {})
		for name, c := range map[string]struct {
			id  string
			may []identity.Caller
			who string // in the refusal of others
		}{
			"a program's":                    {asked(alpha), []identity.Caller{alpha, shout}, `"alpha"`},
			"an unbound key's":               {asked(loose), []identity.Caller{loose}, "key:0123456789ab"},
			"a person's":                     {asked(person), nil, "only a human"},
			"a program's, from before":       {verified, []identity.Caller{alpha, shout}, `"alpha"`},
			"an unbound key's, from before":  {unknown, nil, "only a human"},
			"a key's, which names a program": {named, []identity.Caller{loose}, "key:"},
		} {
			domaintest.Must(d.Answer(t.Context(), person, AnswerInput{QuestionID: c.id, Response: "42"}))(t)
			for _, by := range []identity.Caller{alpha, shout, beta, loose, drift, person} {
				may := by.IsHuman() || slices.ContainsFunc(c.may, func(m identity.Caller) bool { return m.Actor() == by.Actor() })
				for _, wait := range []int{0, 1000} {
					out, err := d.Response(t.Context(), by, ResponseInput{QuestionID: c.id, WaitMs: wait})
					if may && (err != nil || out.Response != "42") {
						t.Errorf("%s, by %s: %+v, %v", name, by.Actor(), out, err)
					}
					if !may {
						domaintest.Refused(t, name+", by "+by.Actor(), err, fault.Forbidden, c.who, "human")
						if out != (Answer{}) {
							t.Errorf("%s, by %s: shown %+v", name, by.Actor(), out)
						}
					}
				}
			}
		}
	})
}

func TestTheRecordSaysWhichPersonAnswered(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		domaintest.Must(d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "yes"}))(t)
		kept := domaintest.Must(task.Tasks.Get(t.Context(), d.DB.User("u"), id))(t)
		if kept.Question.AnsweredBy != "key:fedcba987654" || kept.Maker != alpha.Owner() {
			t.Errorf("answered by %q, asked by %v", kept.Question.AnsweredBy, kept.Maker)
		}
	})
}

func TestAttackAQuestionThatDemandsADeviceIsAnsweredByNothingLess(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		phone := person
		phone.KeyID, phone.Assurance = "phone", identity.Device
		id := d.ask(AskInput{Assurance: identity.Device})
		local := person
		local.Assurance = identity.Local
		for _, by := range []identity.Caller{person, local} {
			_, err := d.Answer(t.Context(), by, AnswerInput{QuestionID: id, Response: "yes"})
			domaintest.Refused(t, "from the machine", err, fault.Forbidden, "paired device", "`parley link`")
		}
		if got := d.response(id); got != (Answer{Status: Pending}) {
			t.Errorf("after the refusals: %+v", got)
		}
		listed := domaintest.Must(d.List(t.Context(), person, ListInput{Status: Pending}))(t).Questions
		if len(listed) != 1 || listed[0].Assurance != identity.Device {
			t.Errorf("listed as %+v", listed)
		}
		d.Pass(time.Minute)
		domaintest.Must(d.Answer(t.Context(), phone, AnswerInput{QuestionID: id, Response: "no"}))(t)
		want := Answer{Status: Answered, Response: "no", AnsweredAt: t0.Add(time.Minute), AnsweredBy: "key:phone",
			AnsweredWith: identity.Device}
		if got := d.response(id); got != want {
			t.Errorf("answered as %+v, want %+v", got, want)
		}
		_, err := d.Answer(t.Context(), local, AnswerInput{QuestionID: id, Response: "yes"})
		domaintest.Refused(t, "after the answer", err, fault.Precondition, "answered at")
	})
}

func TestTheSameIdempotencyKeyOfTwoCallersAsksTwice(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		seen := map[string]bool{}
		for _, c := range []identity.Caller{alpha, beta, loose, drift, person} {
			in := AskInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, Question: "?"}
			first := domaintest.Must(d.Ask(t.Context(), c, in))(t).QuestionID
			again := domaintest.Must(d.Ask(t.Context(), c, in))(t).QuestionID
			if first != again || seen[first] {
				t.Errorf("%s asks %s, then %s", c.Actor(), first, again)
			}
			seen[first] = true
		}
	})
}

func TestAKeyForAnswersReachesQuestionsAlone(t *testing.T) {
	t.Parallel()
	link := identity.Caller{Kind: identity.Human, Scopes: []string{identity.ScopeAnswer}}
	reached := map[string]bool{"get_response": true, "answer_question": true, "list_questions": true}
	for _, o := range new(Service).Operations() {
		if err := o.MayCall(link); (err == nil) != reached[o.Name] {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}
