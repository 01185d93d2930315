package sprint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// MaxStories is the largest number of stories of a sprint. It lets a sprint be completed in one
// transaction.
const MaxStories = 400

// LeaseFor is the time for which a story belongs to its holder after each report.
const LeaseFor = 65 * time.Minute

// plainID is the largest length of a story id that is part of its document's id unchanged. A
// longer one is replaced by a digest, so that get_task accepts the document's id.
const plainID = 60

// docID returns the id of a story's document. Digests begin with a character that no story id
// begins with, so that the ids of two stories never collide.
func docID(sprintID, storyID string) string {
	if len(storyID) <= plainID {
		return sprintID + "." + storyID
	}
	sum := sha256.Sum256([]byte(storyID))
	return sprintID + ".~" + hex.EncodeToString(sum[:16])
}

// author is the creator of a sprint or of an added story.
type author struct {
	source   string
	verified bool
	// owner is the target of the sprint and its stories: the program that created the
	// sprint, or task.Any for an unbound key.
	owner string
	// maker is the caller itself, and planner the creator of the sprint.
	maker, planner identity.Owner
}

func newSprint(by author, in CreateInput, waves int, now time.Time) (task.Task, error) {
	config, err := json.Marshal(in.Config)
	if err != nil {
		return task.Task{}, fault.Wrap(fault.Internal, err, "sprint config")
	}
	t := task.Task{Type: task.Sprint, Title: in.ProjectName, Status: task.Active, Priority: task.Normal,
		Action: "sprint", Source: by.source, Verified: by.verified, Maker: by.maker, Target: by.owner, SessionID: in.SessionID,
		CreatedAt: now, StartedAt: now, Sprint: &task.SprintPart{ProjectName: in.ProjectName, Branch: in.Branch,
			Config: config, Stories: len(in.Stories), LastWave: waves}}
	t.Route()
	return t, nil
}

func newStory(sprintID string, by author, d Draft, wave, order int, now time.Time) task.Task {
	dependencies := slices.Compact(slices.Sorted(slices.Values(d.Dependencies)))
	t := task.Task{Type: task.Story, Title: d.Title, Status: task.Created, Priority: task.Normal, Action: "sprint",
		Source: by.source, Verified: by.verified, Maker: by.maker, Target: by.owner, CreatedAt: now, Waits: len(dependencies),
		Sprint: &task.SprintPart{Planner: by.planner, ParentID: sprintID, StoryID: d.ID, Wave: wave, Order: order,
			Dependencies: dependencies, Complexity: d.Complexity, RetryPolicy: d.RetryPolicy, MaxRetries: d.retries()}}
	t.Route()
	return t
}

// newStories returns the stories of a checked plan in its order.
func newStories(sprintID string, by author, plan []Planned, now time.Time) []task.Task {
	out, at, wave := make([]task.Task, len(plan)), make(map[string]int, len(plan)), waves(plan)
	for i, p := range plan {
		out[i], at[p.ID] = newStory(sprintID, by, p.Draft, wave[i], i, now), i
	}
	for _, t := range out {
		for _, d := range t.Sprint.Dependencies {
			on := out[at[d]].Sprint
			on.Dependents = append(on.Dependents, t.Sprint.StoryID)
		}
	}
	return out
}

// oversees reports whether the caller may change a story or a sprint that nobody holds: a human, the creator of the
// sprint, or the caller that added the story.
func oversees(t *task.Task, c identity.Caller) bool {
	planner := t.Sprint.Planner
	if planner == (identity.Owner{}) && t.Target != task.Any {
		planner.Program = t.Target // a story from before its creator was kept
	}
	return t.Owner().Is(c) || planner.Is(c)
}

// report is the content of an update.
type report struct {
	// over reports that the session of the report has ended.
	over          bool
	to            task.Status // empty for no change
	progress      *int
	currentAction string
	model         string
	fence         task.Fence

	// openWave is the lowest wave with a story that has not ended, 0 for none. It is set in
	// reports that take a story up.
	openWave int
	// sprint is the status of the sprint. It is set in reports that may change a story that
	// has ended.
	sprint task.Status
}

// turn is the effect of a report on a story.
type turn struct {
	changed   bool // the story must be written
	held      bool // the lease must be renewed; if unset and changed is set, it must be deleted
	completed bool
	ended     bool // this report ended the story
	cancelled bool // this report took the story from its holder
	retried   bool
	escalated bool
}

// errWaits is returned for a story that waits for its dependencies. The caller replaces it by a
// fault that names them.
var errWaits = fault.New(fault.Precondition, "the story waits for its dependencies")

