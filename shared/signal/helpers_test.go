package signal

import (
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

var t0 = domaintest.Start

// fixture is a service on an empty store, with a clock that the test sets.
type fixture struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t      *testing.T
	sender *recorder
}

func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	schema := store.NewSchema(append(new(Service).Defs(), task.Tasks.Def(), idempotency.Def())...)
	domaintest.Each(t, schema, func(t *testing.T, db *store.DB) {
		d := &fixture{t: t, sender: &recorder{}}
		d.Service = &Service{DB: db, Now: d.Clock.Now, NewID: d.IDs.NewID, Sender: d.sender,
			PublicURL: "https://parley.example"}
		test(t, d)
	})
}

var (
	alpha  = domaintest.Bound("u", "alpha")
	person = domaintest.Human("u")
)

func (d *fixture) ask(in AskInput) string {
	d.t.Helper()
	if in.Question == "" {
		in.Question = "which?"
	}
	return domaintest.Must(d.Ask(d.t.Context(), alpha, in))(d.t).QuestionID
}

func (d *fixture) response(id string) Answer {
	d.t.Helper()
	return domaintest.Must(d.Response(d.t.Context(), alpha, ResponseInput{QuestionID: id}))(d.t)
}

func (d *fixture) list(in ListInput) string {
	d.t.Helper()
	var names []string
	for _, v := range domaintest.Must(d.List(d.t.Context(), person, in))(d.t).Questions {
		names = append(names, v.Question)
	}
	return strings.Join(names, " ")
}
