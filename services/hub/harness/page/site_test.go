package page_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/page"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

func TestThePageIsTheSameForEveryCallerAndHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	u := hubtest.NewUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "secret question"})
	list := u.Hub.Raw("GET", "/q", nil)
	for _, path := range []string{"/q", "/q/", "/q/" + id, "/q/nothing", "/", "/work/x",
		"/talk/fire/x", "/assets/main.js", "/assets/views/inbox.js", "/assets/app.css", "/assets/icon.svg", "/sw.js"} {
		a := u.Hub.REST(u.Human, "GET", path, nil)
		if a.Status != 200 {
			t.Fatalf("%s: got %s", path, a)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; " +
				"worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
				"require-trusted-types-for 'script'; trusted-types parley-worker",
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if cookies := a.Header.Values("Set-Cookie"); len(cookies) > 0 {
			t.Errorf("%s sets the cookies %q", path, cookies)
		}
		if strings.HasPrefix(path, "/assets/") || path == "/sw.js" {
			continue
		}
		if string(a.Body) != string(list.Body) || a.Header.Get("Cache-Control") != "no-store" ||
			a.Header.Get("Content-Type") != "text/html; charset=UTF-8" {
			t.Errorf("%s: got %v and %s, want the same page, with no-store", path, a.Header, a)
		}
	}
}

func TestAnUnchangedAssetIsSentOnce(t *testing.T) {
	t.Parallel()
	u := hubtest.NewUser(t, hubtest.Options{})
	for path, kind := range map[string]string{
		"/assets/main.js": "text/javascript; charset=utf-8", "/assets/views/question.js": "text/javascript; charset=utf-8",
		"/assets/app.css": "text/css; charset=utf-8", "/assets/icon.svg": "image/svg+xml; charset=utf-8",
		"/assets/icon-192.png":    "image/png",
		"/assets/app.webmanifest": "application/manifest+json", "/sw.js": "text/javascript; charset=utf-8",
	} {
		a := u.Hub.Raw("GET", path, nil)
		tag := a.Header.Get("ETag")
		if tag == "" || a.Header.Get("Cache-Control") != "no-cache" ||
			a.Header.Get("Content-Type") != kind {
			t.Errorf("%s: got %v", path, a.Header)
		}
		if a := u.Hub.Raw("GET", path, nil, "If-None-Match", tag); a.Status != 304 || len(a.Body) > 0 {
			t.Errorf("%s again: got %s, want 304", path, a)
		}
		if a := u.Hub.Raw("GET", path, nil, "If-None-Match", `"another"`); a.Status != 200 {
			t.Errorf("%s with another tag: got %s, want it", path, a)
		}
	}
	for _, path := range []string{"/assets/index.html", "/assets/sw.js"} { // the template, and a worker below the root
		if a := u.Hub.Raw("GET", path, nil); a.Status != 404 {
			t.Errorf("%s is served: %s", path, a)
		}
	}
}

func TestAClientThatIsNoBrowserIsToldWhatTheServerIs(t *testing.T) {
	t.Parallel()
	u := hubtest.NewUser(t, hubtest.Options{})
	for accept, html := range map[string]bool{"text/html,application/xhtml+xml,*/*;q=0.8": true, "*/*": false,
		"application/json, text/event-stream": false} {
		a := u.Hub.Raw("GET", "/", nil, "Accept", accept)
		if got := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"); a.Status != 200 || got != html ||
			!slices.Contains(a.Header.Values("Vary"), "Accept") || a.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("Accept: %s: got %d, %v", accept, a.Status, a.Header)
		} else if !html && (!strings.Contains(string(a.Body), "/mcp") || !strings.Contains(string(a.Body), "/v1")) {
			t.Errorf("Accept: %s: got %s", accept, a.Body)
		}
	}
	for _, path := range []string{"/", "/v1/health", "/openapi.json"} {
		if a := u.Hub.Raw("HEAD", path, nil); a.Status != 200 || len(a.Body) > 0 {
			t.Errorf("HEAD %s: %s", path, a)
		}
	}
	if a := u.Hub.Raw("GET", "/mcp", nil); a.Status != 405 ||
		!strings.Contains(string(a.Body), "this is the endpoint of MCP, which clients call by POST") {
		t.Errorf("GET /mcp: %s", a)
	}
	if a := u.Hub.Raw("POST", "/", nil); a.Status != 405 || !strings.Contains(string(a.Body), "MCP is served at /mcp") {
		t.Errorf("POST /: got %s", a)
	}
	if a := u.Hub.Raw("POST", "/mcpp", nil); a.Status != 404 || !strings.Contains(string(a.Body), "MCP is served at /mcp") {
		t.Errorf("POST /mcpp: got %s", a)
	}
}

func TestThePageIsSmall(t *testing.T) {
	t.Parallel()
	u := hubtest.NewUser(t, hubtest.Options{})
	size := 0
	for _, path := range append(imports(t, u, "/assets/main.js", "/assets/views/inbox.js"), "/", "/assets/app.css",
		"/assets/shell.css", "/assets/views.css", "/assets/icon.svg") {
		a := u.Hub.Raw("GET", path, nil, "Accept-Encoding", "gzip")
		if a.Status != 200 {
			t.Errorf("%s: got %s", path, a)
		}
		size += len(a.Body)
	}
	if size > 100_000 {
		t.Errorf("the first view has %d bytes compressed, want at most 100,000", size)
	}
}

