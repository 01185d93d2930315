package signal

import (
	"context"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// deaf is a driver that cannot follow changes.
type deaf struct{ store.Driver }

func (deaf) Watch(context.Context, string, string, func(store.Change)) (func(), error) {
	return nil, fault.New(fault.Unavailable, "no listener")
}

// A fault would mean that nothing was done, and the asker would ask its human twice.
func TestAQuestionThatNobodyCanWaitForIsAskedAndPending(t *testing.T) {
	t.Parallel()
	schema := store.NewSchema(append(new(Service).Defs(), task.Tasks.Def(), idempotency.Def())...)
	db, _ := domaintest.SQLiteOver(t, schema, func(d store.Driver) deaf { return deaf{d} })
	d := &fixture{t: t, sender: &recorder{}}
	d.Service = &Service{DB: db, Now: d.Clock.Now, NewID: d.IDs.NewID, Sender: d.sender}
	out, err := d.Ask(t.Context(), alpha, AskInput{Question: "which?", WaitMs: 10_000})
	if err != nil || out.QuestionID == "" || out.Status != Pending {
		t.Errorf("%+v, %v", out, err)
	}
	if got := d.list(ListInput{}); got != "which?" {
		t.Errorf("asked are %q", got)
	}
}
