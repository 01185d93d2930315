package browser_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store/storetest"
)

func TestAButtonOfANotificationAnswersAnAgentThatWaits(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, r *rung) {
		b := r.ringing()
		id := r.Ask(args{"question": "Ship it?", "options": []string{"Yes", "No", "Later"}, "priority": "high"})
		got := r.waiting(id)
		r.deliver(b, r.pushed(id))
		all := r.shows(b, "alpha needs your answer")
		if n := all[0]; len(all) != 1 || n.Body != "Ship it?" || n.Tag == "" || len(n.Actions) != 2 ||
			n.Actions[0].Title != "Yes" || n.Actions[1].Title != "No" {
			t.Errorf("it shows %+v", all)
		}
		if opened := r.press(b, "alpha needs your answer", "2"); len(opened) != 0 {
			t.Errorf("the answer opened %q", opened)
		}
		answered(t, got, "No")
		b.becomes("(await (await navigator.serviceWorker.ready).getNotifications()).length === 0")
		b.sees("#shown h1", "Settings") // no other page was opened
	})
}

func TestAClickOnANotificationOpensItsPageInTheWindowThatIsOpen(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	id := r.Ask(args{"question": "Ship it?", "options": []string{"Yes"}})
	push := r.pushed(id)
	r.deliver(b, push)
	r.shows(b, "alpha needs your answer")
	if opened := r.press(b, "alpha needs your answer", ""); len(opened) != 0 {
		t.Errorf("it opened %q, beside the window", opened)
	}
	b.sees("#title", "Ship it?")
	if at := eval[string](b, "location.href"); at != r.Hub.URL+"/q/"+id {
		t.Errorf("the window shows %s", at)
	}
	for name, text := range map[string]string{
		"its page":         push,
		"another's page":   strings.Replace(push, "parley.example/q/", "parley.example//evil.example/", 1),
		"a script":         strings.Replace(push, "https://parley.example/", "javascript:", 1),
		"without its page": strings.Replace(push, `"navigate"`, `"nothing"`, 1),
	} {
		b.open(r.Hub.URL + "/settings")
		r.deliver(b, text)
		r.shows(b, "alpha needs your answer")
		b.open("about:blank")
		if opened := r.press(b, "alpha needs your answer", ""); !slices.Equal(opened, []string{"/q/" + id}) {
			t.Errorf("%s, without a window, opened %q", name, opened)
		}
	}
}

func TestAnAnswerThatIsNotTakenOpensThePage(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	id := r.Ask(args{"question": "Ship it?", "options": []string{"Yes", "No"}})
	push := r.pushed(id)
	r.deliver(b, push)
	r.shows(b, "alpha needs your answer")
	r.elsewhere(id, "No")
	r.press(b, "alpha needs your answer", "1")
	b.sees("#state", "This question is answered")
	b.sees("#standing", "No")
}

func TestAPushRingsOnceAndALaterOneAboutTheSameReplacesIt(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	push := r.pushed(r.Ask(args{"question": "Ship it?"}))
	for _, c := range []struct {
		text, title string
		renotify    bool
	}{
		{push, "alpha needs your answer", true},
		{strings.Replace(push, "alpha needs", "again: alpha needs", 1), "again: alpha needs your answer", false},
		{strings.Replace(strings.Replace(push, "alpha needs", "later: alpha needs", 1), `"id":"`, `"id":"x`, 1),
			"later: alpha needs your answer", true},
	} {
		r.deliver(b, c.text)
		if all := r.shows(b, c.title); len(all) != 1 || all[0].Renotify != c.renotify {
			t.Errorf("%s: %+v", c.title, all)
		}
	}
	r.deliver(b, "not JSON")
	if all := r.shows(b, "Parley"); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

func TestThisBrowserIsTestedAndRemoved(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, r *rung) {
		b := r.ringing()
		b.click("#devices button[data-act]")
		b.sees("#devices .outcome", "Sent: it rings in a moment")
		got := r.service.Messages()
		if len(got) != 1 {
			t.Fatalf("the push service got %d pushes", len(got))
		}
		r.deliver(b, string(got[0].Text))
		r.shows(b, "Parley rings here")
		r.service.Answer(r.sub.Endpoint, func(http.ResponseWriter, int) int { return http.StatusForbidden })
		b.click("#devices button[data-act]")
		b.sees("#devices .outcome.bad", "Refused: status 403: the push service refuses the VAPID key")
		b.click("#devices .danger")
		b.click("dialog .main")
		b.sees("#ring", "Ring this browser")
		if left := r.devices(); left != "" {
			t.Errorf("left is %s", left)
		}
		b.becomes("!('stub.subscribed' in localStorage)")
	})
}

func TestADeviceThatWasRemovedElsewhereStaysSilent(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	var out struct{ Devices []struct{ DeviceID string } }
	hubtest.Must(t, r.Hub.REST(r.Human, "GET", "/v1/devices", nil).Into(&out))
	b.reload()
	b.sees("#devices .badge.good", "this browser")
	hubtest.Must(t, r.Hub.REST(r.Human, "DELETE", "/v1/devices/"+out.Devices[0].DeviceID, nil).Into(&struct{}{}))
	b.reload()
	b.becomes("!('stub.subscribed' in localStorage)")
	b.sees("#ring", "Ring this browser")
	if left := r.devices(); left != "" {
		t.Errorf("left is %s", left)
	}
}

