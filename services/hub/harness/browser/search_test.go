package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// onEachStore runs a test with a user whose store holds the scripted day, on both stores.
func onEachStore(t *testing.T, test func(*testing.T, *user)) {
	for name, open := range map[string]func(*testing.T, *store.Schema, ...store.Option) *store.DB{
		"sqlite": storetest.SQLite, "firestore": storetest.Firestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, aDay(t, open(t, app.Schema())))
		})
	}
}

func TestASearchFindsWhatWasWrittenAndOpensIt(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, u *user) {
		b := u.console(u.Hub.URL, "/usage")
		b.sees("#shown h1", "Usage")
		b.press("/")
		b.sees("#ways", "words that follow each other")
		b.holds("document.activeElement.name === 'q'")
		b.press("idempotent\r")
		b.sees(".hits", "Capture must be idempotent")
		b.sees(".hits mark", "idempotent")
		b.holds("location.search === '?q=idempotent'")
		b.do("choose a kind", chromedp.SetValue(chromedp.CSS("#in-kind"), "council"))
		eval[bool](b, "document.querySelector('#in-kind').dispatchEvent(new Event('change'))")
		b.holds("document.querySelectorAll('.hits .badge').length > 0 && " +
			"[...document.querySelectorAll('.hits .badge')].every(e => e.textContent === 'council')")
		b.click(".hits a")
		b.sees("#shown .cards", "A digest is easier to test")
		eval[bool](b, "history.back(), true")
		b.sees(".hits mark", "idempotent")
		b.holds("document.querySelector('[name=q]').value === 'idempotent' && location.search.includes('kind=council')")
		for q, opens := range map[string]struct{ sel, text string }{
			`"the index is enough"`:            {"#shown h1", "Review the migration"},
			"retries hide outage&kind=fire":    {"#shown h1", "Fire payments"},
			"currencies":                       {"#title", "Which currencies"},
			"exceed capture&kind=verification": {"#shown h1", "payments/refund.go"},
			"8841":                             {".turn.found", "Order 8841 was refunded twice"},
		} {
			b.open(u.Hub.URL + "/search?q=" + q)
			b.click(".hits a")
			b.sees(opens.sel, opens.text)
		}
	})
}

func TestASearchGoesOnPastItsFirstPage(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	for range 25 {
		hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/tasks", args{"title": "Prune the pear tree", "target": "any"}).
			Into(&struct{}{}))
	}
	b := u.console(u.Hub.URL, "/search?q=pear")
	b.sees("#found", "20 and more found")
	b.click("#further")
	b.sees("#found", "25 found")
	b.holds("document.querySelectorAll('.hits li').length === 25 && document.querySelector('#further').hidden")
}

func TestASearchSaysWhyItFindsNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.console(u.Hub.URL, "/search")
	b.sees("#ways", "What can be found")
	b.write("[name=q]", "plum\r")
	b.sees("#nothing", "Nothing that was written has all these words")
	b.sees("#found", "Nothing found")
	b.open(u.Hub.URL + "/search?q=plum&from=2026-11-09&to=2026-11-01")
	b.sees("#problem", "Must not be after to")
	b.open(u.Hub.URL + "/search?q=a*")
	b.sees("#problem", "Has a star after fewer than 2 characters")
}
