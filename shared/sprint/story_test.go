package sprint

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

var (
	alpha, beta, gamma = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta"), domaintest.Bound("u", "gamma")
	loose, person      = domaintest.Unbound("u"), domaintest.Human("u")
	// drift is another agent's key that is bound to no program.
	drift = identity.Caller{User: "u", KeyID: "aaaabbbbccccdddd", Kind: identity.Agent}
)

// moves is the effect of every report by every caller in every state, for a story of alpha that
// beta took up. All callers show the token of beta's claim. The effect is the new status, = for a
// repeat without effect, or the reason of the refusal: T for the lifecycle, H for a story that is
// taken, F for a caller that may not report it, X for a state that does not allow it.
const moves = `
           queued  active  complete  failed  skipped
beta
queued     =       active  T         F       F
active     queued  =       complete  failed  skipped
blocked    F       F       T         F       F
complete   T       T       =         T       X
failed     F       T       T         =       F
skipped    T       T       T         T       =
gamma,unbound
queued     =       active  T         F       F
active     F       H       F         F       F
blocked    F       F       T         F       F
complete   T       T       X         T       X
failed     F       T       T         X       F
skipped    T       T       T         T       X
alpha
queued     =       active  complete  failed  skipped
active     F       H       F         F       skipped
blocked    queued  active  complete  failed  skipped
complete   T       T       =         T       X
failed     queued  T       T         =       skipped
skipped    T       T       T         T       =
human
queued     =       active  complete  failed  skipped
active     queued  H       complete  failed  skipped
blocked    queued  active  complete  failed  skipped
complete   T       T       =         T       X
failed     queued  T       T         =       skipped
skipped    T       T       T         T       =`

func at(state string) task.Task {
	by := author{"alpha", true, "alpha", alpha.Owner(), alpha.Owner()}
	t := newStory("s", by, draft(Draft{ID: "a"}), 1, 0, domaintest.Start)
	if t.Status = status(state); t.Status != task.Created && t.Status != task.Blocked {
		t.ClaimedBy, t.ClaimToken, t.StartedAt = "beta", 3, domaintest.Start
	}
	if t.Status.Ended() {
		end(&t, t.Status, domaintest.Start)
	}
	return t
}

func outcome(t *task.Task, was string, done turn, err error) string {
	switch {
	case err == nil && !done.changed && word(t.Status) == was:
		return "="
	case err == nil && done.changed:
		return word(t.Status)
	case fault.Is(err, fault.Forbidden):
		return "F"
	case err != nil && !fault.Is(err, fault.Precondition):
		return err.Error()
	case strings.HasPrefix(err.Error(), "Invalid transition for sprint-story: "):
		return "T"
	case strings.Contains(err.Error(), `is held by "beta"`):
		return "H"
	}
	return "X"
}

func TestEveryReportInEveryStateOfAStory(t *testing.T) {
	t.Parallel()
	callers := map[string]identity.Caller{"alpha": alpha, "beta": beta, "gamma": gamma, "human": person,
		"unbound": loose}
	lines := strings.Split(strings.TrimSpace(moves), "\n")
	reports, who, rows := strings.Fields(lines[0]), []string{}, 0
	for _, line := range lines[1:] {
		parts := strings.Fields(line)
		if len(parts) == 1 {
			who = strings.Split(parts[0], ",")
			continue
		}
		for _, name := range who {
			rows++
			for i, to := range reports {
				story := at(parts[0])
				before := *story.Sprint
				r := report{to: status(to), sprint: task.Active, fence: task.Fence{Token: 3}}
				done, err := apply(&story, task.Lease{}, callers[name], r, domaintest.Start.Add(time.Hour))
				if got := outcome(&story, parts[0], done, err); got != parts[i+1] {
					t.Errorf("%s: %s → %s is %s, want %s (%v)", name, parts[0], to, got, parts[i+1], err)
				}
				if err == nil && (story.Sprint.Ended != story.Status.Ended() ||
					done.ended != (story.Sprint.Ended && !before.Ended)) {
					t.Errorf("%s: %s → %s: %+v of %+v", name, parts[0], to, done, story.Sprint)
				}
				if err == nil && (done.held != (story.Status == task.Active) ||
					(story.Status == task.Created && story.ClaimedBy != "")) {
					t.Errorf("%s: %s → %s: %+v, held by %q", name, parts[0], to, done, story.ClaimedBy)
				}
			}
		}
	}
	if rows != 5*6 {
		t.Errorf("the table has %d rows", rows)
	}
}

func TestAFailureFollowsTheRetryPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy string
		max    int
		want   string
	}{
		"none stays":               {retryNone, 0, "failed"},
		"auto_retry":               {retryAuto, 2, "queued queued failed"},
		"auto_retry without tries": {retryAuto, 0, "failed"},
		"escalate":                 {escalation, 1, "queued blocked"},
		"escalate without tries":   {escalation, 0, "blocked"},
	} {
		story := newStory("s", author{owner: "alpha"}, draft(Draft{ID: "a", RetryPolicy: c.policy, MaxRetries: &c.max}),
			1, 0,
			domaintest.Start)
		var got []string
		for story.Status == task.Created {
			if _, err := apply(&story, task.Lease{}, beta, report{to: task.Active}, domaintest.Start); err != nil {
				t.Fatal(err)
			}
			r := report{to: task.Failed, fence: task.Fence{Token: story.ClaimToken}}
			done, err := apply(&story, task.Lease{}, beta, r, domaintest.Start)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, word(story.Status))
			if done.retried != (story.Status == task.Created) || done.escalated != (story.Status == task.Blocked) ||
				done.ended != (story.Status == task.Failed) {
				t.Errorf("%s: %+v", name, done)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		if story.ClaimToken != int64(len(got)) {
			t.Errorf("%s: claimed %d times", name, story.ClaimToken)
		}
	}
}

func TestQueuingAFailedStoryResetsItsRetries(t *testing.T) {
	t.Parallel()
	one := 1
	story := newStory("s", author{source: "alpha", owner: "alpha"},
		draft(Draft{ID: "a", RetryPolicy: escalation, MaxRetries: &one}), 1, 0, domaintest.Start)
	step := func(c identity.Caller, to task.Status) turn {
		r := report{to: to, sprint: task.Active, fence: task.Fence{Token: story.ClaimToken}}
		done, err := apply(&story, task.Lease{}, c, r, domaintest.Start)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	fails := func() turn { step(beta, task.Active); return step(beta, task.Failed) }
	if fails(); !fails().escalated {
		t.Fatalf("%+v", story)
	}
	story.Attempts = 4 // leases that ran out
	if step(person, task.Created); story.Sprint.Retries != 0 || story.Attempts != 0 || !fails().retried ||
		!fails().escalated {
		t.Errorf("%+v", story.Sprint)
	}
	// A story that its holder gives back keeps its used retries.
	if step(person, task.Created); !fails().retried {
		t.Errorf("%+v", story.Sprint)
	}
	step(beta, task.Active)
	if step(beta, task.Created); story.Sprint.Retries != 1 {
		t.Errorf("%+v", story.Sprint)
	}
}

func TestAnEndedStoryIsFinalOnceItsSprintIsComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to     string
		sprint task.Status
		ok     bool
	}{
		{"queued", task.Active, true}, {"queued", task.Completing, false}, {"queued", task.Done, false},
		{"skipped", task.Active, true}, {"skipped", task.Completing, true}, {"skipped", task.Done, false},
	} {
		story := at("failed")
		_, err := apply(&story, task.Lease{}, alpha, report{to: status(c.to), sprint: c.sprint}, domaintest.Start)
		if (err == nil) != c.ok || (!c.ok && !strings.Contains(err.Error(), "new sprint")) {
			t.Errorf("%s while it is %s: %v", c.to, c.sprint, err)
		}
	}
}

