package signal

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestAWithdrawnQuestionWaitsForNobodyAndALateAnswerReadsWhy(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		d.Pass(time.Minute)
		want := Answer{Status: Expired, Withdrawn: "settled in the client"}
		for _, reason := range []string{"settled in the client", "another reason"} {
			if got, err := d.Withdraw(t.Context(), alpha, WithdrawInput{QuestionID: id, Reason: reason}); err != nil || got != want {
				t.Errorf("%s: %+v, %v", reason, got, err)
			}
		}
		if got := d.response(id); got != want {
			t.Errorf("the asker reads %+v", got)
		}
		if got := d.list(ListInput{Status: Pending, Limit: 9}) + d.list(ListInput{Status: Expired, Limit: 9}); got != "which?" {
			t.Errorf("pending and expired are %q", got)
		}
		_, err := d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "yes"})
		domaintest.Refused(t, "a late answer", err, fault.Precondition, "withdrawn at 2026-03-01T12:01:00Z", "settled in the client")
	})
}

func TestAnAnswerBeforeAWithdrawalStands(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		domaintest.Must(d.Answer(t.Context(), person, AnswerInput{QuestionID: id, Response: "yes"}))(t)
		got, err := d.Withdraw(t.Context(), alpha, WithdrawInput{QuestionID: id, Reason: "too late"})
		if err != nil || got.Status != Answered || got.Response != "yes" || got != d.response(id) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestAttackOnlyItsAskerAndPeopleWithdrawAQuestion(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{})
		_, err := d.Withdraw(t.Context(), beta, WithdrawInput{QuestionID: id})
		domaintest.Refused(t, "by another program", err, fault.Forbidden, `"alpha"`)
		if got := d.response(id); got.Status != Pending {
			t.Errorf("it is %+v", got)
		}
		if got, err := d.Withdraw(t.Context(), person, WithdrawInput{QuestionID: id}); err != nil || got.Withdrawn == "" {
			t.Errorf("by a person: %+v, %v", got, err)
		}
	})
}

func TestAWithdrawalEndsTheWaitOfTheAsker(t *testing.T) {
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
		domaintest.Must(d.Withdraw(t.Context(), alpha, WithdrawInput{QuestionID: id, Reason: "settled"}))(t)
		if out := <-got; out.Withdrawn != "settled" {
			t.Errorf("%+v", out)
		}
	})
}
