package browser_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/storetest"
)

// shown are the views of the scripted day, each with a part of its text. A word after $ names an id of the day.
var shown = []struct{ path, sel, text string }{
	{"/", "#asked h3", "Move the freeze"},
	{"/q/$question", "#title", "?"},
	{"/agents", ".rules", "3 rules answer at once"},
	{"/work", ".rows", "Capture must be idempotent"},
	{"/work/$task", ".history", "Completed"},
	{"/files", "#projects code", "payments/capture/**"},
	{"/mail", "#threads", "Refunds"},
	{"/talk", "#checks", "payments/refund.go"},
	{"/talk/council/$council", ".cards", "key that the client sends"},
	{"/talk/fire/payments", ".diff ins", "three retries"},
	{"/talk/verification/$verification", ".cards", "Partial refunds"},
	{"/sprints", "#sprints", "orchard"},
	{"/sprints/$sprint", ".story", "Refund endpoint"},
	{"/teams/checkout", ".story", "waits for Table of attempts"},
	{"/search?q=idempotent", ".hits mark", "idempotent"},
	{"/usage", "#totals", "$0.98"},
	{"/settings", "#keys", "the backend"},
}

// screens are the widths and schemes in which each view is tried.
var screens = []struct {
	width  int64
	scheme string
}{{390, "light"}, {390, "dark"}, {1280, "light"}, {1280, "dark"}}

// axe is the program that checks a page for people who cannot see it or use a mouse.
func axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if errors.Is(err, fs.ErrNotExist) {
		emulator.Skip(t, errors.New("the test needs axe-core: run make setup"))
	}
	hubtest.Must(t, err)
	return string(text)
}

func TestEveryViewShowsTheDayOnEveryScreen(t *testing.T) {
	t.Parallel()
	script := axe(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		u, keys := played(t, storetest.SQLite(t, app.Schema()))
		u.inLine(keys)
		b := u.console(u.Hub.URL, "/files")
		b.sees(".turns li:nth-child(2)", "asked")
		b.open(u.Hub.URL + "/")
		for _, s := range screens {
			u.walk(b, s.width, s.scheme, script)
		}
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		u := aDay(t, storetest.Firestore(t, app.Schema()))
		u.walk(u.console(u.Hub.URL, "/"), screens[0].width, screens[0].scheme, "")
	})
}

// walk opens each view on a screen and checks its text, that it fits and, with the script of axe, that it is
// accessible. Where PARLEY_SCREENSHOTS names a directory, it leaves a picture of each there.
func (u *user) walk(b *tab, width int64, scheme, script string) {
	u.t.Helper()
	height := int64(844)
	if width > 500 {
		height = 800
	}
	b.do("the screen", chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	hubtest.Must(u.t, err)
	b.sees("#asked h3", "Move the freeze") // signed in
	for _, v := range shown {
		path := u.named(v.path)
		b.open(u.Hub.URL + path)
		b.sees(v.sel, v.text)
		b.sees("#nav .count", "7")
		what := fmt.Sprintf("%s at %d, %s", v.path, width, scheme)
		if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > width {
			u.t.Errorf("%s: it is %d wide", what, wide)
		}
		small := eval[[]string](b, `[...document.querySelectorAll('button, a, summary, textarea, select, input')].filter(e => {
			const r = e.getBoundingClientRect();
			return e.checkVisibility() && !e.matches('[type=radio], [type=checkbox], .link') && (r.height < 44 || r.width < 44);
		}).map(e => e.outerHTML)`)
		if len(small) > 0 {
			u.t.Errorf("%s: too small for a thumb: %q", what, small)
		}
		if script != "" {
			b.accessible(what, script)
		}
		b.picture(fmt.Sprintf("%s-%d-%s", name(v.path), width, scheme))
	}
	b.open(u.Hub.URL + "/")
}

// accessible fails the test for serious and critical findings of axe.
func (b *tab) accessible(what, script string) {
	b.t.Helper()
	if !eval[bool](b, "'axe' in window") {
		eval[int](b, script+";0")
	}
	found := eval[[]string](b, `axe.run(document, {resultTypes: ['violations']}).then(r => r.violations
		.filter(v => v.impact === 'serious' || v.impact === 'critical')
		.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary).join(' | ')))`)
	if len(found) > 0 {
		b.t.Errorf("%s: %s", what, strings.Join(found, "\n"))
	}
}

var unnamed = regexp.MustCompile(`[^a-z]+`)

// name is the name of the picture of a view.
func name(path string) string {
	if path == "/" {
		return "inbox"
	}
	return strings.Trim(unnamed.ReplaceAllString(path, "-"), "-")
}

// picture writes a picture of the tab, where the environment names a directory.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("PARLEY_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := run(b, chromedp.CaptureScreenshot())
	hubtest.Must(b.t, err)
	hubtest.Must(b.t, os.MkdirAll(dir, 0o755))
	hubtest.Must(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// named returns a path with the ids of the day.
func (u *user) named(path string) string {
	u.t.Helper()
	for name, c := range map[string]struct{ path, list, id string }{
		"$question": {"/v1/questions", "questions", "id"}, "$task": {"/v1/tasks?status=done&type=task", "tasks", "id"},
		"$council": {"/v1/councils", "sessions", "id"}, "$verification": {"/v1/verifications", "sessions", "sessionId"},
		"$sprint": {"/v1/sprints", "sprints", "sprintId"},
	} {
		if !strings.Contains(path, name) {
			continue
		}
		var out map[string]json.RawMessage
		hubtest.Must(u.t, u.Hub.REST(u.Human, "GET", c.path, nil).Into(&out))
		var list []map[string]any
		hubtest.Must(u.t, json.Unmarshal(out[c.list], &list))
		path = strings.Replace(path, name, fmt.Sprint(list[0][c.id]), 1)
	}
	return path
}