// apply applies the caller's report to a story. A report that the state of the story does not allow is Precondition, and
// one that the caller may not make Forbidden: on a story that another holds, or, without a holder, of an end that only
// the story's creator reports.
func apply(t *task.Task, lease task.Lease, c identity.Caller, r report, now time.Time) (turn, error) {
	if repeats(t, c, r) {
		return turn{retried: t.Status == task.Created, escalated: t.Status == task.Blocked}, nil
	}
	if t.CancelledBy != "" && r.to != t.Status && isHolder(t, c) && !c.IsHuman() {
		return turn{}, t.Held(c, r.fence) // says who cancelled it
	}
	if r.to == task.Active && t.Status == task.Active && lapsed(t, lease, now) && !names(t, c, r) {
		t.GiveUp(now) // as the next sweep of leases would
	}
	if r.to == "" || r.to == t.Status {
		return stay(t, lease, c, r)
	}
	if err := mayMove(t, c, r); err != nil {
		return turn{}, err
	}
	out := turn{changed: true}
	switch r.to {
	case task.Active:
		if err := takeUp(t, c, r, now); err != nil {
			return turn{}, err
		}
		out.held = true
	case task.Created:
		if t.Status != task.Active { // a story that is queued by hand has all its retries again
			t.Sprint.Retries, t.Attempts, t.Sprint.FailedToken, t.Sprint.FailedBy = 0, 0, 0, ""
		}
		queue(t)
	case task.Done:
		sign(t, c, r)
		t.Sprint.Progress = 100
		end(t, task.Done, now)
		out.completed, out.ended = true, true
	case task.Failed:
		sign(t, c, r)
		t.Sprint.FailedToken, t.Sprint.FailedBy = t.ClaimToken, c.Actor()
		failure(t, &out, now)
	case task.Derezzed:
		out.cancelled = sign(t, c, r)
		out.ended = !t.Sprint.Ended
		end(t, task.Derezzed, now)
	}
	edit(t, r)
	t.Route()
	return out, nil
}

// repeats reports whether a report of a failure was applied before: it is from the same caller and about the same claim.
// Without a token it is about the last claim.
func repeats(t *task.Task, c identity.Caller, r report) bool {
	p, token := t.Sprint, cmp.Or(r.fence.Token, t.ClaimToken)
	return r.to == task.Failed && p.FailedBy != "" && p.FailedToken == token && identity.Same(p.FailedBy, c.Actor()) &&
		(t.Status != task.Active || token != t.ClaimToken)
}

// isHolder reports whether the caller holds the story, or held it when it ended.
func isHolder(t *task.Task, c identity.Caller) bool {
	return t.ClaimedBy != "" && identity.Same(t.ClaimedBy, c.Actor())
}

// names reports whether the caller names the claim that it has on the story. Of several agents of one program one has
// it: the others cannot name it.
func names(t *task.Task, c identity.Caller, r report) bool { return isHolder(t, c) && r.fence.Names(t) }

// sign records who reports the end of a story, and says so in the story's reason if that is not its holder. It reports
// whether the report takes the story from a holder, which cancels it.
func sign(t *task.Task, c identity.Caller, r report) (cancelled bool) {
	t.EndedBy = c.Actor()
	switch {
	case t.Status != task.Active:
		t.Reason = "reported by " + c.Actor() + "; nobody held the story"
	case isHolder(t, c) && t.Held(c, r.fence) == nil:
	case r.to == task.Derezzed:
		t.CancelledBy, t.Reason = c.Actor(), "cancelled by "+c.Actor()
		return true
	default:
		t.Reason = "reported by " + c.Actor() + "; " + t.ClaimedBy + " held the story"
	}
	return false
}

// stay applies a report that does not change the status: progress, or a repeated report.
func stay(t *task.Task, lease task.Lease, c identity.Caller, r report) (turn, error) {
	id, own := t.Sprint.StoryID, isHolder(t, c)
	switch {
	case t.Status == task.Active && r.to == task.Active:
		if !names(t, c, r) {
			return turn{}, heldBy(t, lease)
		}
		return turn{changed: edit(t, r), held: true}, nil
	case t.Status == task.Active:
		if err := t.Held(c, r.fence); err != nil {
			return turn{}, err
		}
		return turn{changed: edit(t, r), held: true}, nil
	case !t.Sprint.Ended && oversees(t, c):
		return turn{changed: edit(t, r)}, nil
	case r.to != "" && (own || oversees(t, c) || t.Status == task.Created):
		return turn{}, nil
	case t.Sprint.Ended:
		return turn{}, fault.New(fault.Precondition, "story %q has ended: it is %s", id, word(t.Status))
	}
	return turn{}, fault.New(fault.Precondition,
		"story %q is %s and nobody holds it; take it up first, with status active", id, word(t.Status))
}

// lapsed reports whether the lease has run out and another agent may take the story. The last
// allowed attempt is left to the sweep, which makes the story fail.
func lapsed(t *task.Task, lease task.Lease, now time.Time) bool {
	return !lease.LeaseUntil.IsZero() && !now.Before(lease.LeaseUntil) && t.Attempts < task.MaxAttempts-1
}

