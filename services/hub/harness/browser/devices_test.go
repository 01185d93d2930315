package browser_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/push/ntfy/ntfytest"
	"parley.internal/shared/store/storetest"
)

func TestAPersonAddsATopicAndAWebhookAndTestsThem(t *testing.T) {
	t.Parallel()
	r := newRung(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	topics := ntfytest.New(t)
	called := make(chan string, 10)
	var broken atomic.Bool
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if broken.Load() {
			panic(http.ErrAbortHandler) // closes the connection
		}
		called <- q.URL.Path
	}))
	t.Cleanup(hook.Close)
	b := r.console(r.Hub.URL, "/settings")
	b.click("#add-ntfy")
	b.holds(`/^https:\/\/ntfy.sh\/[0-9a-z]{24}$/.test(document.querySelector('dialog input[type=url]').value)`)
	b.fill("Address", topics.URL)
	b.click("dialog .main")
	b.sees("dialog .bad", "must be the URL of a topic")
	b.fill("Address", topics.URL+"/bell")
	b.click("dialog .main")
	b.sees("#devices", "phone")
	b.click("#devices button[data-act]")
	b.sees("#devices .outcome", "Sent: it rings in a moment")
	if got := topics.Messages("bell"); len(got) != 1 || got[0].Title != "Parley rings here" {
		t.Errorf("the topic got %+v", got)
	}
	b.click("#devices .danger")
	b.click("dialog .main")
	b.holds("document.querySelectorAll('#devices li').length === 0")
	b.click("#add-webhook")
	b.fill("Your name", "pager")
	b.fill("Address", hook.URL+"/hook")
	b.click("dialog .main")
	b.sees("#devices", "pager")
	b.click("#devices button[data-act]")
	b.sees("#devices .outcome", "Sent: it rings in a moment")
	if path := <-called; path != "/hook" {
		t.Errorf("called was %s", path)
	}
	broken.Store(true)
	for range 3 {
		b.click("#devices button[data-act]")
		b.sees("#devices .outcome.bad", "Not sent now: ")
	}
	b.click("#devices button[data-act]")
	b.sees("#devices .outcome.bad", "5 tests were sent in a minute")
}
