package browser_test

import (
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

// answered checks the answer that a waiting agent received.
func answered(t *testing.T, got <-chan string, want string) {
	t.Helper()
	if s := <-got; s != "answered: "+want {
		t.Errorf("the agent got %q, want the answer %q", s, want)
	}
}

func TestALinkShowsAQuestionAndBringsTheAnswerToTheAgentThatWaits(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Deploy\nnow?", "options": []string{"Yes", "No, wait"}, "context": "line 1\n  line 2",
		"priority": "high"})
	got := u.waiting(id)
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#state", "Waiting for your answer")
	for sel, want := range map[string]string{"#kind": "Question", "#title": "Deploy\nnow?", "#source": "alpha",
		"#verified": "(verified)", "#parts dd": "line 1\n  line 2"} {
		if got := b.text(sel); got != want {
			t.Errorf("%s: got %q, want %q", sel, got, want)
		}
	}
	b.sees("#about", "high priority")
	b.sees("#left", "Expires in 2") // 23 h and some, or 24 h
	if seen := eval[string](b, "document.querySelector('#title').innerText"); seen != "Deploy\nnow?" {
		t.Errorf("the lines are seen as %q", seen)
	}
	if at := eval[string](b, "location.href"); at != u.Hub.URL+"/q/"+id {
		t.Errorf("the address keeps the code: %s", at)
	}
	if off := eval[bool](b, "document.querySelector('#send').disabled"); !off {
		t.Error("nothing is chosen, and yet it can be sent")
	}
	b.click("#choices label:nth-child(2)")
	b.sees("#send", "Send: No, wait")
	if s := u.answer(id); s.Status != "pending" {
		t.Errorf("choosing an option sent the answer: %+v", s)
	}
	b.click("#send")
	b.sees("#state", "This question is answered")
	b.sees("#standing", "No, wait")
	answered(t, got, "No, wait")
	if focus := eval[string](b, "document.activeElement.id"); focus != "state" {
		t.Errorf("the focus is on %q", focus)
	}
	b.reload()
	b.sees("#state", "This question is answered")
	b.sees("#standing", "No, wait")
}

func TestAnAnswerCanBeInOnesOwnWords(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Which?", "options": []string{"A", "B"}})
	got := u.waiting(id)
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#answer label", "Or answer in your own words")
	b.write("#text", "Neither: use C")
	b.click("#choices label:nth-child(1)")
	b.sees("#send", "Send: A")
	b.write("#text", "++") // writing again deselects the option
	b.holds("document.querySelector('#send').textContent === 'Send'")
	b.click("#send")
	b.sees("#standing", "Neither: use C++")
	answered(t, got, "Neither: use C++")
}

func TestAQuestionWithoutOptionsTakesWords(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Why?"})
	got := u.waiting(id)
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#answer label", "Your answer")
	b.write("#text", "  ")
	if off := eval[bool](b, "document.querySelector('#send').disabled"); !off {
		t.Error("blank words can be sent")
	}
	b.write("#text", "because")
	b.click("#send")
	b.sees("#state", "This question is answered")
	answered(t, got, "  because")
}

func TestAnOpenQuestionShowsThatItWasAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Go?", "options": []string{"Yes", "No"}})
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#state", "Waiting for your answer")
	b.write("#text", "I was about to")
	u.elsewhere(id, "No")
	b.sees("#state", "This question was answered elsewhere")
	b.sees("#standing", "No")
	b.sees("#text-label", "What you wrote, which was not sent")
	if free := eval[bool](b,
		"document.querySelector('#send').checkVisibility() || !document.querySelector('#text').readOnly"); free {
		t.Error("an answered question can be answered")
	}
}

func TestALateAnswerShowsTheFirstOne(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "Go?", "options": []string{"Yes", "No"}})
	p := newProxy(t, u.Hub, nil)
	p.holdWaits(t) // the page learns of the other answer only after it has sent its own
	b := u.signedIn(p.URL, id)
	b.click("#choices label:nth-child(1)")
	u.elsewhere(id, "No")
	b.click("#send")
	b.sees("#state", "This question was answered elsewhere")
	b.sees("#standing", "No")
	if s := u.answer(id); s.Response != "No" {
		t.Errorf("the first answer was replaced: %+v", s)
	}
}

