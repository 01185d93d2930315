package browser_test

import (
	"fmt"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

// choose sets the value of a field, as a person who picks or types it anew.
func (b *tab) choose(sel, value string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(e => { e.value = %q; return e.dispatchEvent(new Event('change', {bubbles: true})); })(
		document.querySelector(%q))`, value, sel))
}

// filter replaces the words of the filter.
func (b *tab) filter(words string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(e => { e.value = %q; return e.dispatchEvent(new Event('input')); })(
		document.querySelector('.filters input'))`, words))
}

// hasTask creates a task of the agent and returns its id.
func (u *user) hasTask(more args) string {
	u.t.Helper()
	in := args{"title": "Count the pears", "target": "alpha"}
	for name, v := range more {
		in[name] = v
	}
	var made struct{ TaskID string }
	hubtest.Must(u.t, u.Hub.REST(u.Agent, "POST", "/v1/tasks", in).Into(&made))
	return made.TaskID
}

// claims claims a task for the agent.
func (u *user) claims(id string) {
	u.t.Helper()
	hubtest.Must(u.t, u.Hub.REST(u.Agent, "POST", "/v1/tasks/"+id+"/claim", args{}).Into(&struct{}{}))
}

type taskState struct{ Status, Target, Priority, ClaimedBy string }

func (u *user) task(id string) (out taskState) {
	u.t.Helper()
	hubtest.Must(u.t, u.Hub.REST(u.Human, "GET", "/v1/tasks/"+id, nil).Into(&out))
	return out
}

func TestAPersonMovesATaskToAnotherQueueAndPriority(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.hasTask(nil)
	b := u.console(u.Hub.URL, "/work/"+id)
	b.sees("h1", "Count the pears")
	b.press("a") // the first action is focused
	b.press("\r")
	b.sees("dialog h2", "Change this task")
	b.holds("document.querySelector('dialog input').value === 'alpha'")
	b.holds("[...document.querySelectorAll('dialog datalist option')].some(o => o.value === 'user')")
	b.choose("dialog input", "beta")
	b.choose("dialog select", "high")
	b.click("dialog .main")
	b.sees("#toast", "Waits for beta, with high priority")
	b.sees("#shown .meta", "high priority")
	b.sees("#shown dd", "beta")
	if got, want := u.task(id), (taskState{Status: "created", Target: "beta", Priority: "high"}); got != want {
		t.Errorf("the task is %+v, want %+v", got, want)
	}
}

func TestAClaimedTaskIsNotMovedButTakenBack(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.hasTask(nil)
	u.claims(id)
	b := u.console(u.Hub.URL, "/work/"+id)
	b.sees("#shown .badge", "active")
	b.holds("![...document.querySelectorAll('#shown button')].some(e => e.textContent.includes('Change'))")
	b.click("#shown .choices button:nth-of-type(1)")
	b.sees("dialog h2", "Take it back from alpha?")
	b.click("dialog .main")
	b.sees("#shown .badge", "queued")
	if got := u.task(id); got.Status != "created" || got.ClaimedBy != "" {
		t.Errorf("the task is %+v", got)
	}
}

func TestTheWorkIsFilteredByStateQueueAndWords(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	u.hasTask(args{"title": "Pick the plums"})
	u.hasTask(args{"title": "Pick the pears", "target": "beta"})
	id := u.hasTask(args{"title": "Press the apples"})
	u.claims(id)
	b := u.console(u.Hub.URL, "/work")
	titles := func(want string) {
		t.Helper()
		b.holds(fmt.Sprintf(`[...document.querySelectorAll('.rows .what')].filter(e => e.checkVisibility()).
			map(e => e.textContent.trim()).sort().join() === %q`, want))
	}
	titles("Pick the pears,Pick the plums,Press the apples")
	b.press("f")
	b.holds("document.activeElement.matches('.filters input')")
	b.filter("pick")
	titles("Pick the pears,Pick the plums")
	b.filter("")
	b.click(".tabs button[value=active]")
	titles("Press the apples")
	b.holds("location.search === '?state=active'")
	b.click(".tabs button[value=created]")
	b.choose("[list=queues]", "beta")
	titles("Pick the pears")
	b.reload()
	titles("Pick the pears")
}