func TestAStoryInAClosedWaveOrWithOpenDependenciesIsNotTakenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wave, open, waits int
		says              string
	}{
		"its wave is open": {2, 2, 0, ""},
		"a lower one is":   {3, 2, 0, "opens when wave 2 has ended"},
		"it waits":         {2, 2, 1, "waits for its dependencies"},
		"nothing else is":  {2, 0, 0, ""},
	} {
		story := at("queued")
		story.Sprint.Wave, story.Waits = c.wave, c.waits
		_, err := apply(&story, task.Lease{}, beta, report{to: task.Active, openWave: c.open}, domaintest.Start)
		if (c.says == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (story.Status != task.Created || story.ClaimedBy != "" || story.ClaimToken != 0) {
			t.Errorf("%s: refused, and yet %+v", name, story)
		}
	}
}

func TestOnlyTheHolderReportsProgressAndOmittedFieldsStay(t *testing.T) {
	t.Parallel()
	half, story, fence := 50, at("active"), task.Fence{Token: 3}
	done, err := apply(&story, task.Lease{}, beta, report{progress: &half, currentAction: "testing", model: "m",
		fence: fence}, domaintest.Start)
	if p := story.Sprint; err != nil || !done.changed || !done.held || p.Progress != 50 ||
		p.CurrentAction != "testing" || p.Model != "m" {
		t.Errorf("%+v, %+v, %v", story.Sprint, done, err)
	}
	done, err = apply(&story, task.Lease{}, beta, report{model: "n", fence: fence}, domaintest.Start)
	if p := story.Sprint; err != nil || !done.changed || p.Progress != 50 || p.CurrentAction != "testing" ||
		p.Model != "n" {
		t.Errorf("%+v, %+v, %v", story.Sprint, done, err)
	}
	if done, err := apply(&story, task.Lease{}, beta, report{fence: fence}, domaintest.Start); err != nil || done.changed ||
		!done.held {
		t.Errorf("a beat is %+v, %v", done, err)
	}
	for _, c := range []identity.Caller{alpha, gamma, loose} {
		_, err := apply(&story, task.Lease{}, c, report{progress: &half, fence: fence}, domaintest.Start)
		domaintest.Refused(t, c.String(), err, fault.Forbidden, `"beta"`)
	}
	if done, err := apply(&story, task.Lease{}, person, report{model: "o"}, domaintest.Start); err != nil ||
		!done.held || story.Sprint.Model != "o" || story.ClaimedBy != "beta" {
		t.Errorf("a human: %+v, %v", done, err)
	}
	for _, state := range []string{"complete", "failed", "skipped"} {
		ended := at(state)
		if _, err := apply(&ended, task.Lease{}, beta, report{progress: &half}, domaintest.Start); err == nil ||
			!strings.Contains(err.Error(), "has ended: it is "+state) {
			t.Errorf("%s: %v", state, err)
		}
	}
	queued := at("queued")
	if _, err := apply(&queued, task.Lease{}, gamma, report{model: "m"}, domaintest.Start); err == nil {
		t.Error("anyone notes on a story that nobody holds")
	}
	if done, err := apply(&queued, task.Lease{}, alpha, report{model: "m"}, domaintest.Start); err != nil ||
		!done.changed || done.held || queued.Sprint.Model != "m" {
		t.Errorf("its creator: %+v, %v", done, err)
	}
}

func TestTheDocumentIdsOfStoriesAreUniqueAndValid(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("x", 100), strings.Repeat("x", 99)+"y"
	sprint, seen := "0198c0de-0000-7000-8000-000000000000", map[string]string{}
	for _, id := range []string{"a", "A", "a.b", "a~b", long, longer, long[:60], long[:61]} {
		doc := docID(sprint, id)
		if other, dup := seen[doc]; dup {
			t.Errorf("%s and %s share %s", id, other, doc)
		}
		if seen[doc] = id; len(doc) > 100 || strings.Trim(doc,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:~-") != "" {
			t.Errorf("%s is not an id of a task", doc)
		}
	}
}
