package auth_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

// withBody returns a request with a body of n bytes, whose length it announces or not.
func withBody(key string, n int, announced bool) *http.Request {
	r := request(key, here)
	r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", n)))
	r.ContentLength = -1
	if announced {
		r.ContentLength = int64(n)
	}
	return r
}

func TestABodyCountsAsACallForEachPortionThatItBegins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ burst, bytes, calls int }{
		"nothing":                  {10, 0, 1},
		"a portion":                {10, auth.Portion, 1},
		"a byte more":              {10, auth.Portion + 1, 2},
		"the largest":              {100, 1 << 20, 64},
		"as long as the burst":     {10, 10 * auth.Portion, 10},
		"longer than the burst":    {10, 1 << 20, 10},
		"a burst of one, and long": {1, 1 << 20, 1},
	} {
		for _, announced := range []bool{true, false} {
			clock := &domaintest.Clock{}
			a := auth.New(&keyring{}, clock.Now, auth.Limits{Rate: 1, Burst: c.burst, UserRate: 1, UserBurst: 1000})
			call := func(n int) error {
				r := withBody("good-ann", n, announced)
				if _, err := a.Caller(r); err != nil {
					return err
				}
				got, err := io.ReadAll(iotest.OneByteReader(r.Body))
				if err == nil && len(got) != n {
					t.Errorf("%s: %d of %d bytes were read", name, len(got), n)
				}
				return err
			}
			is(t, name, call(c.bytes), fine)
			for range c.burst - c.calls {
				is(t, name+", what is left", call(1), fine)
			}
			is(t, name+", past the limit", call(1), fault.Exhausted)
			clock.Pass(time.Hour)
			is(t, name+", an hour later", call(c.bytes), fine)
		}
	}
}

func TestALongBodyIsRefusedBeforeItIsReadOrAsSoonAsTheLimitIsMet(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	a := auth.New(&keyring{}, clock.Now, auth.Limits{Rate: 2, Burst: 200, UserRate: 2, UserBurst: 70})
	_, err := a.Caller(withBody("good-ann", 1<<20, true))
	is(t, "the first", err, fine)
	r := withBody("good-ann", 1<<20, true)
	_, err = a.Caller(r)
	if is(t, "the second", err, fault.Exhausted); fault.From(err).RetryAfter != 29*time.Second ||
		!strings.Contains(err.Error(), "16 KiB") {
		t.Errorf("the second: %v after %v, want 29s for the 58 calls that are missing", err, fault.From(err).RetryAfter)
	}
	if rest, err := io.ReadAll(r.Body); len(rest) != 1<<20 || err != nil {
		t.Errorf("%d bytes of the second are unread, %v", len(rest), err)
	}
	clock.Pass(time.Second) // of the user 8 calls are left
	r = withBody("good-ann", 1<<20, false)
	_, err = a.Caller(r)
	is(t, "one of unknown length", err, fine)
	for range 2 {
		n, err := io.Copy(io.Discard, iotest.HalfReader(r.Body))
		if is(t, "reading it", err, fault.Exhausted); n > 8*auth.Portion {
			t.Errorf("%d bytes of one of unknown length were read", n)
		}
	}
}

func TestABodyWithoutAKeyIsCountedByAddress(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	a := auth.New(&keyring{}, clock.Now, auth.Limits{Rate: 1, Burst: 10})
	is(t, "nine portions", a.Anonymous(withBody("", 9*auth.Portion, true)), fine)
	is(t, "two more", a.Anonymous(withBody("", 2*auth.Portion, true)), fault.Exhausted)
	is(t, "one more", a.Anonymous(withBody("", auth.Portion, true)), fine)
}
