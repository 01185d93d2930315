package signal

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestAQuestionIsPendingUntilItsHumanAnswers(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		out, err := d.Ask(t.Context(), alpha, AskInput{Question: "which?", Options: []string{"this", "that"},
			Context: "ctx", Priority: task.High})
		if want := (AskOutput{QuestionID: "id-000001", Answer: Answer{Status: Pending},
			ExpiresAt: t0.Add(24 * time.Hour)}); err != nil || out != want {
			t.Fatalf("%+v, %v", out, err)
		}
		if got := d.response("id-000001"); got != (Answer{Status: Pending}) {
			t.Errorf("before: %+v", got)
		}
		d.Pass(time.Minute)
		view, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: "id-000001", Response: "neither"})
		answer := Answer{Status: Answered, Response: "neither", AnsweredAt: t0.Add(time.Minute),
			AnsweredBy: "key:" + domaintest.HumanKey[:12], AnsweredWith: identity.Local}
		want := View{ID: "id-000001", Question: "which?", Options: []string{"this", "that"}, Context: "ctx",
			Source: "alpha", Verified: true, Priority: task.High, Assurance: identity.Local, Answer: answer, CreatedAt: t0,
			ExpiresAt: t0.Add(24 * time.Hour)}
		if err != nil || !reflect.DeepEqual(view, want) {
			t.Errorf("%+v, %v", view, err)
		}
		if got := d.response("id-000001"); got != answer {
			t.Errorf("after: %+v", got)
		}
		kept, err := task.Tasks.Get(t.Context(), d.DB.User("u"), "id-000001")
		if err != nil || kept.Question.AnsweredBy != "key:"+domaintest.HumanKey[:12] || kept.Status != task.Done ||
			kept.Type != task.Question || kept.PurgeAt.IsZero() {
			t.Errorf("kept as %+v, %v", kept, err)
		}
	})
}

func TestTheFirstAnswerIsFinal(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "yes"}); err != nil {
			t.Fatal(err)
		}
		for _, again := range []string{"no", "yes"} {
			_, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: again})
			domaintest.Refused(t, again, err, fault.Precondition, "answered at 2026-03-01T12:00:00Z")
		}
		if got := d.response(id); got.Response != "yes" {
			t.Errorf("%+v", got)
		}
	})
}

func TestOfTwoConcurrentAnswersOneIsRecorded(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		var won [4]string
		for _, err := range domaintest.Together(len(won), func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				_, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: fmt.Sprint(i)})
				if err == nil {
					won[i] = fmt.Sprint(i)
				}
				return err
			})
		}) {
			domaintest.Refused(t, "one that lost", err, fault.Precondition, "answered at")
		}
		if got := d.response(id); got.Response != strings.Join(won[:], "") {
			t.Errorf("%q were told they answered, and it is %+v", won, got)
		}
	})
}

func TestAnExpiredQuestionIsNotAnswered(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{TTL: 60})
		d.Pass(time.Minute - time.Millisecond)
		if got := d.response(id); got.Status != Pending {
			t.Errorf("before: %+v", got)
		}
		d.Pass(time.Millisecond)
		if got := d.response(id); got != (Answer{Status: Expired}) {
			t.Errorf("after: %+v", got)
		}
		_, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "late"})
		domaintest.Refused(t, "late", err, fault.Precondition, "expired at 2026-03-01T12:01:00Z")
		if out, err := d.Response(t.Context(), alpha, ResponseInput{QuestionID: id, WaitMs: 20_000}); err != nil ||
			out.Status != Expired {
			t.Errorf("waiting for what is over: %+v, %v", out, err)
		}
	})
}

func TestAnAnswerEndsTheWaitOfTheAsker(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		reads := d.Reads()
		got := make(chan Answer, 1)
		go func() {
			out, err := d.Response(t.Context(), alpha, ResponseInput{QuestionID: id, WaitMs: 20_000})
			if err != nil {
				t.Error(err)
			}
			got <- out
		}()
		<-reads // the first read
		<-reads // and the read after the listener is established
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "yes"}); err != nil {
			t.Error(err)
		}
		if out := <-got; out.Status != Answered || out.Response != "yes" {
			t.Errorf("%+v", out)
		}
	})
}

func TestAskingCanWaitForTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		reads := d.Reads()
		got := make(chan AskOutput, 1)
		go func() {
			out, err := d.Ask(t.Context(), alpha, AskInput{Question: "now?", WaitMs: 20_000})
			if err != nil {
				t.Error(err)
			}
			got <- out
		}()
		for range 3 { // asked, read, and read again after the listener is established
			<-reads
		}
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: "id-000001", Response: "now"}); err != nil {
			t.Error(err)
		}
		if out := <-got; out.QuestionID != "id-000001" || out.Response != "now" || out.Status != Answered ||
			!out.ExpiresAt.Equal(t0.Add(24*time.Hour)) {
			t.Errorf("%+v", out)
		}
		out, err := d.Ask(t.Context(), alpha, AskInput{Question: "and now?", WaitMs: 1})
		if err != nil || out.Status != Pending {
			t.Errorf("a wait that ends by itself: %+v, %v", out, err)
		}
	})
}

