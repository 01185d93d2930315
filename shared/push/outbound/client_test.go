package outbound

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/push"
)

func TestOnlyPublicAddressesArePublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"8.8.8.8": "public", "2606:4700::1111": "public", "172.15.0.1": "public", "172.32.0.1": "public",
		"127.0.0.1": "private", "::1": "private", "127.8.8.8": "private",
		"10.0.0.1": "private", "172.16.0.1": "private", "192.168.1.1": "private", "fd00::1": "private",
		"100.64.0.1": "private", "100.127.255.255": "private",
		"169.254.169.254": "none", "fe80::1": "none", "fe80::1%eth0": "none", "0.0.0.0": "none", "::": "none",
		"0.1.2.3": "none", "224.0.0.1": "none", "ff02::1": "none", "255.255.255.255": "none", "240.0.0.1": "none",
		"192.0.2.1": "none", "198.18.0.1": "none", "192.0.0.170": "none",
		"64:ff9b::a9fe:a9fe": "none", "2002:7f00:1::": "none", "2001:0:7f00:1::": "none", "::7f00:1": "none",
		"::ffff:127.0.0.1": "private", "::ffff:169.254.169.254": "none", "::ffff:8.8.8.8": "public",
	} {
		ip, got := netip.MustParseAddr(address).Unmap(), "none"
		switch {
		case isPublic(ip) && isPrivate(ip):
			got = "both"
		case isPublic(ip):
			got = "public"
		case isPrivate(ip):
			got = "private"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}

// call sends a request and returns the outcome.
func call(t *testing.T, client *http.Client, url string) (int, push.Outcome) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	return Do(client, r, time.Now)
}

func TestAPrivateAddressIsCalledOnlyWhereItIsAllowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	count := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	plain, secure := httptest.NewServer(count), httptest.NewTLSServer(count)
	defer plain.Close()
	defer secure.Close()
	byName := strings.Replace(plain.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{plain.URL, secure.URL, byName, "http://169.254.169.254/", "http://[::ffff:127.0.0.1]:1/",
		"ftp://127.0.0.1/"} {
		status, out := call(t, Client(false), url+"/secret")
		if status != 0 || out.Result != push.Refused || !strings.Contains(out.Reason, "not allowed") {
			t.Errorf("%s: %d, %+v", url, status, out)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
	for _, url := range []string{plain.URL, byName} {
		if status, out := call(t, Client(true), url); status != http.StatusOK || out.Result != push.Sent {
			t.Errorf("%s: %d, %+v", url, status, out)
		}
	}
	for _, url := range []string{"http://169.254.169.254/", "http://8.8.8.8/"} {
		if status, out := call(t, Client(true), url); status != 0 || out.Result != push.Refused {
			t.Errorf("%s: %d, %+v", url, status, out)
		}
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer to.Close()
	from := httptest.NewServer(http.RedirectHandler(to.URL, http.StatusTemporaryRedirect))
	defer from.Close()
	if status, out := call(t, Client(true), from.URL); status != http.StatusTemporaryRedirect ||
		out.Result != push.Refused || calls.Load() != 0 {
		t.Errorf("%d, %+v, %d calls", status, out, calls.Load())
	}
}

func TestAFailureSaysNoAddress(t *testing.T) {
	t.Parallel()
	_, out := call(t, Client(true), "http://127.0.0.1:1/a-secret-path")
	if out.Result != push.Failed || out.Wait == 0 || strings.Contains(out.Reason, "secret") || out.Reason == "" {
		t.Errorf("%+v", out)
	}
}

func TestAnAnswerSaysWhetherToTryAgainAndWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		after  string
		want   push.Result
		wait   time.Duration
	}{
		{200, "", push.Sent, 0},
		{201, "5", push.Sent, 0},
		{302, "", push.Refused, 0},
		{400, "5", push.Refused, 0},
		{403, "", push.Refused, 0},
		{429, "", push.Failed, time.Minute},
		{429, "120", push.Failed, 2 * time.Minute},
		{429, "0", push.Failed, time.Second},
		{429, "-5", push.Failed, time.Second},
		{429, "999999999", push.Failed, time.Hour},
		{429, "soon", push.Failed, time.Minute},
		{429, "Thu, 01 Jan 2026 00:10:00 GMT", push.Failed, 10 * time.Minute},
		{429, "Wed, 31 Dec 2025 00:10:00 GMT", push.Failed, time.Second},
		{500, "", push.Failed, 30 * time.Second},
		{503, "7", push.Failed, 7 * time.Second},
	} {
		resp := &http.Response{StatusCode: c.status, Header: http.Header{"Retry-After": {c.after}}, Body: http.NoBody}
		if status, out := Read(resp, now); status != c.status || out.Result != c.want || out.Wait != c.wait {
			t.Errorf("%d %q: %+v", c.status, c.after, out)
		}
	}
}

func TestAnAddressIsCheckedWhenItIsRegistered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url     string
		private bool
		says    string // empty for an allowed one
	}{
		{"https://example.org/a?b=c", false, ""},
		{"http://192.168.1.2/topic", true, ""},
		{"http://192.168.1.2/topic", false, "must begin with https://"},
		{"ftp://example.org/", true, "http:// for an address in this network"},
		{"example.org", false, "must be a URL"},
		{"https:///path", false, "must be a URL"},
		{"mailto:a@example.org", false, "must be a URL"},
		{"https://exa mple.org/", false, "must be a URL"},
		{"https://user:word@example.org/", false, "no user and no password"},
		{"https://example.org/#x", false, "no fragment"},
		{"https://example.org/" + strings.Repeat("x", 1000), false, "at most 1000"},
	} {
		err := CheckURL(c.url, c.private)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %v: %v", c.url, c.private, err)
		}
	}
}