func TestThePageMayCallOnlyTheConfiguredHostsOfFirebase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		firebase page.Firebase
		connect  string
		body     []string
	}{
		"none": {
			page.Firebase{AuthURL: "https://a.example"},
			"connect-src 'self';",
			[]string{`data-key=""`, `data-auth=""`},
		},
		"Google's": {
			page.Firebase{APIKey: "k"},
			"connect-src 'self' https://identitytoolkit.googleapis.com https://securetoken.googleapis.com;",
			[]string{`data-key="k"`, `data-auth="https://identitytoolkit.googleapis.com"`},
		},
		"an emulator": {
			page.Firebase{APIKey: "k", AuthURL: "http://h:9/identitytoolkit.googleapis.com/",
				TokenURL: "http://h:9/securetoken.googleapis.com"},
			"connect-src 'self' http://h:9 http://h:9;",
			[]string{`data-token="http://h:9/securetoken.googleapis.com"`},
		},
		"a key with HTML": {
			page.Firebase{APIKey: `"><script>`},
			"connect-src 'self' https:",
			[]string{`data-key="&#34;&gt;&lt;script&gt;"`},
		},
	} {
		a := hubtest.NewUser(t, hubtest.Options{Firebase: c.firebase}).Hub.Raw("GET", "/q", nil)
		if got := a.Header.Get("Content-Security-Policy"); !strings.Contains(got, c.connect) {
			t.Errorf("%s: the policy is %q, want %q", name, got, c.connect)
		}
		for _, part := range c.body {
			if !strings.Contains(string(a.Body), part) {
				t.Errorf("%s: the page must contain %s:\n%s", name, part, a.Body)
			}
		}
	}
}

func TestALinkIsRedeemedOnceForAKeyOfTheHuman(t *testing.T) {
	t.Parallel()
	u := hubtest.NewUser(t, hubtest.Options{})
	id, code := u.Ask(args{"question": "q"}), u.LinkCode()
	a := u.Hub.Raw("POST", "/v1/links/redeem", args{"code": code})
	var out struct {
		Key, Assurance string
		ExpiresAt      time.Time
	}
	hubtest.Must(t, a.Into(&out))
	if out.Assurance != "device" {
		t.Errorf("the first browser has the assurance %q", out.Assurance)
	}
	if m := a.Meta(); m.RequestID == "" || m.Timestamp.IsZero() || out.ExpiresAt.IsZero() {
		t.Errorf("the envelope lacks a field: %s", a)
	}
	if a.Header.Get("Cache-Control") != "no-store" || len(a.Header.Values("Set-Cookie")) > 0 {
		t.Errorf("got %v, want no-store and no cookie", a.Header)
	}
	if a := u.Hub.REST(out.Key, "POST", "/v1/questions/"+id+"/answer", args{"response": "r"}); a.Status != 200 {
		t.Errorf("the key does not answer: %s", a)
	}
	for path, status := range map[string]int{"/v1/questions": 200, "/v1/tasks/" + id: 200,
		"/v1/questions/" + id + "/response": 200, "/v1/tasks": 403, "/v1/messages": 403, "/v1/keys": 403} {
		if a := u.Hub.REST(out.Key, "GET", path, nil); a.Status != status {
			t.Errorf("%s is answered %s, want %d", path, a, status)
		}
	}
	for name, c := range map[string]struct {
		body   any
		status int
		code   string
	}{
		"used":       {args{"code": code}, 401, "UNAUTHENTICATED"},
		"unknown":    {args{"code": "x"}, 401, "UNAUTHENTICATED"},
		"none":       {args{}, 400, "INVALID_ARGUMENT"},
		"not text":   {args{"code": 7}, 400, "INVALID_ARGUMENT"},
		"not JSON":   {"code=x", 400, "INVALID_ARGUMENT"},
		"an empty":   {args{"code": ""}, 400, "INVALID_ARGUMENT"},
		"a list":     {"[]", 400, "INVALID_ARGUMENT"},
		"no body":    {nil, 400, "INVALID_ARGUMENT"},
		"null alone": {"null", 400, "INVALID_ARGUMENT"},
	} {
		a := u.Hub.Raw("POST", "/v1/links/redeem", c.body)
		if f := a.Fault(); a.Status != c.status || f.Code != c.code || len(a.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: got %s, want %d %s", name, a, c.status, c.code)
		}
	}
}

var imported = regexp.MustCompile(`from '(/assets/[^']+)'`)

// imports returns modules with all that they import.
func imports(t *testing.T, u *hubtest.User, modules ...string) []string {
	t.Helper()
	for i := 0; i < len(modules); i++ {
		a := u.Hub.Raw("GET", modules[i], nil)
		if a.Status != 200 {
			t.Errorf("%s: got %s", modules[i], a)
		}
		for _, m := range imported.FindAllStringSubmatch(string(a.Body), -1) {
			if !slices.Contains(modules, m[1]) {
				modules = append(modules, m[1])
			}
		}
	}
	return modules
}

func TestEveryViewOfTheShellIsServedWithWhatItImports(t *testing.T) {
	t.Parallel()
	u := hubtest.NewUser(t, hubtest.Options{})
	views := regexp.MustCompile(`\$/, '([a-z]+)'\]`).FindAllStringSubmatch(string(u.Hub.Raw("GET", "/assets/main.js", nil).Body), -1)
	if len(views) < 10 {
		t.Fatalf("the shell names %d views", len(views))
	}
	for _, v := range views {
		imports(t, u, "/assets/views/"+v[1]+".js")
	}
}
