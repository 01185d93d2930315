package browser_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/demo"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

const orchard = "github.com/acme/orchard"

// reserves reserves files of the orchard with a key, and returns the ids of the reservations.
func (u *user) reserves(key string, more args, paths ...string) (ids []string) {
	u.t.Helper()
	in := args{"project": orchard, "paths": paths}
	for name, v := range more {
		in[name] = v
	}
	var out struct {
		Reservations []struct{ ReservationID string }
	}
	hubtest.Must(u.t, u.Hub.REST(key, "POST", "/v1/files/reservations", in).Into(&out))
	for _, r := range out.Reservations {
		ids = append(ids, r.ReservationID)
	}
	return ids
}

// inLine keeps agents of the scripted day in line for files until the test ends.
func (u *user) inLine(keys map[string]string) {
	ctx, leave := context.WithCancel(u.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		demo.Wait(ctx, u.Hub.URL, keys)
	}()
	u.t.Cleanup(func() { leave(); <-done })
}

// reserved waits until the view shows these patterns, in their order.
func (b *tab) reserved(patterns ...string) {
	b.t.Helper()
	b.holds(fmt.Sprintf(`document.querySelector('#projects') !== null && [...document.querySelectorAll('.checkouts .what code')].
		map(e => e.textContent).join() === %q`, strings.Join(patterns, ",")))
}

func TestReservationsAreShownByCheckoutAndFollowEachChange(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	beta := u.Hub.Agent("u", "beta")
	task := u.hasTask(nil)
	b := u.console(u.Hub.URL, "/files")
	b.sees("#nothing", "No file is reserved")
	b.sees("#nothing code", "parley guard install")
	b.sees("#nothing", "parley files reserve")
	u.reserves(u.Agent, args{"worktree": "main", "branch": "trunk", "reason": "A new grammar"}, "src/parse/")
	b.reserved("src/parse/")
	b.sees(".card h3", "Worktree main on the branch trunk")
	b.sees(".holds .why", "A new grammar")
	u.reserves(beta, args{"worktree": "fix", "branch": "mend", "mode": "shared", "taskId": task}, "docs/*.md")
	b.reserved("src/parse/", "docs/*.md")
	b.sees(".holds .badge", "shared")
	b.sees(".holds .facts", "fence 2")
	if n := eval[int](b, "document.querySelectorAll('.checkouts > .card').length"); n != 2 {
		t.Errorf("there are %d checkouts", n)
	}
	if at := eval[string](b, "[...document.querySelectorAll('.holds a')].map(a => a.getAttribute('href')).join()"); at !=
		"/agents?of=alpha,/agents?of=beta,/work/"+task {
		t.Errorf("the links lead to %s", at)
	}
	if exact := eval[bool](b, "[...document.querySelectorAll('.holds time')].every(e => e.title && e.dateTime)"); !exact {
		t.Error("a time has no exact one")
	}
	b.filter("grammar")
	b.reserved("src/parse/")
	b.filter("plums")
	b.sees("#none", "No reservation fits")
	b.filter("")
	hubtest.Must(t, u.Hub.REST(u.Human, "PATCH", "/v1/tasks/"+task, args{"status": "derezzed"}).Into(&struct{}{}))
	b.reserved("src/parse/") // the other ended with its task
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/files/release", args{"project": orchard}).Into(&struct{}{}))
	b.sees("#nothing", "No file is reserved")
}

