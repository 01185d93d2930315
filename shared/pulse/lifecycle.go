package pulse

import (
	"slices"

	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

var lifecycle = map[task.Status][]task.Status{
	task.Created:  {task.Active},
	task.Active:   {task.Blocked, task.Done, task.Failed, task.Derezzed},
	task.Blocked:  {task.Active, task.Done, task.Failed, task.Derezzed},
	task.Done:     {task.Derezzed, task.Active},
	task.Failed:   {task.Derezzed, task.Active},
	task.Derezzed: {task.Active},
}

// Move returns nil if a session may go from one status to another, or if both are equal, else
// Precondition.
func Move(from, to task.Status) error {
	if from == to || slices.Contains(lifecycle[from], to) {
		return nil
	}
	return fault.New(fault.Precondition, "Invalid transition for session: %s → %s", from, to)
}
