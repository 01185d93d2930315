package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/page"
)

// fits checks the page on a phone that is 320 pixels wide: it does not scroll sideways, and every control is at least
// 44 pixels wide and high.
func (b *tab) fits(when string) {
	b.t.Helper()
	width := eval[[]int](b, "[document.documentElement.scrollWidth, innerWidth]")
	if width[0] > 320 || width[1] != 320 {
		b.t.Errorf("%s: the page is %d wide in a window of %d, want 320", when, width[0], width[1])
	}
	small := eval[[]string](b, `[...document.querySelectorAll(
		'button, a, textarea, .choice, input:not([type=radio])'
	)].filter(e => {
		const r = e.getBoundingClientRect();
		return e.checkVisibility() && (r.height < 44 || r.width < 44);
	}).map(e => e.outerHTML)`)
	if len(small) > 0 {
		b.t.Errorf("%s: too small for a thumb: %q", when, small)
	}
}

func TestThePageFitsANarrowPhone(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{Firebase: page.Firebase{APIKey: "k"}})
	long, word := strings.Repeat("w", 2000), strings.Repeat("m", 100)
	id := u.Ask(args{"question": long, "context": long, "options": []string{word, word, word, word, word}})
	b := newTab(t)
	b.do("a phone", chromedp.EmulateViewport(320, 568))
	b.open(u.Hub.URL + "/q/" + id)
	b.sees("#sign-in", "E-mail")
	b.fits("at the sign-in")
	b.open(u.Hub.URL + "/q/" + id + "#link=" + u.LinkCode())
	b.sees("#state", "Waiting for your answer")
	b.fits("before the answer")
	b.click(".choice:nth-child(3)")
	b.sees("#send", word)
	b.fits("with a choice")
	b.click("#send")
	b.sees("#state", "This question is answered")
	b.fits("after the answer")
	u.Ask(args{"question": long})
	b.open(u.Hub.URL + "/q")
	b.sees("#questions", "www")
	b.fits("at the list")
	var made struct{ AlertID string }
	hubtest.Must(t, u.Hub.REST(u.Agent, "POST", "/v1/alerts", args{"message": long}).Into(&made))
	b.open(u.Hub.URL + "/q/" + made.AlertID + "#link=" + u.ConsoleCode())
	b.sees("#kind", "Alert")
	b.fits("at an alert")
}

func TestEveryFieldHasALabelAndChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.signedIn(u.Hub.URL, u.Ask(args{"question": "q", "options": []string{"Yes"}}))
	b.sees("#state", "Waiting for your answer")
	unlabelled := eval[[]string](b,
		"[...document.querySelectorAll('input, textarea')].filter(e => !e.labels.length).map(e => e.id)")
	if len(unlabelled) > 0 {
		t.Errorf("without a label: %q", unlabelled)
	}
	for _, id := range []string{"note", "state", "fault", "refused", "why"} {
		role := eval[string](b, "document.querySelector('#"+id+"').getAttribute('role')")
		if role != "status" && role != "alert" {
			t.Errorf("#%s has the role %q", id, role)
		}
	}
	if lang := eval[string](b, "document.documentElement.lang"); lang != "en" {
		t.Errorf("the language is %q", lang)
	}
}