func TestAQuestionExpiresOnThePageWithoutTheServer(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	p := newProxy(t, u.Hub, nil)
	release := p.holdWaits(t)
	id := u.Ask(args{"question": "Quick?", "options": []string{"Yes"}, "ttl": 2})
	b := u.signedIn(p.URL, id)
	b.sees("#state", "This question expired without an answer")
	if free := eval[bool](b, "document.querySelector('#answer').checkVisibility()"); free {
		t.Error("an expired question can be answered")
	}
	release()
	p.awaitEnd(t, "/v1/questions/"+id+"/response")
	b.sees("#state", "This question expired without an answer")
	b.reload()
	b.sees("#state", "This question expired without an answer")
}

func TestAlertsAndTasksAreShownWithoutAnAnswerForm(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	var made struct{ AlertID, TaskID string }
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/alerts",
		args{"message": "The disk is full", "alertType": "warning", "context": "on /var"}).Into(&made))
	b := newTab(t)
	b.open(u.Hub.URL + "/q/" + made.AlertID + "#link=" + u.ConsoleCode())
	for sel, want := range map[string]string{"#kind": "Alert", "#title": "The disk is full", "#about": "warning",
		"#source": "alpha", "#parts": "on /var", "#state": "Status: created"} {
		b.sees(sel, want)
	}
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/tasks",
		args{"title": "Review", "target": "user", "instructions": "Look at it"}).Into(&made))
	b.open(u.Hub.URL + "/q/" + made.TaskID)
	for sel, want := range map[string]string{"#kind": "Task", "#title": "Review", "#parts": "Look at it",
		"#state": "Status: created"} {
		b.sees(sel, want)
	}
	if asks := eval[bool](b, "document.querySelector('#answer').checkVisibility()"); asks {
		t.Error("a task takes an answer")
	}
}

func TestALinkForQuestionsShowsNoOtherTask(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	var made struct{ AlertID string }
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/alerts", args{"message": "The disk is full"}).Into(&made))
	question := u.Ask(args{"question": "Clean up?"})
	b := u.signedIn(u.Hub.URL, made.AlertID)
	b.sees("#fault", "questions only")
	if text := eval[string](b, "document.body.textContent"); strings.Contains(text, "The disk is full") {
		t.Errorf("the page shows the alert: %s", text)
	}
	b.open(u.Hub.URL + "/q/" + question)
	b.sees("#state", "Waiting for your answer")
	b.open(u.Hub.URL + "/q")
	b.sees("#questions", "Clean up?")
}

func TestTheListLinksToEachPendingQuestion(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	first := u.Ask(args{"question": "First?"})
	second := u.Ask(args{"question": "Second?", "priority": "high"})
	u.elsewhere(u.Ask(args{"question": "Third?"}), "done")
	b := u.signedIn(u.Hub.URL, "")
	b.sees("#questions", "First?")
	links := eval[[]string](b, "[...document.querySelectorAll('#questions a')].map(a => a.getAttribute('href'))")
	if len(links) != 2 || links[0] != "/q/"+second || links[1] != "/q/"+first {
		t.Errorf("the list leads to %q, want %s and %s", links, second, first)
	}
	b.click("#questions li:nth-child(2) a")
	b.sees("#title", "First?")
	u.elsewhere(first, "x")
	u.elsewhere(second, "x")
	b.sees("#state", "This question was answered elsewhere")
	b.click("header a")
	b.sees("#none", "No question waits for you")
}

func TestAnUnknownOrInvalidIDIsReported(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.signedIn(u.Hub.URL, "0199-none")
	b.sees("#fault", "There is nothing here by this name")
	b.open(u.Hub.URL + "/q/a%20b")
	b.sees("#fault", "must match")
	b.open(u.Hub.URL + "/q/%ff")
	b.sees("#fault", "must be valid UTF-8")
}
