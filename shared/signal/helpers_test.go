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

// desk is a service on an empty store, with a clock that the test sets.
type desk struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t    *testing.T
	bell *bell
}

func each(t *testing.T, test func(*testing.T, *desk)) {
	t.Helper()
	schema := store.NewSchema(append(new(Service).Defs(), task.Tasks.Def(), idempotency.Def())...)
	domaintest.Each(t, schema, func(t *testing.T, db *store.DB) {
		d := &desk{t: t, bell: &bell{}}
		d.Service = &Service{DB: db, Now: d.Clock.Now, NewID: d.IDs.NewID, Sender: d.bell,
			PublicURL: "https://parley.example"}
		test(t, d)
	})
}

var (
	alpha  = domaintest.Bound("u", "alpha")
	person = domaintest.Human("u")
)

func (d *desk) ask(in AskInput) string {
	d.t.Helper()
	if in.Question == "" {
		in.Question = "which?"
	}
	return domaintest.Must(d.Ask(d.t.Context(), alpha, in))(d.t).QuestionID
}

func (d *desk) response(id string) Answer {
	d.t.Helper()
	return domaintest.Must(d.Response(d.t.Context(), alpha, ResponseInput{QuestionID: id}))(d.t)
}

func (d *desk) list(in ListInput) string {
	d.t.Helper()
	var names []string
	for _, v := range domaintest.Must(d.List(d.t.Context(), person, in))(d.t).Questions {
		names = append(names, v.Question)
	}
	return strings.Join(names, " ")
}
