package auth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// journal collects the lines of a log.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

// line is a line about a refusal.
type line struct {
	Msg, Address, Reason, RequestID, KeyID, User, Program string
	Status, LeftOut                                       int
}

// take returns the lines so far, which are forgotten, and their text.
func (j *journal) take(t *testing.T) (lines []line, text string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	text = j.buf.String()
	for l := range strings.Lines(text) {
		var one line
		if err := json.Unmarshal([]byte(l), &one); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, one)
	}
	j.buf.Reset()
	return lines, text
}

func logged(now func() time.Time, l auth.Limits) (*auth.Authenticator, *journal) {
	j := &journal{}
	a := auth.New(&keyring{}, now, l)
	a.Log = slog.New(slog.NewJSONHandler(j, nil))
	return a, j
}

func TestARefusalLeavesALineWithAddressReasonAndKeyID(t *testing.T) {
	t.Parallel()
	known := identity.Caller{User: "ann", Program: "alpha", KeyID: "k1"}
	for name, c := range map[string]struct {
		key    string
		caller identity.Caller
		err    error
		want   line
	}{
		"a bad key": {"bad-secret", identity.Caller{}, fault.New(fault.Unauthenticated, "this key was revoked"),
			line{Status: 401, Reason: "this key was revoked", KeyID: keyID("bad-secret")}},
		"no key": {"", identity.Caller{}, fault.New(fault.Unauthenticated, "a key is required"),
			line{Status: 401, Reason: "a key is required"}},
		"a forbidden call": {"good-ann", known, fault.New(fault.Forbidden, "this is for a human"),
			line{Status: 403, Reason: "this is for a human", KeyID: "k1", User: "ann", Program: "alpha"}},
		"a call past the rate": {"good-ann", identity.Caller{}, fault.New(fault.Exhausted, "slow down"),
			line{Status: 429, Reason: "slow down", KeyID: keyID("good-ann")}},
		"a cause, which is not the reason": {"", identity.Caller{},
			fault.Wrap(fault.Unauthenticated, errors.New("hidden"), "this sign-in expired"),
			line{Status: 401, Reason: "this sign-in expired"}},
		"a long reason": {"", identity.Caller{}, fault.New(fault.Forbidden, "%s", strings.Repeat("ä", 1000)),
			line{Status: 403, Reason: strings.Repeat("ä", 150) + "…"}},
	} {
		a, j := logged(new(domaintest.Clock).Now, auth.Limits{Proxies: 1})
		a.Refused(request(c.key, here, "192.0.2.7"), "r1", c.caller, c.err)
		got, text := j.take(t)
		c.want.Msg, c.want.RequestID, c.want.Address = "refused", "r1", "192.0.2.7"
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if (c.key != "" && strings.Contains(text, c.key)) || strings.Contains(text, "hidden") {
			t.Errorf("%s: the line tells a secret: %s", name, text)
		}
	}
	a, j := logged(new(domaintest.Clock).Now, auth.Limits{})
	for _, err := range []error{nil, fault.New(fault.NotFound, "no"), fault.New(fault.Invalid, "no"), errors.New("no")} {
		a.Refused(request("", here), "r1", identity.Caller{}, err)
	}
	if got, _ := j.take(t); len(got) != 0 {
		t.Errorf("got %+v, want no line about what is no refusal", got)
	}
	auth.New(&keyring{}, time.Now, auth.Limits{}).Refused(request("", here), "r1", identity.Caller{},
		fault.New(fault.Forbidden, "without a log"))
}

func TestLinesAboutRefusalsAreLimitedAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, j := logged(time.Now, auth.Limits{})
		refuse := func(n int, addr string) {
			for range n {
				a.Refused(request("bad", addr), "r", identity.Caller{}, fault.New(fault.Unauthenticated, "no"))
			}
		}
		refuse(1000, here)
		if got, _ := j.take(t); len(got) != 10 || got[9].LeftOut != 0 {
			t.Fatalf("got %d lines for 1000 refusals at once, want 10", len(got))
		}
		refuse(1, "192.0.2.2:1")
		if got, _ := j.take(t); len(got) != 1 || got[0].LeftOut != 990 {
			t.Errorf("got %+v, want the line of another address, with the number of those left out", got)
		}
		time.Sleep(10 * time.Second)
		refuse(2, here)
		if got, _ := j.take(t); len(got) != 1 || got[0].LeftOut != 0 {
			t.Errorf("got %+v, want one line ten seconds later", got)
		}
		time.Sleep(time.Minute)
		if got, _ := j.take(t); len(got) != 1 || got[0].LeftOut != 1 || got[0].Address != "" {
			t.Errorf("got %+v, want a report on the line that was left out", got)
		}
		for i := range 1000 {
			refuse(1, fmt.Sprintf("198.51.%d.%d:1", i>>8, i&255))
		}
		if got, _ := j.take(t); len(got) != 100 {
			t.Errorf("got %d lines for refusals of 1000 addresses, want 100", len(got))
		}
		time.Sleep(2 * time.Minute)
	})
}

func TestAChallengeSaysWhyAsRFC6750HasIt(t *testing.T) {
	t.Parallel()
	a := auth.New(&keyring{}, time.Now, auth.Limits{})
	for name, c := range map[string]struct{ authorization, want string }{
		"no key":         {"", `Bearer realm="parley"`},
		"another scheme": {"Basic YTpi", `Bearer realm="parley"`},
		"an empty key":   {"Bearer ", `Bearer realm="parley"`},
		"a bad key": {"Bearer bad",
			`Bearer realm="parley", error="invalid_token", error_description="this key is not known"`},
	} {
		r := request("", here)
		r.Header.Set("Authorization", c.authorization)
		_, err := a.Caller(r)
		if is(t, name, err, fault.Unauthenticated); auth.Challenge(err) != c.want {
			t.Errorf("%s: got %s, want %s", name, auth.Challenge(err), c.want)
		}
	}
	got := auth.Challenge(fault.New(fault.Unauthenticated, "a \"quote\", a \\ and\r\nSet-Cookie: ä"))
	want := `Bearer realm="parley", error="invalid_token", error_description="a 'quote', a ' and??Set-Cookie: ?"`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
