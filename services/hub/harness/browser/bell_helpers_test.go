package browser_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/push/direct"
	"parley.internal/shared/push/webpush"
	"parley.internal/shared/push/webpush/webpushtest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/task"
)

// ways returns a sender to devices at addresses of their own, with new VAPID keys.
func ways(t *testing.T) *direct.Sender {
	t.Helper()
	return direct.New(direct.Options{Keys: domaintest.Must(webpush.NewKeys())(t), Private: true})
}

// rung is a user whose hub sends Web Push to a stand-in for the push service of browsers.
type rung struct {
	*user
	db      *store.DB
	service *webpushtest.Server
	sub     webpushtest.Subscription
	last    string // the push that was delivered last
}

func newRung(t *testing.T, db *store.DB, o hubtest.Options) *rung {
	t.Helper()
	o.Direct = ways(t)
	o.PublicURL = "https://parley.example"
	r := &rung{user: &user{hubtest.NewUserOn(t, db, o), t}, db: db, service: webpushtest.New(t)}
	r.sub = r.service.Subscribe()
	return r
}

// eachRung runs a test on both stores.
func eachRung(t *testing.T, test func(*testing.T, *rung)) {
	t.Helper()
	for name, open := range map[string]func(*testing.T, *store.Schema, ...store.Option) *store.DB{
		"sqlite": storetest.SQLite, "firestore": storetest.Firestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRung(t, open(t, app.Schema()), hubtest.Options{}))
		})
	}
}

// subscribing is the edge of the machine: a browser asks a push service on the internet for a subscription, which Chromium
// without a window has not. All else of the page and the worker is real.
const subscribing = `(() => {
	const slot = 'stub.subscribed', p = PushManager.prototype;
	const made = () => { const key = localStorage[slot]; return key ? {
		endpoint: %[1]q, options: {applicationServerKey: Uint8Array.from(key.split(',')).buffer},
		toJSON: () => ({endpoint: %[1]q, expirationTime: null, keys: {p256dh: %[2]q, auth: %[3]q}}),
		unsubscribe: async () => { delete localStorage[slot]; return true; } } : null; };
	p.getSubscription = async () => made();
	p.subscribe = async o => {
		if (!o.userVisibleOnly) throw new Error('silent pushes');
		localStorage[slot] = o.applicationServerKey.join();
		return made();
	};
})()`

// browser returns a tab of a new browser that may show notifications, at an address of the console.
func (r *rung) browser(path string) *tab {
	r.t.Helper()
	b := newTab(r.t)
	own := chromedp.FromContext(b.ctx)
	_, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted,
		Origin: r.Hub.URL, BrowserContextID: own.BrowserContextID})
	hubtest.Must(r.t, err)
	_, err = chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: fmt.Sprintf(subscribing, r.sub.Endpoint, r.sub.P256dh, r.sub.Auth)})
	hubtest.Must(r.t, err)
	b.open(r.Hub.URL + path + "#link=" + r.ConsoleCode())
	return b
}

// ringing returns a tab whose browser is a device, at the settings.
func (r *rung) ringing() *tab {
	r.t.Helper()
	b := r.browser("/settings")
	b.click("#ring")
	b.sees("#devices .badge.good", "this browser")
	return b
}

// devices returns the platforms of the user's devices.
func (r *rung) devices() string {
	r.t.Helper()
	var out struct{ Devices []struct{ Platform string } }
	hubtest.Must(r.t, r.Hub.REST(r.Human, "GET", "/v1/devices", nil).Into(&out))
	var all []string
	for _, d := range out.Devices {
		all = append(all, d.Platform)
	}
	return strings.Join(all, " ")
}

// pushed makes the hub react to a new task, as it does to the store's change feed, and returns the message for the
// browser.
func (r *rung) pushed(id string) string {
	r.t.Helper()
	t, err := task.Tasks.Get(r.t.Context(), r.db.User("u"), id)
	hubtest.Must(r.t, err)
	after, err := task.Tasks.Encode(t)
	hubtest.Must(r.t, err)
	e := store.Event{ID: "created-" + id, At: time.Now(), Kind: store.Created,
		Ref: store.Ref{User: "u", Coll: task.Tasks.Name, ID: id}, After: after}
	for _, reaction := range r.Hub.App.Reactions() {
		_, err := reaction.Handle(r.t.Context(), e, time.Now(), slog.New(slog.DiscardHandler))
		hubtest.Must(r.t, err)
	}
	got := r.service.Messages()
	if len(got) != 1 || got[0].Endpoint != r.sub.Endpoint {
		r.t.Fatalf("the push service got %+v", got)
	}
	return string(got[0].Text)
}

