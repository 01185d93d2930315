package task

import (
	"slices"

	"parley.internal/shared/fault"
)

// Status is where a task stands.
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

// Statuses lists them in the order of a life.
func Statuses() []Status {
	return []Status{Created, Active, Blocked, Completing, Done, Failed, Derezzed}
}

type table map[Status][]Status

var (
	work = table{
		Created:    {Active, Blocked, Failed, Derezzed},
		Active:     {Created, Blocked, Completing, Done, Failed},
		Blocked:    {Active, Created, Failed, Derezzed},
		Completing: {Done, Failed, Created},
		Done:       {Derezzed},
		Failed:     {Created, Derezzed},
	}
	asked = table{
		Created: {Done, Derezzed},
		Done:    {Derezzed},
	}
	dreaming = table{
		Created:    {Active, Failed, Derezzed},
		Active:     {Completing, Done, Failed},
		Completing: {Done, Failed},
		Done:       {Derezzed},
		Failed:     {Derezzed},
	}
	lifecycles = map[Type]table{Work: work, Sprint: work, Story: work, Question: asked, Alert: asked, Dream: dreaming}
)

// Move says whether a task of the type may go from one status to another.
// Anything the table does not name is Precondition.
func Move(t Type, from, to Status) error {
	if slices.Contains(lifecycles[t][from], to) {
		return nil
	}
	return fault.New(fault.Precondition, "Invalid transition for %s: %s → %s", t, from, to)
}

// Ended says whether work on a task is over.
func (s Status) Ended() bool { return s == Done || s == Failed || s == Derezzed }
