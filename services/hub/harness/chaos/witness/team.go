package witness

import (
	"fmt"
	"slices"
	"strings"

	"parley.internal/shared/store"
)

// teamFacts is what was told of one team.
type teamFacts struct {
	name      string
	tasks     map[string]*teamTask
	sent      map[string]note // by the text
	read      map[string]seen // by inbox and message id
	lostReads map[string]int  // of inboxes
}

type teamTask struct{ subject, status, owner string }

type note struct{ to string }

type seen struct {
	text, requestID string
	unread          int // how often it came as new
}

func (b *Book) team(name string) *teamFacts {
	if b.teams[name] == nil {
		b.teams[name] = &teamFacts{name, map[string]*teamTask{}, map[string]note{}, map[string]seen{}, map[string]int{}}
	}
	return b.teams[name]
}

// TeamTask notes a task of the team as its one writer was last told of it. No two of a
// run share a subject.
func (b *Book) TeamTask(team, id, subject, status, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team(team).tasks[id] = &teamTask{subject, status, owner}
}

// TeamSent notes a message to a member. No two of a run share a text.
func (b *Book) TeamSent(team, to, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team(team).sent[body] = note{to}
}

// TeamRead notes that a member saw a message in its inbox, as new or as an old one.
func (b *Book) TeamRead(team, member, id, body, requestID string, asNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := member + " " + id
	read := b.team(team).read
	s, known := read[key]
	if known && s.text != body {
		b.violate(Kept, requestID, "message %s of the team's member %s said %q and now says %q", id, member, s.text, body)
	}
	s.text, s.requestID = body, requestID
	if asNew {
		if s.unread++; s.unread > 1 {
			b.violate(Delivered, requestID, "message %s came to the team's member %s as new %d times", id, member, s.unread)
		}
	}
	read[key] = s
}

// TeamLostRead notes a reading of a member's inbox whose answer did not come.
func (b *Book) TeamLostRead(team, member string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team(team).lostReads[member]++
}

func (a *audit) auditTeams() {
	for _, t := range a.teams {
		head := a.doc("teams", "team:"+t.name)
		if head == nil {
			a.violate(Kept, "", "team %s is not in the store", t.name)
			continue
		}
		below := "teams/" + text(head, "id") + "/"
		mail := a.collection(below + "teamMessages")
		a.teamTasks(t, a.collection(below+"teamTasks"), mail)
		a.teamMail(t, mail)
		a.inboxes(t, text(head, "id"), mail)
	}
}

// teamTasks checks the tasks, where they stand and who was told of them.
func (a *audit) teamTasks(t *teamFacts, docs, mail map[string]store.Fields) {
	nodes := map[string]store.Fields{}
	list, _ := a.doc("teamBoards", "team:"+t.name)["tasks"].([]any)
	for _, n := range list {
		if node, ok := n.(store.Fields); ok {
			nodes[fmt.Sprint(node["id"])] = node
		}
	}
	subjects := by(docs, "subject")
	for id, task := range t.tasks {
		a.checked["team tasks"]++
		if !a.single("team task", task.subject, id, subjects[task.subject]) {
			continue
		}
		a.expect("team task "+id, nodes[id], "status", task.status)
		if task.owner != "" {
			a.expect("team task "+id, nodes[id], "owner", task.owner)
			a.assigned(id, task, mail)
		}
	}
}

// teamMail checks that what was sent is there once.
func (a *audit) teamMail(t *teamFacts, mail map[string]store.Fields) {
	texts := by(mail, "text")
	for body, n := range t.sent {
		a.checked["team messages"]++
		switch found := texts[body]; len(found) {
		case 0:
			a.violate(Kept, "", "the message %q to %s of team %s was acknowledged, and is not in the store", body, n.to, t.name)
		case 1:
			a.expect("team message "+found[0], mail[found[0]], "agent", n.to)
		default:
			a.violate(Once, "", "the message %q to %s of team %s is there %d times", body, n.to, t.name, len(found))
		}
	}
}

// assigned checks that the owner of a task was told of it, once.
func (a *audit) assigned(id string, t *teamTask, mail map[string]store.Fields) {
	n := 0
	for _, m := range mail {
		if s := text(m, "text"); text(m, "agent") == t.owner && strings.Contains(s, `"task_assignment"`) && strings.Contains(s, `"taskId":"`+id+`"`) {
			n++
		}
	}
	if n != 1 {
		a.violate(Once, "", "%s was told %d times that team task %s is its own", t.owner, n, id)
	}
}

// inboxes checks that those of the team are numbered without a gap, and that each
// message came to its member as new, unless the call that took it got no answer.
func (a *audit) inboxes(t *teamFacts, teamID string, mail map[string]store.Fields) {
	numbers := map[string][]int64{}
	for _, m := range mail {
		member, id := text(m, "agent"), text(m, "id")
		numbers[member] = append(numbers[member], number(m, "seq"))
		s, known := t.read[member+" "+id]
		switch {
		case !known:
			a.violate(Delivered, "", "%s of team %s read its whole inbox and did not see message %s", member, t.name, id)
		case s.unread == 0 && t.lostReads[member] == 0:
			a.violate(Delivered, s.requestID, "message %s never came to %s of team %s as new", id, member, t.name)
		case s.text != text(m, "text"):
			a.violate(Kept, s.requestID, "message %s to %s of team %s was %q to its reader", id, member, t.name, s.text)
		}
	}
	for member, ns := range numbers {
		slices.Sort(ns)
		for i, n := range ns {
			if n != int64(i+1) {
				a.violate(Once, "", "the inbox of %s of team %s has number %d at place %d", member, t.name, n, i+1)
				break
			}
		}
	}
	for _, box := range a.collection("teamInboxes") {
		if member := text(box, "agent"); text(box, "teamId") == teamID && number(box, "last") != int64(len(numbers[member])) {
			a.violate(Kept, "", "the inbox of %s of team %s counts %d messages and has %d", member, t.name, number(box, "last"), len(numbers[member]))
		}
	}
}
