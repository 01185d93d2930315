package browser_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/keys"
)

// jsonOf returns values as a JSON array, for a script.
func jsonOf(t testing.TB, values ...any) string {
	t.Helper()
	text, err := json.Marshal(values)
	hubtest.Must(t, err)
	return string(text)
}

// clickNamed clicks the first visible control within an element that has a text.
func (b *tab) clickNamed(within, text string) {
	b.t.Helper()
	const find = `[...document.querySelectorAll(sel + ' button, ' + sel + ' a')].find(e => e.checkVisibility() && e.textContent.trim() === text)`
	b.holds("(([sel, text]) => " + find + ")(" + jsonOf(b.t, within, text) + ") !== undefined")
	eval[bool](b, "(([sel, text]) => { "+find+".click(); return true; })("+jsonOf(b.t, within, text)+")")
}

func TestAPersonWritesToAnAgentAndHandsItATask(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, "/agents")
		b.sees(".card", "tester")
		b.clickNamed(".card:has(.live)", "Write") // the first by name: architect
		b.sees("dialog h2", "Write to architect")
		b.write("dialog textarea", "Stop at five, please")
		b.click("dialog .main")
		b.sees("#toast", "Sent to architect")
		var mail struct {
			Messages []struct{ Message, Source string }
		}
		hubtest.Must(t, u.Hub.REST(u.Human, "GET", "/v1/messages?target=architect&includeDelivered=true&limit=100", nil).Into(&mail))
		if last := mail.Messages[len(mail.Messages)-1]; last.Message != "Stop at five, please" || last.Source != "user" {
			t.Errorf("its last mail is %+v", last)
		}
		b.clickNamed(".card:has(.live)", "New task")
		b.sees("dialog h2", "A task for architect")
		b.write("dialog input", "Draw the five boxes")
		b.click("dialog .main")
		b.sees("#toast", "In the queue of architect")
		b.open(u.Hub.URL + "/work?state=created&for=architect")
		b.sees(".rows", "Draw the five boxes")
	})
}

func TestAPersonPausesOneProgramAndOnlyThatIsRefused(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	beta := u.Hub.Agent("u", "beta")
	works := func(key string) bool {
		return u.Hub.REST(key, "POST", "/v1/tasks", args{"title": "t", "target": "any"}).Status == http.StatusCreated
	}
	b := u.console(u.Hub.URL, "/agents")
	b.sees(".card h2", "alpha")
	b.click(".card .top button") // alpha is the first
	b.write("dialog input", "Wait for me")
	b.click("dialog .main")
	b.sees(".card .badge", "paused")
	if works(u.Agent) || !works(beta) {
		t.Errorf("alpha works: %v; beta works: %v; want beta alone", works(u.Agent), works(beta))
	}
	b.sees(".card .top button", "Resume")
	b.click(".card .top button")
	b.sees("#toast", "Goes on: alpha")
	if !works(u.Agent) {
		t.Error("alpha does not go on")
	}
}

func TestAPersonRevokesTheKeyOfAnAgent(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	stolen := u.Hub.Key("u", keys.CreateInput{Program: "zeta", Name: "stolen"})
	b := u.console(u.Hub.URL, "/agents")
	b.sees(".card h2", "zeta")
	b.click("[aria-label='Revoke a key of zeta']")
	b.sees("dialog h2", "Revoke the key “stolen”?")
	b.click("dialog .main")
	b.sees("#toast", "Revoked")
	b.holds("![...document.querySelectorAll('.card h2')].some(e => e.textContent.includes('zeta'))")
	if a := u.Hub.REST(stolen, "GET", "/v1/me", nil); a.Status != http.StatusUnauthorized {
		t.Errorf("the key still works: %s", a)
	}
}

func TestADeadLetterIsSentAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, "/mail")
		b.sees("#dead", "Who signs the artefacts now?")
		b.clickNamed("#dead", "Send again…")
		b.holds("document.querySelector('dialog textarea').value === 'Who signs the artefacts now?'")
		b.choose("dialog input", "alpha")
		b.click("dialog .main")
		b.sees("#toast", "Sent to alpha")
		var mail struct{ Messages []struct{ Message string } }
		hubtest.Must(t, u.Hub.REST(u.Agent, "GET", "/v1/messages", nil).Into(&mail))
		if len(mail.Messages) != 1 || mail.Messages[0].Message != "Who signs the artefacts now?" {
			t.Errorf("alpha has %+v", mail)
		}
	})
}

