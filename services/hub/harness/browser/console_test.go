package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley.internal/services/hub/harness/demo"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domain"
	"parley.internal/shared/store"
)

// console returns a tab of a new browser context with the rights of a person, at an address of the page. The server's
// URL is base.
func (u *user) console(base, path string) *tab {
	u.t.Helper()
	b := newTab(u.t)
	b.open(base + path + "#link=" + u.ConsoleCode())
	return b
}

// press presses keys, one after the other. As with a keyboard, a press that the page takes for itself writes nothing: the
// press and its character are one event, where [chromedp.KeyEvent] sends two, and the focus may move between them.
func (b *tab) press(keys string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for _, key := range keys {
		events := kb.Encode(key)
		if len(events) == 3 {
			events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			events = slices.Delete(events, 1, 2)
		}
		for _, e := range events {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *e); err != nil {
				b.t.Fatalf("press %q: %v", key, err)
			}
		}
	}
}

// aDay returns a user whose store holds the scripted day.
func aDay(t *testing.T, db *store.DB) *user {
	t.Helper()
	u, _ := played(t, db)
	return u
}

// played is aDay, with the keys of the day's agents.
func played(t *testing.T, db *store.DB) (*user, map[string]string) {
	t.Helper()
	keys, err := demo.Play(t.Context(), db, "u", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	u := &user{hubtest.NewUserOn(t, db, hubtest.Options{Direct: ways(t)}), t}
	sweeps := u.Hub.App.Sweeps()
	relay := sweeps[slices.IndexFunc(sweeps, func(s app.Sweep) bool { return s.Name == domain.Relay })]
	if _, err := relay.Run(t.Context(), store.NewAdmin(db)); err != nil { // mail that nobody has read in time is dead
		t.Fatal(err)
	}
	return u, keys
}

func TestAnOptionInTheInboxIsAnAnswerThatCanBeTakenBack(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Ship it?", "options": []string{"Yes", "No"}})
	b := u.console(u.Hub.URL, "/")
	b.sees("#asked h3", "Ship it?")
	b.click("#asked .option:nth-child(1)")
	b.sees("#asked .sending", "Yes")
	b.click("#asked .undo")
	b.sees("#asked .option", "No")
	if s := u.answer(id); s.Status != "pending" {
		t.Errorf("an answer that was taken back is given: %+v", s)
	}
	got := u.waiting(id)
	b.click("#asked .option:nth-child(2)")
	answered(t, got, "No")
	b.sees("#nothing", "Nothing waits for you")
}

func TestAnAnswerThatWaitsIsSentWhenThePersonLeavesTheInbox(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	got := u.waiting(u.Ask(args{"question": "Ship it?", "options": []string{"Yes", "No"}}))
	b := u.console(u.Hub.URL, "/")
	b.click("#asked .option:nth-child(1)")
	b.click(`#nav a[href="/work"]`)
	b.sees("h1", "Work")
	answered(t, got, "Yes")
}

func TestTwoWindowsShowTheSameAndTheSecondLearnsOfAnAnswer(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Ship it?", "options": []string{"Yes"}})
	inbox := u.console(u.Hub.URL, "/")
	inbox.sees("#asked h3", "Ship it?")
	inbox.sees(`#nav a[href="/"] .count`, "1")
	other := inbox.sibling()
	other.open(u.Hub.URL + "/q/" + id)
	other.click(".choice")
	other.click("#send")
	other.sees("#state", "This question is answered")
	other.sees("#next", "to the inbox")
	inbox.sees("#nothing", "Nothing waits for you")
	inbox.holds(`document.querySelector('#nav a[href="/"] .count').textContent === ''`)
	u.Ask(args{"question": "And now?"})
	inbox.sees("#asked h3", "And now?")
	inbox.holds(`document.title.startsWith('(1) ')`)
}

func TestTheInboxAcknowledgesAlertsAndQueuesFailedWorkAgain(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	var made struct{ AlertID, TaskID string }
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/alerts", args{"message": "The disk is full"}).Into(&made))
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/tasks", args{"title": "Build it", "target": "alpha"}).Into(&made))
	var claim struct{ ClaimToken int }
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/tasks/"+made.TaskID+"/claim", args{}).Into(&claim))
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/tasks/"+made.TaskID+"/complete",
		args{"claimToken": claim.ClaimToken, "outcome": "failed", "result": "no space"}).Into(&struct{}{}))
	b := u.console(u.Hub.URL, "/")
	b.sees("#alerts h3", "The disk is full")
	b.click("#alerts button")
	b.holds("document.querySelector('#alerts').hidden")
	b.sees("#trouble", "no space")
	b.click("#trouble button")
	b.sees("#nothing", "Nothing waits for you")
	var task struct{ Status string }
	hubtest.Must(t, u.Hub.REST(u.Agent, "GET", "/v1/tasks/"+made.TaskID, nil).Into(&task))
	if task.Status != "created" {
		t.Errorf("the failed task is %s", task.Status)
	}
}

func TestAllAgentsArePausedFromEveryViewAndGoOn(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.console(u.Hub.URL, "/usage")
	b.sees("#halt", "Pause all")
	b.click("#halt")
	b.write("dialog input", "Lunch")
	b.click("dialog .main")
	b.sees("#halted", "Lunch")
	b.sees("#halt", "Resume all")
	if a := u.Hub.REST(u.Agent, "POST", "/v1/tasks", args{"title": "t", "target": "any"}); a.Status == http.StatusCreated {
		t.Errorf("a paused agent works: %s", a)
	}
	b.click("#halt")
	b.sees("#halt", "Pause all")
	if a := u.Hub.REST(u.Agent, "POST", "/v1/tasks", args{"title": "t", "target": "any"}); a.Status != http.StatusCreated {
		t.Errorf("the agent does not go on: %s", a)
	}
}