func TestWhoWaitsForFilesIsShownInTheOrderOfTheTurns(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	beta, gamma := u.Hub.Agent("u", "beta"), u.Hub.Agent("u", "gamma")
	u.reserves(u.Agent, nil, "src/")
	b := u.console(u.Hub.URL, "/files")
	b.reserved("src/")
	got := make(chan int, 2)
	waits := func(key, path string) {
		go func() {
			a, err := u.Hub.Try(t.Context(), "POST", "/v1/files/reservations", args{"project": orchard, "paths": []string{path},
				"waitMs": 55_000}, "Authorization", "Bearer "+key)
			if err != nil {
				t.Error(err)
			}
			got <- a.Status
		}()
	}
	waits(beta, "src/a.go")
	b.sees(".turns li:nth-child(1)", "beta")
	waits(gamma, "src/**")
	b.sees(".turns li:nth-child(2)", "gamma")
	b.sees(".turns .facts", "asked")
	b.clickNamed(".checkouts", "Break…")
	b.sees("dialog h2", "Break this reservation?")
	b.click("dialog .main")
	b.reserved("src/a.go")
	b.sees(".turns li:nth-child(1)", "gamma")
	hubtest.Must(t, u.Hub.REST(beta, "POST", "/v1/files/release", args{"project": orchard}).Into(&struct{}{}))
	b.reserved("src/**")
	b.holds("!document.querySelector('.turns').checkVisibility()")
	for range 2 {
		if status := <-got; status != 201 {
			t.Errorf("a call that waited is answered %d", status)
		}
	}
}

func TestAPersonBreaksAReservationAndItsHolderLearnsWhy(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, "/files")
		b.sees("#projects code", "payments/capture/**")
		b.filter("capture/")
		b.press("j")
		b.holds("document.activeElement.closest('li')?.textContent.includes('payments/capture/**')")
		b.press("a")
		b.sees("dialog .said", "backend holds payments/capture/**.")
		b.sees("dialog .said", "From now on others may reserve and edit these files")
		b.sees("dialog .said", "backend gets a message with your reason")
		b.click("dialog [type=button]")
		b.sees("#projects code", "payments/capture/**")
		b.clickNamed("#projects", "Break…")
		b.write("dialog input", "The release goes first")
		b.click("dialog .main")
		b.sees("#toast", "Broken, and backend is told")
		b.filter("")
		b.sees("#past li:first-child .why", "The reservation of backend was broken by you.")
		b.sees("#past li:first-child", "The release goes first")
		b.holds("![...document.querySelectorAll('#projects code')].some(e => e.textContent === 'payments/capture/**')")
		var mail struct {
			Messages []struct{ Message, Source string }
		}
		hubtest.Must(t, u.Hub.REST(u.Human, "GET", "/v1/messages?target=backend&includeDelivered=true&limit=100", nil).Into(&mail))
		if !slices.ContainsFunc(mail.Messages, func(m struct{ Message, Source string }) bool {
			return strings.Contains(m.Message, "payments/capture/**") && strings.Contains(m.Message, "The release goes first")
		}) {
			t.Errorf("backend has %+v", mail.Messages)
		}
	})
}

func TestWhoMayNotBreakAReservationIsRefusedWithWords(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	u.reserves(u.Agent, nil, "src/")
	reader := u.Hub.Key("u", keys.CreateInput{Kind: identity.Human, Scopes: []string{identity.ScopeRead}})
	b := newTab(t)
	b.open(u.Hub.URL + "/")
	b.sees("#sign-in", "Sign in")
	eval[bool](b, "localStorage['parley.signIn'] = "+jsonOf(t, args{"key": reader, "until": "2999-01-01T00:00:00Z"})+
		".map(v => JSON.stringify(v))[0], true")
	b.open(u.Hub.URL + "/files")
	b.reserved("src/")
	b.clickNamed(".checkouts", "Break…")
	b.click("dialog .main")
	b.sees("dialog .bad", "changes data, and this key or endpoint is read-only")
	b.click("dialog [type=button]")
	b.reserved("src/")
	var out struct{ Reservations []any }
	hubtest.Must(t, u.Hub.REST(u.Human, "GET", "/v1/files/reservations", nil).Into(&out))
	if len(out.Reservations) != 1 {
		t.Errorf("there are %d reservations", len(out.Reservations))
	}
	answers := newTab(t)
	answers.open(u.Hub.URL + "/files#link=" + u.LinkCode())
	answers.sees("#view h1", "Questions") // a link for questions leads to them alone
}

func TestAPersonWritesToTheHolderOfFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/sessions", args{"name": "s", "sessionId": "alpha/1"}).Into(&struct{}{}))
	u.reserves(u.Agent, args{"sessionId": "alpha/1"}, "src/")
	anyone := u.Hub.Key("u", keys.CreateInput{})
	u.reserves(anyone, nil, "docs/")
	b := u.console(u.Hub.URL, "/files")
	b.reserved("src/", "docs/")
	b.sees(".holds a", "alpha/1")
	if n := eval[int](b, "[...document.querySelectorAll('.holds button')].filter(e => e.textContent === 'Write').length"); n != 1 {
		t.Errorf("%d holders can be written to", n)
	}
	b.clickNamed(".holds", "Write")
	b.sees("dialog h2", "Write to alpha/1")
	b.write("dialog textarea", "How long do you need?")
	b.click("dialog .main")
	b.sees("#toast", "Sent to alpha/1")
	hubtest.Must(t, u.Hub.REST(u.Agent, "PATCH", "/v1/sessions", args{"sessionId": "alpha/1", "state": "complete"}).Into(&struct{}{}))
	b.reserved("docs/") // the other ended with its session
}

func TestTheAgentsAndTheirFilesLeadToEachOther(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	u.reserves(u.Agent, nil, "src/", "web/")
	u.reserves(u.Hub.Agent("u", "beta"), nil, "docs/")
	b := u.console(u.Hub.URL, "/agents")
	b.clickNamed("[data-program=alpha]", "2 reservations")
	b.sees("#shown h1", "Files")
	b.reserved("src/", "web/")
	b.holds("location.search === '?by=alpha'")
	b.choose("[list=holders]", "")
	b.reserved("src/", "web/", "docs/")
	b.clickNamed(".checkouts li:nth-child(3)", "beta")
	b.sees("#shown h1", "Agents")
	b.holds("document.activeElement.closest('[data-program]')?.dataset.program === 'beta'")
}

func TestTextsOfReservationsAreShownAsPlainText(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	long := strings.Repeat("w", 250) + "/**"
	held := u.reserves(u.Agent, args{"reason": hostile[1], "worktree": hostile[0], "branch": hostile[4]}, hostile[0], long)
	b := u.console(u.Hub.URL, "/files")
	b.do("a phone", chromedp.EmulateViewport(390, 844))
	b.reserved(hostile[0], long)
	b.sees(".holds .why", hostile[1])
	b.sees(".card h3", hostile[0])
	b.sees(".card h3", hostile[4])
	if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("it is %d wide", wide)
	}
	b.clickNamed(".checkouts", "Break…")
	b.sees("dialog .said", hostile[0])
	b.write("dialog input", hostile[2])
	b.click("dialog .main")
	b.sees("#past", hostile[2])
	if n := eval[int](b, countInjected); n != 0 {
		t.Errorf("the texts made %d elements", n)
	}
	if len(held) != 2 {
		t.Errorf("reserved are %q", held)
	}
}

func TestFiveHundredReservationsFillNoMoreThanAWindow(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	for n := range 5 {
		paths := make([]string, 100)
		for i := range paths {
			paths[i] = fmt.Sprintf("services/orchard/internal/part%d/file%03d_test.go", n, i)
		}
		u.reserves(u.Agent, args{"worktree": "main", "branch": "trunk", "reason": "Moves the package to its new place"}, paths...)
	}
	b := u.console(u.Hub.URL, "/usage")
	b.sees("#shown h1", "Usage")
	total := b.received(t)
	b.open(u.Hub.URL + "/files")
	b.holds("document.querySelectorAll('.checkouts li').length === 50 && document.querySelector('#further').checkVisibility()")
	b.mu.Lock()
	size := *total
	b.mu.Unlock()
	if size == 0 || size > 100_000 {
		t.Errorf("the view receives %d bytes, want at most 100,000", size)
	}
	if nodes := eval[int](b, "document.querySelectorAll('*').length"); nodes > 1500 {
		t.Errorf("it has %d elements, want at most 1,500", nodes)
	}
	for _, shown := range []int{100, 150} {
		b.click("#further")
		b.holds(fmt.Sprintf("document.querySelectorAll('.checkouts li').length === %d", shown))
	}
}
