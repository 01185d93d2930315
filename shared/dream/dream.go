package dream

import (
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

// longest is how long a dream may take whose spec gives no hours.
const longest = 24 * time.Hour

// lease is how long who takes the dream up may hold it: the hours of its spec.
func lease(t *task.Task) (time.Duration, error) {
	if t.Type != task.Dream {
		return 0, fault.New(fault.Precondition, "the task is of type %s; claim_task takes it up", t.Type)
	}
	if t.Dream != nil && t.Dream.TimeoutHours > 0 {
		return time.Duration(t.Dream.TimeoutHours * float64(time.Hour)), nil
	}
	return longest, nil
}
