package sprint

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

func TestAStoryWithAnExpiredLeaseIsTakenOver(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		y.do(beta, id, "a", "active")
		y.Pass(LeaseFor - time.Second)
		_, err := y.tell(gamma, id, "a", "active")
		domaintest.Refused(t, "before the lease is over", err, fault.Precondition, `held by "beta"`)
		y.Pass(time.Second)
		_, err = y.tell(gamma, id, "a", "complete")
		domaintest.Refused(t, "not taken up", err, fault.Forbidden, `claimed by "beta"`)
		out := y.do(gamma, id, "a", "active")
		if l, _ := y.lease(docID(id, "a")); out.Story.ClaimedBy != "gamma" || l.ClaimToken != 2 ||
			!l.LeaseUntil.Equal(y.Clock.Now().Add(LeaseFor)) {
			t.Errorf("%+v under %+v", out.Story, l)
		}
		if k := y.kept(docID(id, "a")); k.Attempts != 1 {
			t.Errorf("%d attempts are counted", k.Attempts)
		}
		_, err = y.tell(beta, id, "a", "complete")
		domaintest.Refused(t, "by the former holder", err, fault.Forbidden, `claimed by "gamma"`)
		// The last attempt is left to the sweep, which ends the story.
		y.change(docID(id, "a"), func(s *task.Task) { s.Attempts = task.MaxAttempts - 1 })
		y.Pass(LeaseFor)
		_, err = y.tell(beta, id, "a", "active")
		domaintest.Refused(t, "a sixth time", err, fault.Precondition, `held by "gamma"`)
	})
}
