package browser_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
)

func readJSON(r *http.Request, v any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}

// signOut signs out by the menu, which asks, and returns once the page has reloaded itself: a navigation that began
// earlier would be aborted by that.
func (b *tab) signOut() {
	b.t.Helper()
	b.click("#menu summary")
	b.click("#sign-out")
	eval[bool](b, "window.signedIn = true")
	b.click("dialog .main")
	b.holds("window.signedIn === undefined")
}

// sibling opens another tab in the browser context of this one, with the same storage.
func (b *tab) sibling() *tab {
	b.t.Helper()
	own := chromedp.FromContext(b.ctx)
	return tabIn(b.t, chromedp.WithExistingBrowserContext(own.BrowserContextID))
}

func TestAnAnswerThatDidNotArriveIsKeptAndCanBeSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule func(http.ResponseWriter, *http.Request) bool
		says string
	}{
		"no connection": {dropConnection, "There is no connection to the server. Your answer is still here"},
		"too much at once": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(429)
			writeJSON(w, args{"success": false, "error": args{"message": "slow down"}})
			return true
		}, "Slow down. Your answer is still here"},
		"a broken proxy": {func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "<h1>Bad gateway</h1>", http.StatusBadGateway)
			return true
		}, "The server answered 502. Your answer is still here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, hubtest.Options{})
			id := u.Ask(args{"question": "q", "options": []string{"Yes"}})
			p := newProxy(t, u.Hub, nil)
			b := u.signedIn(p.URL, id)
			b.write("#text", "my words")
			p.setRule(func(rw http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPost && c.rule(rw, r)
			})
			b.click("#send")
			b.sees("#refused", c.says)
			if kept := eval[string](b, "document.querySelector('#text').value"); kept != "my words" {
				t.Errorf("the text is %q", kept)
			}
			if s := u.answer(id); s.Status != "pending" {
				t.Fatalf("the answer arrived: %+v", s)
			}
			p.setRule(nil)
			b.click("#send")
			b.sees("#standing", "my words")
			if said := b.text("#refused"); said != "" {
				t.Errorf("it still says %q", said)
			}
		})
	}
}

func TestAnAnswerWhoseResponseWasLostCountsAsSent(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "q"})
	p := newProxy(t, u.Hub, func(r *http.Response) error {
		if r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.URL.Path, "/answer") {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
	b := u.signedIn(p.URL, id)
	b.write("#text", "my words")
	b.click("#send")
	b.sees("#state", "This question is answered")
	b.sees("#standing", "my words")
}

func TestThePageRecoversWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"no connection": dropConnection,
		"a server that drains": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
			return true
		},
		"a page of another server": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "<h1>Welcome to the hotel</h1>")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, hubtest.Options{})
			id := u.Ask(args{"question": "q"})
			p := newProxy(t, u.Hub, nil)
			p.setRule(func(rw http.ResponseWriter, r *http.Request) bool {
				return strings.HasPrefix(r.URL.Path, "/v1/") && rule(rw, r)
			})
			b := u.signedIn(p.URL, id)
			b.sees("#note", "Trying again…")
			p.setRule(nil)
			b.sees("#state", "Waiting for your answer") // the link can still be redeemed
			b.holds("document.querySelector('#note').textContent === ''")
			u.elsewhere(id, "x")
			b.sees("#state", "This question was answered elsewhere")
		})
	}
}

func TestAHiddenPageSendsNoRequestsAndUpdatesWhenShown(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "q"})
	p := newProxy(t, u.Hub, nil)
	b := u.signedIn(p.URL, id)
	b.sees("#state", "Waiting for your answer")
	b.write("#text", "half a")
	eval[bool](b,
		"(own => { window.calls = 0; window.fetch = (...a) => { calls++; return own(...a); }; return true; })(fetch)")
	hide := func(hidden string) {
		eval[bool](b, "Object.defineProperty(document, 'hidden', {value: "+hidden+", configurable: true}), "+
			"document.dispatchEvent(new Event('visibilitychange'))")
	}
	hide("true")
	p.awaitEnd(t, "/v1/questions/"+id+"/response")
	u.elsewhere(id, "x")
	if calls := eval[int](b, "new Promise(done => setTimeout(done)).then(() => calls)"); calls != 0 {
		t.Errorf("the hidden page made %d calls", calls)
	}
	hide("false")
	b.sees("#state", "This question was answered elsewhere")
	if kept := eval[string](b, "document.querySelector('#text').value"); kept != "half a" {
		t.Errorf("the text is %q", kept)
	}
}
