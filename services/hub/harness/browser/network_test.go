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
	_ = json.NewEncoder(w).Encode(v) // who went away needs no answer
}

// beside is another tab of the same browser, which shares what it keeps.
func (b *tab) beside() *tab {
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
		"no connection": {cut, "There is no connection to the server. Your answer is still here"},
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
			w := newWorld(t, hubtest.Options{})
			id := w.ask(args{"question": "q", "options": []string{"Yes"}})
			d := newDoor(t, w.hub, nil)
			b := w.signedIn(d.URL, id)
			b.write("#text", "my words")
			d.obey(func(rw http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPost && c.rule(rw, r)
			})
			b.click("#send")
			b.sees("#refused", c.says)
			if kept := eval[string](b, "document.querySelector('#text').value"); kept != "my words" {
				t.Errorf("the text is %q", kept)
			}
			if s := w.answer(id); s.Status != "pending" {
				t.Fatalf("the answer arrived: %+v", s)
			}
			d.obey(nil)
			b.click("#send")
			b.sees("#standing", "my words")
			if said := b.text("#refused"); said != "" {
				t.Errorf("it still says %q", said)
			}
		})
	}
}

func TestAnAnswerWhoseReplyWasLostCountsAsOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "q"})
	d := newDoor(t, w.hub, func(r *http.Response) error {
		if r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.URL.Path, "/answer") {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
	b := w.signedIn(d.URL, id)
	b.write("#text", "my words")
	b.click("#send")
	b.sees("#state", "This question is answered")
	b.sees("#standing", "my words")
}

func TestThePageComesBackByItselfOnceTheServerDoes(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"no connection": cut,
		"a server that drains": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
			return true
		},
		"a page of somebody else's": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "<h1>Welcome to the hotel</h1>")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, hubtest.Options{})
			id := w.ask(args{"question": "q"})
			d := newDoor(t, w.hub, nil)
			d.obey(func(rw http.ResponseWriter, r *http.Request) bool {
				return strings.HasPrefix(r.URL.Path, "/v1/") && rule(rw, r)
			})
			b := w.signedIn(d.URL, id)
			b.sees("#note", "Trying again…")
			d.obey(nil)
			b.sees("#state", "Waiting for your answer") // the link was not lost either
			b.holds("document.querySelector('#note').textContent === ''")
			w.elsewhere(id, "x")
			b.sees("#state", "This question was answered elsewhere")
		})
	}
}

func TestAPageThatNobodySeesAsksForNothingAndCatchesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "q"})
	d := newDoor(t, w.hub, nil)
	b := w.signedIn(d.URL, id)
	b.sees("#state", "Waiting for your answer")
	b.write("#text", "half a")
	eval[bool](b, "(own => { window.calls = 0; window.fetch = (...a) => { calls++; return own(...a); }; return true; })(fetch)")
	hide := func(hidden string) {
		eval[bool](b, "Object.defineProperty(document, 'hidden', {value: "+hidden+", configurable: true}), document.dispatchEvent(new Event('visibilitychange'))")
	}
	hide("true")
	d.over(t, "/v1/questions/"+id+"/response")
	w.elsewhere(id, "x")
	if calls := eval[int](b, "new Promise(done => setTimeout(done)).then(() => calls)"); calls != 0 {
		t.Errorf("%d calls were made in the dark", calls)
	}
	hide("false")
	b.sees("#state", "This question was answered elsewhere")
	if kept := eval[string](b, "document.querySelector('#text').value"); kept != "half a" {
		t.Errorf("the text is %q", kept)
	}
}
