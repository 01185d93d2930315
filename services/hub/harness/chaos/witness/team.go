package witness

import (
	"fmt"
	"slices"
	"strings"

	"parley.internal/shared/store"
)

// teamFacts are the recorded facts about a team.
type teamFacts struct {
	name      string
	tasks     map[string]*teamTask
	sent      map[string]string // recipients by text
	read      map[string]seen   // by member and message id
	lostReads map[string]int    // by member
}

type teamTask struct{ subject, status, owner string }

type seen struct {
	text, requestID string
	unread          int // the number of times it was delivered as new
}

func (b *Book) team(name string) *teamFacts {
	if b.teams[name] == nil {
		b.teams[name] = &teamFacts{name, map[string]*teamTask{}, map[string]string{}, map[string]seen{}, map[string]int{}}
	}
	return b.teams[name]
}

// TeamTask records the acknowledged state of a task of the team, which has a single writer. Its subject must be unique
// in the run.
func (b *Book) TeamTask(team, id, subject, status, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team(team).tasks[id] = &teamTask{subject, status, owner}
}

// TeamSent records an acknowledged message to a member. Its body must be unique in the run.
func (b *Book) TeamSent(team, to, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team(team).sent[body] = to
}

// TeamRead records that a member read a message in its inbox, as new or not.
func (b *Book) TeamRead(team, member, id, body, requestID string, asNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := member + " " + id
	read := b.team(team).read
	s, known := read[key]
	if known && s.text != body {
		b.violate(Kept, requestID, "message %s of the team's member %s said %q and now says %q",
			id, member, s.text, body)
	}
	s.text, s.requestID = body, requestID
	if asNew {
		if s.unread++; s.unread > 1 {
			b.violate(Delivered, requestID, "message %s came to the team's member %s as new %d times",
				id, member, s.unread)
		}
	}
	read[key] = s
}

// TeamLostRead records a call that read a member's inbox and got no answer.
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

// teamTasks checks the tasks: their status, their owner and the notification of the owner.
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

// teamMail checks that each sent message is stored once.
func (a *audit) teamMail(t *teamFacts, mail map[string]store.Fields) {
	texts := by(mail, "text")
	for body, to := range t.sent {
		a.checked["team messages"]++
		switch found := texts[body]; len(found) {
		case 0:
			a.violate(Kept, "", "the message %q to %s of team %s was acknowledged, and is not in the store",
				body, to, t.name)
		case 1:
			a.expect("team message "+found[0], mail[found[0]], "agent", to)
		default:
			a.violate(Once, "", "the message %q to %s of team %s is stored %d times", body, to, t.name, len(found))
		}
	}
}

// assigned checks that the owner of a task was notified once.
func (a *audit) assigned(id string, t *teamTask, mail map[string]store.Fields) {
	n := 0
	for _, m := range mail {
		s := text(m, "text")
		if text(m, "agent") == t.owner && strings.Contains(s, `"task_assignment"`) &&
			strings.Contains(s, `"taskId":"`+id+`"`) {
			n++
		}
	}
	if n != 1 {
		a.violate(Once, "", "%s was notified %d times that it owns team task %s", t.owner, n, id)
	}
}

// inboxes checks that the messages of each inbox are numbered without a gap, and that each message was delivered to its
// member as new, unless a call that read the inbox got no answer.
func (a *audit) inboxes(t *teamFacts, teamID string, mail map[string]store.Fields) {
	numbers := map[string][]int64{}
	for _, m := range mail {
		member, id := text(m, "agent"), text(m, "id")
		numbers[member] = append(numbers[member], number(m, "seq"))
		s, known := t.read[member+" "+id]
		switch {
		case !known:
			a.violate(Delivered, "", "%s of team %s read its whole inbox and did not see message %s",
				member, t.name, id)
		case s.unread == 0 && t.lostReads[member] == 0:
			a.violate(Delivered, s.requestID, "message %s never came to %s of team %s as new", id, member, t.name)
		case s.text != text(m, "text"):
			a.violate(Kept, s.requestID, "message %s to %s of team %s was read as %q", id, member, t.name, s.text)
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
		member, last := text(box, "agent"), number(box, "last")
		if n := len(numbers[member]); text(box, "teamId") == teamID && last != int64(n) {
			a.violate(Kept, "", "the inbox of %s of team %s counts %d messages and has %d", member, t.name, last, n)
		}
	}
}
