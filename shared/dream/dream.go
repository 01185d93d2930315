package dream

import (
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

// defaultLease is the lease of a dream whose spec has no time limit.
const defaultLease = 24 * time.Hour

// lease returns the lease of a dream: the hours of its spec, else defaultLease. A task of another
// type is Precondition.
func lease(t *task.Task) (time.Duration, error) {
	if t.Type != task.Dream {
		return 0, fault.New(fault.Precondition, "the task is of type %s; claim_task takes it up", t.Type)
	}
	if t.Dream != nil && t.Dream.TimeoutHours > 0 {
		return time.Duration(t.Dream.TimeoutHours * float64(time.Hour)), nil
	}
	return defaultLease, nil
}
