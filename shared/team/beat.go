package team

import (
	"fmt"
	"strings"
	"time"

	"parley.internal/shared/store"
)

// Lease is how long a member with a task in progress, or with a process, may go
// without a heartbeat.
const Lease = 10 * time.Minute

// beat is the last that was heard of a member. It stands beside the team, so that a
// heartbeat wakes nobody.
type beat struct {
	TeamID   string    `json:"teamId"`
	TeamName string    `json:"teamName"`
	Agent    string    `json:"agent"`
	State    State     `json:"state,omitempty"`
	PID      int64     `json:"pid,omitempty"`
	At       time.Time `json:"at"`
	// LeaseUntil is when the sweep looks; a member that nothing is expected of has none.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
}

var beats = store.Collection[beat]{Name: "teamBeats", Indexes: []string{"teamId,agent"},
	AllUsers: []string{"leaseUntil"}}

// alive notes that a member was heard of.
func alive(tx *store.Tx, d *document, agent string, state State, pid int64, now time.Time) {
	beats.Put(tx, memberID(d.Name, agent), beat{TeamID: d.ID, TeamName: d.Name, Agent: agent, State: state, PID: pid,
		At: now, LeaseUntil: now.Add(Lease)})
}

// retire notes that a member is not there any more: it is inactive, and its unfinished
// tasks go back. The lead is told why. It says which tasks they were.
func retire(b *Board, m *Member, why string) (note Message, released []int64) {
	m.setActive(false)
	released = b.Release(m.Name)
	text := fmt.Sprintf("%s %s.", m.Name, why)
	if len(released) > 0 {
		text += " Back to pending, without an owner: " + tasksOf(released) + "."
	}
	return Message{From: system, Text: text, Summary: m.Name + " is inactive"}, released
}

// tasksOf lists tasks for a person to read.
func tasksOf(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = taskID(id)
	}
	if len(ids) == 1 {
		return "task " + words[0]
	}
	return "tasks " + strings.Join(words, ", ")
}
