package witness

import (
	"cmp"
	"slices"
	"time"

	"parley.internal/shared/store"
)

// Claim is a claim as its claimant was told of it.
type Claim struct {
	Task, Agent string
	// Session is what the claimant called itself by; no two claims of a run share one.
	Session string
	Token   int64
	// Told is when the answer came, Until how long the claim holds.
	Told, Until time.Time
	RequestID   string
}

// held is a claim with what became of it.
type held struct {
	Claim
	// ends is when its claimant first sent a release or a completion, zero for never.
	ends     time.Time
	released bool
}

// Completion is the end of a task as its claimant was told of it.
type Completion struct {
	Task, Agent, Result string
	Token               int64
	RequestID           string
}

type taskFacts struct {
	created       bool
	title, target string
	claims        []*held
	completions   []Completion
}

type outdone struct{ task, agent, session, requestID, why string }

func (b *Book) task(id string) *taskFacts {
	if b.tasks[id] == nil {
		b.tasks[id] = &taskFacts{}
	}
	return b.tasks[id]
}

// Created notes a task. No two of a run share a title.
func (b *Book) Created(id, title, target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.task(id)
	t.created, t.title, t.target = true, title, target
}

// Claimed notes a claim.
func (b *Book) Claimed(c Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.task(c.Task)
	t.claims = append(t.claims, &held{Claim: c})
}

// Outdone notes that a claim was refused because another has the task.
func (b *Book) Outdone(task, agent, session, requestID, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outdone = append(b.outdone, outdone{task, agent, session, requestID, why})
}

// claim is the one of a session, which was noted before.
func (b *Book) claim(task, session string) *held {
	for _, c := range b.task(task).claims {
		if c.Session == session {
			return c
		}
	}
	panic("witness: no claim of " + task + " by " + session)
}

// Renewed notes that a claim holds for longer.
func (b *Book) Renewed(task, session string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claim(task, session).Until = until
}

// Ending notes that a release or a completion is about to be sent.
func (b *Book) Ending(task, session string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.claim(task, session); c.ends.IsZero() {
		c.ends = at
	}
}

// Released notes that a claim was given back.
func (b *Book) Released(task, session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claim(task, session).released = true
}

// Completed notes the end of a task.
func (b *Book) Completed(c Completion) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.task(c.Task)
	t.completions = append(t.completions, c)
}

func (a *audit) auditTasks() {
	docs := a.collection("tasks")
	titles := by(docs, "title")
	for id, t := range a.tasks {
		if t.created {
			a.checked["tasks created"]++
			if a.single("task", t.title, id, titles[t.title]) {
				a.expect("task "+id, docs[id], "target", t.target)
			}
		}
		slices.SortStableFunc(t.claims, func(x, y *held) int { return cmp.Compare(x.Token, y.Token) })
		for i, c := range t.claims {
			a.checked["claims"]++
			if i > 0 {
				a.follows(t.claims[i-1], c)
			}
		}
		if n := len(t.claims); n > 0 {
			a.stands(t.claims[n-1], t, docs[id])
		}
		a.ended(t, docs[id])
	}
	for _, o := range a.outdone {
		a.checked["claims outdone"]++
		if !slices.ContainsFunc(a.task(o.task).claims, func(c *held) bool { return c.Session != o.session }) {
			a.violate(Answers, o.requestID, "%s was refused task %s (%s), and nobody else ever had it", o.agent, o.task, o.why)
		}
	}
}

// follows checks that a claim came after the end of the one before it.
func (a *audit) follows(before, c *held) {
	switch {
	case before.Token == c.Token:
		a.violate(Exclusive, c.RequestID, "task %s was claimed by %s and by %s under the token %d", c.Task, before.Agent, c.Agent, c.Token)
	case (before.ends.IsZero() || before.ends.After(c.Told)) && c.Told.Before(before.Until):
		a.violate(Exclusive, c.RequestID, "task %s was claimed by %s while %s held it until %s", c.Task, c.Agent, before.Agent, before.Until.Format(time.RFC3339Nano))
	}
}

// stands checks the last claim that anyone was told of.
func (a *audit) stands(c *held, t *taskFacts, doc store.Fields) {
	token := number(doc, "claimToken")
	lease := a.doc("leases", c.Task)
	switch {
	case doc == nil:
		a.violate(Kept, c.RequestID, "task %s was claimed by %s, and is not in the store", c.Task, c.Agent)
	case token < c.Token:
		a.violate(Kept, c.RequestID, "task %s was claimed by %s under the token %d, and its last in the store is %d", c.Task, c.Agent, c.Token, token)
	case token > c.Token || len(t.completions) > 0:
	case c.released && (text(doc, "status") != "created" || lease != nil):
		a.violate(Kept, c.RequestID, "task %s was released by %s, and is %s", c.Task, c.Agent, text(doc, "status"))
	case c.ends.IsZero() && a.now.Before(c.Until) && (text(doc, "status") != "active" || text(doc, "claimedBy") != c.Agent || !instant(lease, "leaseUntil").Equal(c.Until)):
		a.violate(Kept, c.RequestID, "%s holds task %s until %s, which the store has as %s, of %q until %s", c.Agent, c.Task, c.Until.Format(time.RFC3339Nano),
			text(doc, "status"), text(doc, "claimedBy"), instant(lease, "leaseUntil").Format(time.RFC3339Nano))
	}
}

// ended checks that a task ended once, as it was told.
func (a *audit) ended(t *taskFacts, doc store.Fields) {
	for i, c := range t.completions {
		a.checked["tasks completed"]++
		if i > 0 {
			a.violate(Exclusive, c.RequestID, "task %s was completed by %s, and before by %s", c.Task, c.Agent, t.completions[0].Agent)
			continue
		}
		if n := len(t.claims); n > 0 && t.claims[n-1].Token > c.Token {
			a.violate(Exclusive, c.RequestID, "task %s was completed by %s under the token %d, and claimed by %s under %d", c.Task, c.Agent, c.Token, t.claims[n-1].Agent, t.claims[n-1].Token)
		}
		what := "the completed task " + c.Task
		a.expect(what, doc, "status", "done")
		a.expect(what, doc, "result", c.Result)
		a.expect(what, doc, "claimedBy", c.Agent)
		a.expect(what, doc, "claimToken", c.Token)
	}
}
