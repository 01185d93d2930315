package task

import (
	"slices"

	"parley.internal/shared/fault"
)

// Status is the status of a task.
type Status string

// The statuses.
const (
	Created    Status = "created"
	Active     Status = "active"
	Blocked    Status = "blocked"
	Completing Status = "completing"
	Done       Status = "done"
	Failed     Status = "failed"
	Derezzed   Status = "derezzed"
)

// Statuses returns all statuses in the order of a task's life.
func Statuses() []Status {
	return []Status{Created, Active, Blocked, Completing, Done, Failed, Derezzed}
}

type table map[Status][]Status

var (
	work = table{
		Created:    {Active, Blocked, Failed, Derezzed},
		Active:     {Created, Blocked, Completing, Done, Failed, Derezzed},
		Blocked:    {Active, Created, Failed, Derezzed},
		Completing: {Active, Done, Failed, Created, Derezzed},
		Done:       {Derezzed},
		Failed:     {Created, Derezzed},
	}
	asked = table{
		Created: {Done, Derezzed},
		Done:    {Derezzed},
	}
	dreaming = table{
		Created:    {Active, Failed, Derezzed},
		Active:     {Completing, Done, Failed, Derezzed},
		Completing: {Active, Done, Failed, Derezzed},
		Done:       {Derezzed},
		Failed:     {Derezzed},
	}
	lifecycles = map[Type]table{Work: work, Sprint: work, Story: work, Question: asked, Alert: asked, Dream: dreaming}
)

// Move returns nil if a task of the type may go from one status to another, else Precondition.
// A move from a status to itself is no exception.
func Move(t Type, from, to Status) error {
	if slices.Contains(lifecycles[t][from], to) {
		return nil
	}
	return fault.New(fault.Precondition, "Invalid transition for %s: %s → %s", t, from, to)
}

// Ended reports whether the status is final for the work: Done, Failed or Derezzed.
func (s Status) Ended() bool { return s == Done || s == Failed || s == Derezzed }
