package witness

import (
	"cmp"
	"slices"
	"time"

	"parley.internal/shared/store"
)

// Claim is an acknowledged claim.
type Claim struct {
	Task, Agent string
	// Session is the claimant's session id, which is unique in the run.
	Session string
	Token   int64
	// Told is the time of the answer, Until the end of the lease.
	Told, Until time.Time
	RequestID   string
}

// held is a claim with its later changes.
type held struct {
	Claim
	// ends is the time at which its claimant first sent a release or a completion; zero means never.
	ends     time.Time
	released bool
}

// Completion is an acknowledged completion of a task.
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

type refusedClaim struct{ task, agent, session, requestID, reason string }

func (b *Book) task(id string) *taskFacts {
	if b.tasks[id] == nil {
		b.tasks[id] = &taskFacts{}
	}
	return b.tasks[id]
}

// Created records an acknowledged task. Its title must be unique in the run.
func (b *Book) Created(id, title, target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.task(id)
	t.created, t.title, t.target = true, title, target
}

// Claimed records an acknowledged claim.
func (b *Book) Claimed(c Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.task(c.Task)
	t.claims = append(t.claims, &held{Claim: c})
}

// ClaimRefused records that a claim was refused because another agent has the task.
func (b *Book) ClaimRefused(task, agent, session, requestID, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused = append(b.refused, refusedClaim{task, agent, session, requestID, reason})
}

// claim returns the recorded claim of a session, and panics if there is none.
func (b *Book) claim(task, session string) *held {
	for _, c := range b.task(task).claims {
		if c.Session == session {
			return c
		}
	}
	panic("witness: no claim of " + task + " by " + session)
}

// Renewed records the new end of a claim's lease. The claim must be recorded, as for Ending and Released.
func (b *Book) Renewed(task, session string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claim(task, session).Until = until
}

// Ending records that a release or a completion is about to be sent.
func (b *Book) Ending(task, session string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.claim(task, session); c.ends.IsZero() {
		c.ends = at
	}
}

// Released records that a claim was released.
func (b *Book) Released(task, session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claim(task, session).released = true
}

// Completed records an acknowledged completion.
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
				a.checkSuccession(t.claims[i-1], c)
			}
		}
		if n := len(t.claims); n > 0 {
			a.checkLastClaim(t.claims[n-1], t, docs[id])
		}
		a.checkCompletions(t, docs[id])
	}
	for _, r := range a.refused {
		a.checked["claims refused"]++
		if !slices.ContainsFunc(a.task(r.task).claims, func(c *held) bool { return c.Session != r.session }) {
			a.violate(Answers, r.requestID, "%s was refused task %s (%s) although no other agent claimed it",
				r.agent, r.task, r.reason)
		}
	}
}

// checkSuccession checks that a claim began after the end of the one before it.
func (a *audit) checkSuccession(before, c *held) {
	switch {
	case before.Token == c.Token:
		a.violate(Exclusive, c.RequestID, "task %s was claimed by %s and by %s under the token %d",
			c.Task, before.Agent, c.Agent, c.Token)
	case (before.ends.IsZero() || before.ends.After(c.Told)) && c.Told.Before(before.Until):
		a.violate(Exclusive, c.RequestID, "task %s was claimed by %s while %s held it until %s",
			c.Task, c.Agent, before.Agent, before.Until.Format(time.RFC3339Nano))
	}
}

// checkLastClaim checks the last acknowledged claim of a task against its document.
func (a *audit) checkLastClaim(c *held, t *taskFacts, doc store.Fields) {
	token, status := number(doc, "claimToken"), text(doc, "status")
	lease := a.doc("leases", c.Task)
	until := instant(lease, "leaseUntil")
	matches := status == "active" && text(doc, "claimedBy") == c.Agent && until.Equal(c.Until)
	switch {
	case doc == nil:
		a.violate(Kept, c.RequestID, "task %s was claimed by %s, and is not in the store", c.Task, c.Agent)
	case token < c.Token:
		a.violate(Kept, c.RequestID, "task %s was claimed by %s under the token %d, and its last in the store is %d",
			c.Task, c.Agent, c.Token, token)
	case token > c.Token || len(t.completions) > 0:
	case c.released && (status != "created" || lease != nil):
		a.violate(Kept, c.RequestID, "task %s was released by %s, and is %s", c.Task, c.Agent, status)
	case c.ends.IsZero() && a.now.Before(c.Until) && !matches:
		a.violate(Kept, c.RequestID, "%s holds task %s until %s, but in the store it is %s, claimed by %q until %s",
			c.Agent, c.Task, c.Until.Format(time.RFC3339Nano),
			status, text(doc, "claimedBy"), until.Format(time.RFC3339Nano))
	}
}

// checkCompletions checks that a task was completed once, with the acknowledged result.
func (a *audit) checkCompletions(t *taskFacts, doc store.Fields) {
	for i, c := range t.completions {
		a.checked["tasks completed"]++
		if i > 0 {
			a.violate(Exclusive, c.RequestID, "task %s was completed by %s, and before by %s",
				c.Task, c.Agent, t.completions[0].Agent)
			continue
		}
		if n := len(t.claims); n > 0 && t.claims[n-1].Token > c.Token {
			a.violate(Exclusive, c.RequestID, "task %s was completed by %s under the token %d, and claimed by %s under %d",
				c.Task, c.Agent, c.Token, t.claims[n-1].Agent, t.claims[n-1].Token)
		}
		what := "the completed task " + c.Task
		a.expect(what, doc, "status", "done")
		a.expect(what, doc, "result", c.Result)
		a.expect(what, doc, "claimedBy", c.Agent)
		a.expect(what, doc, "claimToken", c.Token)
	}
}