func TestAPersonAnswersInACouncil(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, u.named("/talk/council/$council"))
		b.sees("#shown .cards", "A digest is easier to test")
		b.press("n")
		b.write("dialog textarea", "A key, and nothing but a key")
		b.click("dialog .main")
		b.sees("#shown .cards", "nothing but a key")
		b.sees("#shown .lead", "4 of 5 have answered")
	})
}

func TestAPersonTakesTheSeatOfTheJudgeAndGivesTheVerdict(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, "/talk/fire/payments")
		b.clickNamed("#duel", "Take the seat of the judge")
		b.sees("#duel .meta", "judge: user")
		b.sees("#duel .faint", "once both have spoken")
		speak := func(program, what string, in args) {
			t.Helper()
			a := u.Hub.REST(u.Hub.Agent("u", program), "POST", "/v1/fires/payments/duel/"+what, in)
			hubtest.Must(t, a.Into(&struct{}{}))
		}
		speak("reviewer", "strike", args{"technical_evidence": "Tuesday's log"})
		b.sees("#duel .turn", "Tuesday's log")
		speak("architect", "hold", args{"defense_rationale": "It was one minute", "surrender": false})
		b.clickNamed("#duel", "Give the verdict")
		b.sees("dialog h2", "The verdict")
		b.write("dialog textarea", "A queue loses nothing")
		b.click("dialog .main")
		b.sees("#past", "reviewer")
		b.holds("!document.querySelector('#duel section')")
	})
}

func TestAPersonQueuesAStoryAgainAndSkipsOne(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, u.named("/sprints/$sprint"))
		b.sees("[data-story=page] .badge", "failed")
		b.clickNamed("[data-story=page]", "Queue again")
		b.sees("[data-story=page] .badge", "queued")
		b.clickNamed("[data-story=notes]", "Skip")
		b.sees("[data-story=notes] .badge", "skipped")
		b.sees("#head .lead", "1 skipped")
	})
}

func TestEveryTeamAndFireIsListed(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/teams", args{"team_name": "orchard"}).Into(&struct{}{}))
	b := u.console(u.Hub.URL, "/sprints")
	b.sees("#teams", "orchard")
	b.sees("#teams", "1 member")
	b.open(u.Hub.URL + "/talk")
	b.sees("#fires-none", "Agents debate a plan")
	hubtest.Must(t, u.Hub.REST(u.Agent, "PUT", "/v1/fires/grafting", nil).Into(&struct{}{}))
	b.sees("#fires", "grafting")
	b.click("#fires a")
	b.sees("#shown h1", "grafting")
}

func TestAPersonFinishesATaskThatWaitsForThem(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.hasTask(args{"target": "user"})
	b := u.console(u.Hub.URL, "/")
	b.sees("#asked h3", "Count the pears")
	b.clickNamed("#asked", "Done")
	b.sees("#nothing", "Nothing waits for you")
	if got := u.task(id); got.Status != "done" || !strings.HasPrefix(got.ClaimedBy, "human") {
		t.Errorf("the task is %+v", got)
	}
}

func TestAPersonPausesOneSessionOfSeveral(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	for _, id := range []string{"alpha/1", "alpha/2"} {
		hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/sessions", args{"name": "S of " + id, "sessionId": id}).Into(&struct{}{}))
	}
	b := u.console(u.Hub.URL, "/agents")
	b.click("[aria-label='Pause S of alpha/2']")
	b.sees("dialog h2", "Pause alpha/2?")
	b.click("dialog .main")
	b.sees("[aria-label='Resume S of alpha/2']", "Resume")
	var out struct {
		Pauses []struct{ Scope, Name string }
	}
	hubtest.Must(t, u.Hub.REST(u.Human, "GET", "/v1/pauses", nil).Into(&out))
	if len(out.Pauses) != 1 || out.Pauses[0].Scope != "agent" || out.Pauses[0].Name != "alpha/2" {
		t.Errorf("the pauses are %+v", out)
	}
	b.click("[aria-label='Resume S of alpha/2']")
	b.sees("[aria-label='Pause S of alpha/2']", "Pause")
}
