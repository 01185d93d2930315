package team

import (
	"fmt"
	"strings"
	"time"

	"parley.internal/shared/store"
)

// Lease is the time after a heartbeat for which a member counts as alive. A member with a
// task in progress, or with a process, is retired when it runs out.
const Lease = 10 * time.Minute

// beat is the last heartbeat of a member. It is a document of its own, so that a heartbeat
// wakes no call that waits for the team.
type beat struct {
	TeamID   string    `json:"teamId"`
	TeamName string    `json:"teamName"`
	Agent    string    `json:"agent"`
	State    State     `json:"state,omitempty"`
	PID      int64     `json:"pid,omitempty"`
	At       time.Time `json:"at"`
	// LeaseUntil is the time at which the sweep checks the member; zero means never.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
}

var beats = store.Collection[beat]{Name: "teamBeats", PartOf: "a process", Indexes: []string{"teamId,agent"},
	AllUsers: []string{"leaseUntil"}}

// renewLease records a heartbeat of a member.
func renewLease(tx *store.Tx, d *document, agent string, state State, pid int64, now time.Time) {
	beats.Put(tx, memberID(d.Name, agent), beat{TeamID: d.ID, TeamName: d.Name, Agent: agent, State: state, PID: pid,
		At: now, LeaseUntil: now.Add(Lease)})
}

// retire marks a member inactive and gives back its unfinished tasks. It returns the message
// to the lead, which says why, and the ids of the tasks.
func retire(b *Board, m *Member, why string) (note Message, released []int64) {
	m.setActive(false)
	released = b.Release(m.Name)
	text := fmt.Sprintf("%s %s.", m.Name, why)
	if len(released) > 0 {
		text += " Back to pending, without an owner: " + tasksOf(released) + "."
	}
	return Message{From: system, Text: text, Summary: m.Name + " is inactive"}, released
}

// tasksOf names tasks in a sentence.
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