// deliver gives the worker a push, as the browser does.
func (r *rung) deliver(b *tab, text string) {
	r.t.Helper()
	r.last = text
	found := make(chan serviceworker.RegistrationID, 10)
	hubtest.Must(r.t, chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*serviceworker.EventWorkerRegistrationUpdated); ok {
			for _, w := range e.Registrations {
				if strings.HasPrefix(w.ScopeURL, r.Hub.URL) && !w.IsDeleted {
					select {
					case found <- w.RegistrationID:
					default:
					}
				}
			}
		}
	}))
	_, err := chromedp.Call(b.ctx, serviceworker.Enable, cdp.Empty{})
	hubtest.Must(r.t, err)
	select {
	case id := <-found:
		_, err = chromedp.Call(b.ctx, serviceworker.DeliverPushMessage,
			serviceworker.DeliverPushMessageParams{Origin: r.Hub.URL, RegistrationID: id, Data: text})
		hubtest.Must(r.t, err)
	case <-time.After(patience):
		r.t.Fatal("the page has no service worker")
	}
	_, err = chromedp.Call(b.ctx, serviceworker.Disable, cdp.Empty{})
	hubtest.Must(r.t, err)
}

// becomes waits until an expression is true that no change of the document announces. It may await.
func (b *tab) becomes(expression string) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`(async () => {
		for (const end = Date.now() + 20000; Date.now() < end; await new Promise(done => setTimeout(done, 30))) if (%s) return true;
		return false;
	})()`, expression)) {
		b.t.Fatalf("never: %s", expression)
	}
}

// notice is a notification that a browser shows.
type notice struct {
	Title, Body, Tag string
	Renotify         bool
	Actions          []struct{ Action, Title string }
}

// shows waits until the browser shows a notification with a title, and returns all that it shows. A push is delivered at
// least once: the last one is delivered again where a busy machine's browser has shown nothing of it, and rings once.
func (r *rung) shows(b *tab, title string) []notice {
	r.t.Helper()
	out := r.shown(b, title)
	if len(out) == 0 {
		r.t.Logf("the push of %q is delivered again", title)
		r.deliver(b, r.last)
		out = r.shown(b, title)
	}
	if len(out) == 0 {
		r.t.Fatalf("no notification has the title %q", title)
	}
	return out
}

// shown returns the notifications of the browser once one has a title, and none if that takes too long.
func (r *rung) shown(b *tab, title string) []notice {
	r.t.Helper()
	text := eval[string](b, fmt.Sprintf(`(async () => {
		const r = await navigator.serviceWorker.ready;
		for (const end = Date.now() + 20000; Date.now() < end; await new Promise(done => setTimeout(done, 30))) {
			const all = await r.getNotifications();
			if (all.some(n => n.title === %q)) return JSON.stringify(all.map(n => ({title: n.title, body: n.body, tag: n.tag, renotify: n.renotify,
				actions: n.actions.map(a => ({action: a.action, title: a.title}))})));
		}
		return '[]';
	})()`, title))
	var out []notice
	hubtest.Must(r.t, json.Unmarshal([]byte(text), &out))
	return out
}

// press clicks on the notification with a title: on the button of an action, or elsewhere for none. It returns the paths of
// the windows that the worker opened. A worker may open and focus windows only for a click of a person, so that is recorded.
func (r *rung) press(b *tab, title, action string) []string {
	r.t.Helper()
	all, err := chromedp.Targets(b.ctx)
	hubtest.Must(r.t, err)
	for _, w := range all {
		if w.Type != "service_worker" || w.URL != r.Hub.URL+"/sw.js" {
			continue
		}
		return r.pressIn(b, w, title, action)
	}
	r.t.Fatalf("no worker of %s runs", r.Hub.URL)
	return nil
}

func (r *rung) pressIn(b *tab, w *target.Info, title, action string) []string {
	r.t.Helper()
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithTargetID(w.TargetID))
	defer cancel()
	worker := &tab{t: r.t, ctx: ctx}
	hubtest.Must(r.t, chromedp.Do(ctx))
	return eval[[]string](worker, fmt.Sprintf(`(async () => {
		const opened = [];
		clients.openWindow = async path => { opened.push(path); };
		WindowClient.prototype.focus = async function () { return this; };
		const notification = (await registration.getNotifications()).find(n => n.title === %q);
		const event = new NotificationEvent('notificationclick', {notification, action: %q});
		let until;
		event.waitUntil = promise => { until = promise; };
		dispatchEvent(event);
		await until;
		return opened;
	})()`, title, action))
}