func TestAPersonHandsWorkToAnAgentAndCancelsIt(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.console(u.Hub.URL, "/work")
	b.sees("#nothing", "No task is in this state")
	b.press("n")
	b.write("dialog input", "Count the files")
	b.click("dialog .main")
	b.sees(".rows", "Count the files")
	b.click(".rows a")
	b.sees("h1", "Count the files")
	b.click(".danger")
	b.click("dialog .main")
	b.sees("#shown .badge", "cancelled")
	eval[bool](b, "history.back(), true")
	b.sees("#nothing", "No task is in this state")
}

func TestTheConsoleSaysWhenItIsOfflineAndMissesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	p := newProxy(t, u.Hub, nil)
	b := u.console(p.URL, "/")
	b.sees("#nothing", "Nothing waits for you")
	p.setRule(dropConnection)
	eval[bool](b, "dispatchEvent(new Event('offline'))")
	b.sees("#note", "There is no connection to the server. Trying again…")
	u.Ask(args{"question": "Anyone there?"})
	p.setRule(nil)
	eval[bool](b, "dispatchEvent(new Event('online'))")
	b.sees("#asked h3", "Anyone there?")
	b.holds("document.querySelector('#note').textContent === ''")
}

func TestTheConsoleSendsNothingWhileItIsHidden(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	p := newProxy(t, u.Hub, nil)
	b := u.console(p.URL, "/")
	b.sees(`#nav a[aria-current]`, "Inbox")
	b.sees("#nothing", "Nothing waits for you")
	eval[bool](b,
		"(own => { window.calls = 0; window.fetch = (...a) => { calls++; return own(...a); }; return true; })(fetch)")
	hide := func(hidden string) {
		eval[bool](b, "Object.defineProperty(document, 'hidden', {value: "+hidden+", configurable: true}), "+
			"document.dispatchEvent(new Event('visibilitychange'))")
	}
	hide("true")
	p.awaitEnd(t, "/v1/feed")
	before := eval[int](b, "calls")
	u.Ask(args{"question": "Anyone there?"})
	if calls := eval[int](b, "new Promise(done => setTimeout(done, 300)).then(() => calls)"); calls != before {
		t.Errorf("the hidden console made %d calls", calls-before)
	}
	hide("false")
	b.sees("#asked h3", "Anyone there?")
}

func TestEverythingIsReachedByKeys(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	for _, title := range []string{"First", "Second"} {
		hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/tasks", args{"title": title, "target": "any"}).Into(&struct{}{}))
	}
	id := u.Ask(args{"question": "Ship it?", "options": []string{"Yes", "No"}})
	b := u.console(u.Hub.URL, "/")
	b.sees("#asked h3", "Ship it?")
	for key, title := range map[string]string{"g": "Agents", "w": "Work", "f": "Files", "m": "Mail", "t": "Talk", "s": "Sprints", "u": "Usage",
		"e": "Settings"} {
		b.press("g")
		b.press(key)
		b.sees("#shown h1", title)
	}
	b.press("?")
	b.sees("dialog h2", "Keyboard")
	b.press("\x1b")
	b.holds("!document.querySelector('dialog')")
	b.press("g")
	b.press("w")
	b.sees(".rows", "Second")
	b.press("j")
	b.press("j")
	b.press("\r")
	b.sees("#shown h1", "Second")
	b.press("g")
	b.press("i")
	b.sees("#asked h3", "Ship it?")
	got := u.waiting(id)
	b.press("j")
	b.press("a")
	answered(t, got, "Yes")
}

func TestMarkdownOfAgentsMakesNoElementThatActs(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	all := strings.Join(hostile, "\n\n") +
		"\n\n**bold** `code` [docs](https://example.org/a) [x](javascript:alert(9)) ![i](https://example.org/i.png)"
	id := u.Ask(args{"question": "q", "context": all})
	b := u.console(u.Hub.URL, "/q/"+id)
	b.sees("#parts strong", "bold")
	b.sees("#parts code", "code")
	if n := eval[int](b, countInjected); n != 0 {
		t.Errorf("the text made %d elements", n)
	}
	if links := eval[int](b, "document.querySelectorAll('#parts a, #parts img').length"); links != 0 {
		t.Errorf("the text made %d links and images", links)
	}
	eval[bool](b, "window.open = url => { window.opened = url; }, true")
	b.click("#parts .link")
	b.sees("dialog h2", "Open example.org?")
	if opened := eval[bool](b, "'opened' in window"); opened {
		t.Error("a link opened without a confirmation")
	}
	b.click("dialog .main")
	b.holds("window.opened === 'https://example.org/a'")
}

func TestALinkForQuestionsOpensTheListInPlaceOfTheConsole(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	u.Ask(args{"question": "Ship it?"})
	b := newTab(t)
	b.open(u.Hub.URL + "/#link=" + u.LinkCode())
	b.sees("#questions", "Ship it?")
	for _, sel := range []string{"#nav", "#halt", "#to-settings"} {
		if eval[bool](b, fmt.Sprintf("document.querySelector(%q).checkVisibility()", sel)) {
			t.Errorf("%s is seen", sel)
		}
	}
}