func TestQuestionsAreListedByPriorityThenAgeAndStatus(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.ask(AskInput{Question: "low", Priority: task.Low})
		d.Pass(time.Second)
		d.ask(AskInput{Question: "short", TTL: 60})
		d.Pass(time.Second)
		answered := d.ask(AskInput{Question: "answered"})
		d.ask(AskInput{Question: "high", Priority: task.High})
		if _, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: answered, Response: "yes"}); err != nil {
			t.Fatal(err)
		}
		d.Pass(time.Hour)
		for status, want := range map[Status]string{
			"": "high low", Pending: "high low", Answered: "answered", Expired: "short",
			"all": "high short answered low",
		} {
			if got := d.list(ListInput{Status: status}); got != want {
				t.Errorf("%q: %s", status, got)
			}
		}
	})
}

// The sweep of tasks gives an expired question the status derezzed.
func TestASweptQuestionIsStillListedAsExpired(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{Question: "short", TTL: 60})
		d.Pass(time.Hour)
		err := d.DB.User("u").Update(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			q, err := task.Tasks.Get(ctx, tx, id)
			if err != nil {
				return err
			}
			q.End(task.Derezzed, d.Clock.Now())
			q.Route()
			task.Tasks.Put(tx, id, q)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for status, want := range map[Status]string{Expired: "short", "all": "short", Pending: "", Answered: ""} {
			if got := d.list(ListInput{Status: status}); got != want {
				t.Errorf("%q: %q", status, got)
			}
		}
		if got := d.response(id); got != (Answer{Status: Expired}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestPagesShowEachQuestionOnceAndABadCursorIsRefused(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		want := ""
		for i := range 5 {
			d.ask(AskInput{Question: fmt.Sprint(i)})
			want += fmt.Sprint(i)
		}
		got, in := "", ListInput{Limit: 2}
		for range 10 {
			out, err := d.List(t.Context(), person, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range out.Questions {
				got += v.Question
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if got != want {
			t.Errorf("the pages are %s", got)
		}
		_, err := d.List(t.Context(), person, ListInput{Cursor: "nonsense"})
		var f *fault.Error
		if !errors.As(err, &f) || len(f.Problems) != 1 || f.Problems[0].Path != "cursor" {
			t.Error(err)
		}
	})
}

func TestAnotherTaskIsNoQuestion(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		err := d.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			work := task.Task{Type: task.Work, Title: "x", Status: task.Created, Target: "beta"}
			work.Route()
			task.Tasks.Put(tx, "work", work)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"work", "nope"} {
			_, err := d.Response(t.Context(), alpha, ResponseInput{QuestionID: id})
			domaintest.Refused(t, "response", err, fault.NotFound, `no question with id "`+id+`"`)
			_, err = d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "x"})
			domaintest.Refused(t, "answer", err, fault.NotFound, `no question with id "`+id+`"`)
		}
	})
}

func TestAnIdempotencyKeyCreatesAQuestionOnce(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		in := AskInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, Question: "once?"}
		first, err := d.Ask(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.Ask(t.Context(), alpha, in); err != nil || again != first {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		in.WaitMs = 1 // the wait is not part of the comparison of keyed calls
		if again, err := d.Ask(t.Context(), alpha, in); err != nil || again.QuestionID != first.QuestionID {
			t.Errorf("with a wait: %+v, %v", again, err)
		}
		in.Question = "twice?"
		_, err = d.Ask(t.Context(), alpha, in)
		domaintest.Refused(t, "another question", err, fault.Precondition, `"k"`)
		if got := d.list(ListInput{}); got != "once?" {
			t.Errorf("there is %s", got)
		}
	})
}

func TestATitleIsTheBeginningOfTheQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"short", strings.Repeat("é", titleLen), strings.Repeat("é", titleLen+1),
		strings.Repeat("😀", 2000)} {
		got := title(c)
		n := utf8.RuneCountInString(got)
		if n > titleLen || !utf8.ValidString(got) || (utf8.RuneCountInString(c) <= titleLen) != (got == c) ||
			(got != c && !strings.HasSuffix(got, "…")) {
			t.Errorf("%d characters became %d: %.20s", utf8.RuneCountInString(c), n, got)
		}
	}
}