func heldBy(t *task.Task, lease task.Lease) error {
	return fault.New(fault.Precondition,
		"story %q is held by %q until %s; take another that is ready, or ask its holder. A repeated call of the holder "+
			"gives the sessionId or the claimToken of its claim",
		t.Sprint.StoryID, t.ClaimedBy, lease.LeaseUntil.Format(time.RFC3339))
}

// mayMove returns Precondition or Forbidden if the caller may not give the story the reported status.
func mayMove(t *task.Task, c identity.Caller, r report) error {
	id, over := t.Sprint.StoryID, oversees(t, c)
	if err := legal(t.Status, r.to, over); err != nil {
		return err
	}
	if t.Status == task.Active {
		if r.to == task.Derezzed && over {
			return nil // cancelled by the creator
		}
		return t.Held(c, r.fence)
	}
	switch {
	case t.Status == task.Done:
		return fault.New(fault.Precondition, "story %q is complete, and others may stand on it; it cannot be skipped",
			id)
	case t.Status == task.Blocked && !over:
		return fault.New(fault.Forbidden,
			"story %q has failed too often and waits for a human or the sprint's creator to set it to queued or skipped; %s",
			id, c)
	case r.to != task.Active && !over:
		return fault.New(fault.Forbidden,
			"story %q is %s and nobody holds it; only a human, the sprint's creator or whoever added the story may set it "+
				"to %s; %s", id, word(t.Status), word(r.to), c)
	case t.Status == task.Failed && r.sprint.Ended():
		return fault.New(fault.Precondition, "the sprint of story %q is complete; plan what is left as a new sprint",
			id)
	case t.Status == task.Failed && r.to == task.Created && r.sprint != task.Active:
		return fault.New(fault.Precondition,
			"story %q cannot be queued again: all stories of its sprint have ended and it is %s; "+
				"plan what is left as a new sprint", id, r.sprint)
	}
	return nil
}

// legal checks a change of status against the lifecycle. The report of an overseer that an open story is complete is
// checked as two steps, through active.
func legal(from, to task.Status, over bool) error {
	if over && to == task.Done && (from == task.Created || from == task.Blocked) {
		from = task.Active
	}
	return task.Move(task.Story, from, to)
}

func takeUp(t *task.Task, c identity.Caller, r report, now time.Time) error {
	p := t.Sprint
	if r.openWave > 0 && r.openWave < p.Wave {
		return fault.New(fault.Precondition,
			"story %q is in wave %d, which opens when wave %d has ended; get_sprint says what is ready", p.StoryID,
			p.Wave, r.openWave)
	}
	if t.Waits > 0 {
		return errWaits
	}
	if r.over {
		return task.SessionOver(r.fence.SessionID)
	}
	t.Status, t.ClaimedBy, t.SessionID, t.StartedAt = task.Active, c.Actor(), r.fence.SessionID, now
	t.Reason, t.EndedBy = "", ""
	t.ClaimToken++
	return nil
}

// queue makes a story queued and removes its holder and progress.
func queue(t *task.Task) {
	t.Status, t.Outcome, t.Reason, t.EndedBy = task.Created, "", "", ""
	t.ClaimedBy, t.SessionID, t.StartedAt, t.CompletedAt = "", "", time.Time{}, time.Time{}
	t.Sprint.Ended, t.Sprint.Progress, t.Sprint.CurrentAction = false, 0, ""
}

// end ends a story without a purge time: stories must exist as long as their sprint, because
// others depend on them. The completion of the sprint sets the purge time of all.
func end(t *task.Task, s task.Status, now time.Time) {
	t.End(s, now)
	t.Outcome, t.PurgeAt, t.Sprint.Ended = s, time.Time{}, true
}

// failure applies the retry policy of a failed story. A blocked story that fails again has
// failed for good.
func failure(t *task.Task, out *turn, now time.Time) {
	p := t.Sprint
	switch {
	case t.Status != task.Blocked && p.Retries < p.MaxRetries:
		p.Retries++
		queue(t)
		t.Reason = failed(p.Retries)
		out.retried = true
	case t.Status != task.Blocked && p.RetryPolicy == escalation:
		t.Status, t.ClaimedBy, t.SessionID, t.StartedAt, t.EndedBy = task.Blocked, "", "", time.Time{}, ""
		t.Reason = failed(p.Retries + 1)
		out.escalated = true
	default:
		end(t, task.Failed, now)
		out.ended = true
	}
}

func failed(times int) string {
	if times == 1 {
		return "failed once"
	}
	return fmt.Sprintf("failed %d times", times)
}

// edit applies the progress, action and model of a report, and reports whether they changed
// the story.
func edit(t *task.Task, r report) bool {
	p, before := t.Sprint, *t.Sprint
	if r.progress != nil && t.Status != task.Done && t.Status != task.Created {
		p.Progress = *r.progress
	}
	p.CurrentAction, p.Model = cmp.Or(r.currentAction, p.CurrentAction), cmp.Or(r.model, p.Model)
	return p.Progress != before.Progress || p.CurrentAction != before.CurrentAction || p.Model != before.Model
}