func TestARemovalThatAReloadInterruptsIsFinished(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	eval[bool](b, `const w = JSON.parse(localStorage['parley.bell']); w.ending = true;
		localStorage['parley.bell'] = JSON.stringify(w); true`)
	b.reload()
	b.becomes("!('stub.subscribed' in localStorage) && !('parley.bell' in localStorage)")
	b.sees("#ring", "Ring this browser")
	if left := r.devices(); left != "" {
		t.Errorf("left is %s", left)
	}
}

func TestSigningOutSilencesTheBrowser(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	b.signOut()
	b.sees("#sign-in", "Sign in")
	if left := r.devices(); left != "" {
		t.Errorf("left is %s", left)
	}
}

func TestAnotherKeyOfThePersonIsTheDevicesKeyToo(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := r.ringing()
	keyed := func() string { return eval[string](b, "JSON.parse(localStorage['parley.bell']).keyId") }
	first := keyed()
	eval[bool](b, "localStorage['parley.signIn'] = JSON.stringify({key: '"+r.Human+"', until: '2999-01-01T00:00:00Z'}), true")
	b.reload()
	b.becomes("JSON.parse(localStorage['parley.bell']).keyId !== '" + first + "'")
	if got := r.devices(); got != "webpush" {
		t.Errorf("the devices are %q", got)
	}
}

func TestAPageWithoutEncryptionSaysWhatWouldLetItRing(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	p := newProxy(t, r.Hub, nil)
	p.setRule(func(_ http.ResponseWriter, q *http.Request) bool { q.Header.Del("Origin"); return false }) // as one that is allowed
	b := newTab(t)
	b.open(strings.Replace(p.URL, "127.0.0.1", elsewhere, 1) + "/settings#link=" + r.ConsoleCode())
	b.sees("#insecure", "without encryption")
	for _, way := range []string{"a proxy with TLS", "tailscale serve", "Cloud Run", "ntfy"} {
		b.sees("#bell", way)
	}
	if eval[bool](b, "!!document.querySelector('#ring')") {
		t.Error("it offers to ring this browser")
	}
}

func TestNotificationsThatAreBlockedAreSaidToBe(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	b := newTab(t) // nobody allows it anything, so the browser refuses
	b.open(r.Hub.URL + "/settings#link=" + r.ConsoleCode())
	b.sees("#bell", "is")
	if eval[string](b, "Notification.permission") == "default" {
		b.click("#ring")
	}
	b.sees("#bell", "blocked")
	if got := r.devices(); got != "" {
		t.Errorf("the devices are %q", got)
	}
}

func TestAPersonSetsTheQuietHoursAndWhatRings(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.console(u.Hub.URL, "/settings")
	b.sees("#what-rings", "Quiet hours")
	put := func(id, value string) { eval[bool](b, "document.querySelector('#"+id+"').value = '"+value+"', true") }
	put("quiet-from", "22:00")
	b.click("#what-rings .main")
	b.sees("#unsaved", "Give both times")
	put("quiet-to", "07:00")
	put("perHour", "1000")
	b.click("#what-rings .main")
	b.sees("#unsaved", "must be at most 100")
	put("perHour", "30")
	b.click("#ring-dreams")
	b.click("#ring-completions")
	b.click("#what-rings .main")
	b.sees("#toast", "Saved")
	var got struct {
		Off, On    []string
		PerHour    int
		QuietHours struct{ From, To, TimeZone string }
	}
	hubtest.Must(t, u.Hub.REST(u.Human, "GET", "/v1/settings/notifications", nil).Into(&got))
	if !slices.Equal(got.Off, []string{"dreams"}) || !slices.Equal(got.On, []string{"completions"}) || got.PerHour != 30 ||
		got.QuietHours.From != "22:00" || got.QuietHours.To != "07:00" || got.QuietHours.TimeZone == "" {
		t.Errorf("kept is %+v", got)
	}
	put("quiet-from", "")
	put("quiet-to", "")
	eval[bool](b, "document.querySelector('#toast').replaceChildren(), true")
	b.click("#what-rings .main")
	b.sees("#toast", "Saved")
	b.reload()
	b.sees("#what-rings", "Quiet hours")
	b.holds("document.querySelector('#quiet-from').value === '' && !document.querySelector('#ring-dreams').checked")
}

// fill replaces the text of the dialog's field with a label.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	id := eval[string](b, "[...document.querySelectorAll('dialog label')].find(l => l.textContent.startsWith('"+label+"')).htmlFor")
	eval[bool](b, "document.getElementById('"+id+"').value = '', true")
	b.do("write into "+label, chromedp.SendKeys(chromedp.CSS("#"+id), text, chromedp.NodeVisible))
}
