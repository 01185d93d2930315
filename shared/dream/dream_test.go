package dream_test

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/dream"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// night is the service over a queue on an empty store.
type night struct {
	*dream.Service
	domaintest.Clock
	queue *dispatch.Service
	t     *testing.T
}

func each(t *testing.T, test func(*testing.T, *night)) {
	t.Helper()
	domaintest.Each(
		t,
		store.NewSchema(append(new(dispatch.Service).Defs(), idempotency.Def())...),
		func(t *testing.T, db *store.DB) {
			n, ids := &night{t: t}, &domaintest.IDs{}
			n.queue = &dispatch.Service{DB: db, Now: n.Clock.Now, NewID: ids.NewID}
			n.Service = &dream.Service{DB: db, Queue: n.queue, Now: n.Clock.Now}
			test(t, n)
		},
	)
}

var (
	alpha, beta = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta")
	loose       = domaintest.Unbound("u")
)

func (n *night) create(in dispatch.CreateInput) string {
	n.t.Helper()
	if in.Type == "" {
		in.Type = task.Dream
	}
	return domaintest.Must(n.queue.Create(n.t.Context(), alpha, in))(n.t).TaskID
}

func (n *night) peek(c identity.Caller, in dream.PeekInput) string {
	n.t.Helper()
	out, err := n.Peek(n.t.Context(), c, op.Fill(in))
	if err != nil || out.Dreams == nil {
		n.t.Fatal(out, err)
	}
	var titles []string
	for _, d := range out.Dreams {
		titles = append(titles, d.Title)
	}
	return strings.Join(titles, " ")
}

func TestAPeekShowsTheDreamsThatWait(t *testing.T) {
	each(t, func(t *testing.T, n *night) {
		n.create(dispatch.CreateInput{Title: "low", Target: "beta", Priority: task.Low})
		n.create(dispatch.CreateInput{Title: "mine", Target: "beta",
			Dream: &task.DreamSpec{Agent: "b", BudgetCapUSD: 2, Branch: "night"}})
		n.create(dispatch.CreateInput{Title: "anyone's", Target: "any"})
		n.create(dispatch.CreateInput{Title: "fallback", Target: "gamma", Fallback: []string{"beta"}})
		n.create(dispatch.CreateInput{Title: "another's", Target: "gamma"})
		n.create(dispatch.CreateInput{Title: "short", Target: "beta", TTL: 60})
		n.create(dispatch.CreateInput{Title: "work", Target: "beta", Type: task.Work})
		begun := n.create(dispatch.CreateInput{Title: "begun", Target: "beta"})
		if _, err := n.Activate(t.Context(), beta, dream.ActivateInput{DreamID: begun}); err != nil {
			t.Fatal(err)
		}
		n.Pass(time.Minute)
		for name, c := range map[string]struct {
			by   identity.Caller
			in   dream.PeekInput
			want string
		}{
			"of the key's program":  {beta, dream.PeekInput{}, "mine anyone's fallback low"},
			"of a program by name":  {loose, dream.PeekInput{Target: "gamma"}, "anyone's fallback another's"},
			"of a name in capitals": {beta, dream.PeekInput{Target: "GAMMA"}, "anyone's fallback another's"},
			"of nobody's key":       {loose, dream.PeekInput{}, "anyone's"},
			"of everyone":           {domaintest.Human("u"), dream.PeekInput{}, "mine anyone's fallback another's low"},
			"the first":             {beta, dream.PeekInput{Limit: 1}, "mine"},
			"of another user: none": {domaintest.Bound("v", "beta"), dream.PeekInput{}, ""},
		} {
			if got := n.peek(c.by, c.in); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
		out, err := n.Peek(t.Context(), beta, dream.PeekInput{Limit: 1})
		if err != nil || out.Dreams[0].Dream == nil || *out.Dreams[0].Dream != (task.DreamSpec{Agent: "b",
			BudgetCapUSD: 2, Branch: "night"}) || out.Dreams[0].Source != "alpha" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestADreamIsBegunOnce(t *testing.T) {
	each(t, func(t *testing.T, n *night) {
		id := n.create(dispatch.CreateInput{Title: "d", Target: "any"})
		lost := domaintest.Together(4, func(int) error {
			out, err := n.Activate(t.Context(), beta, dream.ActivateInput{DreamID: id})
			if err == nil && (out.ClaimToken != 1 || out.Status != task.Active) {
				t.Errorf("begun: %+v", out)
			}
			return err
		})
		if len(lost) != 3 {
			t.Errorf("%d began it", 4-len(lost))
		}
		for _, err := range lost {
			domaintest.Refused(t, "one that lost", err, fault.Precondition)
		}
	})
}

func TestTheLeaseOfADreamIsTheTimeOfItsSpec(t *testing.T) {
	each(t, func(t *testing.T, n *night) {
		for name, c := range map[string]struct {
			spec *task.DreamSpec
			want time.Duration
		}{"given": {&task.DreamSpec{TimeoutHours: 1.5}, 90 * time.Minute},
			"longer than a claim": {&task.DreamSpec{TimeoutHours: 48}, 48 * time.Hour}, "none": {nil, 24 * time.Hour}} {
			id := n.create(dispatch.CreateInput{Title: name, Target: "beta", Dream: c.spec})
			out, err := n.Activate(t.Context(), beta, dream.ActivateInput{DreamID: id, SessionID: "beta.1"})
			if err != nil || out.LeaseUntil.Sub(n.Clock.Now()) != c.want || out.AlreadyActive {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			again, err := n.Activate(t.Context(), beta, dream.ActivateInput{DreamID: id, SessionID: "beta.1"})
			if err != nil || !again.AlreadyActive || again.ClaimToken != out.ClaimToken ||
				!again.LeaseUntil.Equal(out.LeaseUntil) {
				t.Errorf("%s, again: %+v, %v", name, again, err)
			}
		}
	})
}

func TestATaskThatIsNoDreamOfTheCallerIsNotBegun(t *testing.T) {
	each(t, func(t *testing.T, n *night) {
		work := n.create(dispatch.CreateInput{Title: "w", Target: "beta", Type: task.Work})
		other := n.create(dispatch.CreateInput{Title: "d", Target: "gamma"})
		for name, c := range map[string]struct {
			id   string
			by   identity.Caller
			want fault.Kind
			says string
		}{
			"work":             {work, beta, fault.Precondition, "claim_task"},
			"nothing":          {"none", beta, fault.NotFound, `no dream with id "none"`},
			"another's":        {other, beta, fault.Forbidden, `"gamma"`},
			"of another user:": {other, domaintest.Unbound("v"), fault.NotFound, "no dream with id"},
		} {
			_, err := n.Activate(t.Context(), c.by, dream.ActivateInput{DreamID: c.id})
			domaintest.Refused(t, name, err, c.want, c.says)
		}
	})
}
