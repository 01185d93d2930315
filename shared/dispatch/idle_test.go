package dispatch

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestATaskThatNobodyClaimsIsDeletedAfterALongTime(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		const keep = 90 * 24 * time.Hour
		q.Keep = keep
		gone := func(id string) bool {
			t.Helper()
			_, err := q.Get(t.Context(), beta, TaskInput{TaskID: id})
			if err != nil && !fault.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
			return err != nil
		}
		sweep := func() {
			t.Helper()
			domaintest.Must(q.SweepEnded(t.Context(), store.NewAdmin(q.DB), 100))(t)
		}
		left := q.create(alpha, CreateInput{Title: "left", Target: "beta"})
		noted := q.create(alpha, CreateInput{Title: "noted", Target: "beta"})
		released := q.create(alpha, CreateInput{Title: "released", Target: "beta"})
		held := q.create(alpha, CreateInput{Title: "held", Target: "beta"})
		q.Pass(keep - time.Hour)
		sweep()
		if gone(left) {
			t.Error("it is gone too early")
		}
		domaintest.Must(q.Update(t.Context(), alpha, UpdateInput{TaskID: noted, Note: "still wanted"}))(t)
		token := q.claim(beta, released).ClaimToken
		domaintest.Must(q.Release(t.Context(), beta, ReleaseInput{TaskID: released, ClaimToken: token}))(t)
		q.claim(beta, held)
		q.Pass(time.Hour)
		sweep()
		if !gone(left) || gone(noted) || gone(released) || gone(held) {
			t.Errorf("left %t, noted %t, released %t, held %t", gone(left), gone(noted), gone(released), gone(held))
		}
		q.Pass(keep)
		sweep()
		if !gone(noted) || !gone(released) || gone(held) {
			t.Errorf("noted %t, released %t, held %t", gone(noted), gone(released), gone(held))
		}
		// A task that expires ends thereby, and is kept for as long as any task that ended.
		short := q.create(alpha, CreateInput{Title: "short", Target: "beta", TTL: 60})
		q.Pass(time.Minute)
		domaintest.Must(q.SweepExpired(t.Context(), store.NewAdmin(q.DB), 100))(t)
		if v := q.get(short); v.Status != task.Derezzed {
			t.Errorf("%+v", v)
		}
		q.Keep = 0
		forever := q.create(alpha, CreateInput{Title: "forever", Target: "beta"})
		q.Pass(10 * keep)
		sweep()
		if gone(forever) || !gone(short) {
			t.Errorf("forever %t, short %t", gone(forever), gone(short))
		}
	})
}
