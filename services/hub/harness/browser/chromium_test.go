package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store/emulator"
)

// patience limits the wait for a change that should be immediate.
const patience = 30 * time.Second

// elsewhere is a host that leads to this machine, whose pages are no secure context over HTTP.
const elsewhere = "hub.example"

// chromium serves all tests of the package. Each tab has a browser context of its own, which shares no data with the
// others.
var chromium struct {
	once    sync.Once
	ctx     context.Context
	close   func()
	problem error
}

func TestMain(m *testing.M) {
	hubtest.Main(m, func() {
		if chromium.close != nil {
			chromium.close()
		}
		if accounts.emulator != nil {
			accounts.emulator.Stop()
		}
	})
}

var errNoChromium = errors.New(
	"the tests need Chromium: install Debian's package chromium, or name the program in PARLEY_CHROMIUM")

func findChromium() (string, error) {
	if path := os.Getenv("PARLEY_CHROMIUM"); path != "" {
		return exec.LookPath(path)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoChromium
}

func launch() {
	path, err := findChromium()
	if err != nil {
		chromium.problem = err
		return
	}
	dir, err := os.MkdirTemp("", "parley-chromium-")
	if err != nil {
		chromium.problem = err
		return
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.Flag("host-resolver-rules", "MAP "+elsewhere+" 127.0.0.1"),
		chromedp.Env("HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	all, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(all)
	chromium.ctx = ctx
	chromium.close = func() {
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "close Chromium:", err)
		}
		cancel() // waits until the processes have ended and the profile is removed
		stop()
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "remove Chromium's home:", err)
		}
	}
	chromium.problem = chromedp.Do(ctx)
}

// tab is a tab of the browser.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string // dialogs, exceptions, and breaches of a policy
	statuses []string // "401 http://…" of each answer
}

// newTab opens a tab in a new browser context. It fails the test at its end if a dialog, an exception or a breach of a
// policy occurred that the test did not take with takeProblems.
func newTab(t testing.TB) *tab {
	t.Helper()
	return tabIn(t, chromedp.WithNewBrowserContext())
}

func tabIn(t testing.TB, where chromedp.ContextOption) *tab {
	t.Helper()
	chromium.once.Do(launch)
	if errors.Is(chromium.problem, errNoChromium) {
		emulator.Skip(t, chromium.problem)
	}
	if chromium.problem != nil {
		t.Fatal(chromium.problem)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx, where)
	b := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		if t.Failed() {
			what, _ := run(b, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
			t.Logf("the tab shows %s", what)
		}
		if problems := b.takeProblems(); len(problems) > 0 {
			t.Errorf("in the tab: %q", problems)
		}
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil { // without a timeout, which would end the tab
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.onEvent); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) onEvent(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		b.problems = append(b.problems, "dialog: "+e.Message)
		go func() { _, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprint("exception: ",
			(&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()))
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
			b.problems = append(b.problems, "policy: "+e.Entry.Text)
		}
	case *network.EventResponseReceived:
		b.statuses = append(b.statuses, fmt.Sprint(e.Response.Status, " ", e.Response.URL))
	}
}

// takeProblems returns the problems since the last call.
func (b *tab) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// answers returns the statuses of the responses from a URL so far.
func (b *tab) answers(url string) (statuses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.statuses {
		if status, from, _ := strings.Cut(s, " "); from == url {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

func run[T any](b *tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

func (b *tab) do(what string, action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if _, err := run(b, action); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *tab) open(url string) { b.t.Helper(); b.do("open "+url, chromedp.Navigate(url)) }
func (b *tab) reload()         { b.t.Helper(); b.do("reload", chromedp.Reload()) }

// noticing notes in the page whether a click arrives at an element that a selector names.
const noticing = `(sel => {
	window.arrived = false;
	document.addEventListener('click', e => { window.arrived = e.target.closest?.(sel) !== null; },
		{capture: true, once: true});
	return true;
})(%q)`

// click clicks an element, again where the page replaced or moved it between the search for it and the click.
func (b *tab) click(sel string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		eval[bool](b, fmt.Sprintf(noticing, sel))
		_, err := chromedp.Run(ctx, chromedp.Click(chromedp.CSS(sel), chromedp.NodeVisible))
		if err == nil {
			// The click led to another page, or to one that is on its way.
			missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("window.arrived === false"))
			if err != nil || !missed {
				return
			}
			continue
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "node with given id") {
			b.t.Fatalf("click %s: %v", sel, err)
		}
	}
}

func (b *tab) write(sel, text string) {
	b.t.Helper()
	b.do("write into "+sel, chromedp.SendKeys(chromedp.CSS(sel), text, chromedp.NodeVisible))
}

// eval returns the value of an expression. A promise is awaited.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text returns the text of an element, visible or not.
func (b *tab) text(sel string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).textContent", sel))
}

// until is a promise that resolves once an expression is true, which it tests after every change of the document, and now
// and then, because an expression may be about something else.
const until = `new Promise(done => {
	const watch = new MutationObserver(look), tick = setInterval(look, 100);
	function look() { if (%s) { watch.disconnect(); clearInterval(tick); done(true); } }
	watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
	look();
})`

// sees waits until an element that contains a text is visible.
func (b *tab) sees(sel, text string) {
	b.t.Helper()
	is, err := json.Marshal([]string{sel, text})
	if err != nil {
		b.t.Fatal(err)
	}
	b.holds(fmt.Sprintf(`(([sel, text]) => [...document.querySelectorAll(sel)].
		some(e => e.checkVisibility() && e.textContent.includes(text)))(%s)`, is))
}

// holds waits until an expression is true, also across loads of the page.
func (b *tab) holds(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(until, expression), chromedp.EvalAwaitPromise))
		if err == nil {
			return
		}
		var thrown *chromedp.ExceptionError
		if ctx.Err() != nil || errors.As(err, &thrown) {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}
