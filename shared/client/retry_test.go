package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/relay"
)

// A call is repeated where nothing was done, and after an unknown outcome where a repeat is harmless.
func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, c *Client) error {
		_, err := c.GetTask(ctx, dispatch.TaskInput{TaskID: "a"})
		return err
	}
	keyed := func(ctx context.Context, c *Client) error {
		_, err := c.CreateTask(ctx, dispatch.CreateInput{Title: "t", Target: "any"})
		return err
	}
	write := func(ctx context.Context, c *Client) error {
		_, err := c.ClaimTask(ctx, dispatch.ClaimInput{TaskID: "a"})
		return err
	}
	consume := func(ctx context.Context, c *Client) error {
		_, err := c.GetMessages(ctx, relay.GetInput{Target: "a"})
		return err
	}
	for name, k := range map[string]struct {
		first                       http.HandlerFunc
		read, keyed, write, consume bool
	}{
		"a lost connection":       {drops, true, true, false, false},
		"an answer that is cut":   {says(200, `{"success":true`, "Content-Length", "100"), true, true, false, false},
		"contention":              {faults(fault.Conflict), true, true, true, true},
		"a limit of the rate":     {faults(fault.Exhausted, "Retry-After", "1"), true, true, true, true},
		"a full storage":          {faults(fault.Quota, "Retry-After", "1"), false, false, false, false},
		"a proxy's limit":         {says(429, ""), true, true, true, true},
		"unavailable":             {faults(fault.Unavailable), true, true, true, true},
		"an unknown outcome":      {faults(fault.OutcomeUnknown), true, true, false, false},
		"a proxy without servers": {says(503, "<html>"), true, true, false, false},
		"a proxy's bad gateway":   {says(502, "<html>"), true, true, false, false},
		"a proxy that waited":     {says(504, "<html>"), true, true, false, false},
		"an internal error":       {faults(fault.Internal), false, false, false, false},
		"an input that is wrong":  {faults(fault.Invalid), false, false, false, false},
		"a bad key":               {faults(fault.Unauthenticated), false, false, false, false},
		"a key that may not":      {faults(fault.Forbidden), false, false, false, false},
		"nothing there":           {faults(fault.NotFound), false, false, false, false},
		"a duplicate":             {faults(fault.Exists), false, false, false, false},
		"a wrong state":           {faults(fault.Precondition), false, false, false, false},
		"a page":                  {says(200, "<html>"), false, false, false, false},
	} {
		for kind, call := range map[string]struct {
			do   func(context.Context, *Client) error
			want bool
		}{
			"read":           {read, k.read},
			"keyed write":    {keyed, k.keyed},
			"write":          {write, k.write},
			"consuming read": {consume, k.consume},
		} {
			s := newServer(t, k.first, succeeds)
			c, _ := newClient(t, s.URL)
			err := call.do(t.Context(), c)
			got := s.requests()
			if repeated := len(got) == 2; repeated != call.want || (err == nil) != call.want {
				t.Errorf("%s, a %s: %d requests, %v; want repeated %v", name, kind, len(got), err, call.want)
				continue
			}
			if len(got) == 2 &&
				(got[0].header.Get("Idempotency-Key") != got[1].header.Get("Idempotency-Key") ||
					got[0].line != got[1].line) {
				t.Errorf("%s, a %s: the second request was another: %+v", name, kind, got)
			}
			if hasKey := got[0].header.Get("Idempotency-Key") != ""; hasKey != (kind == "keyed write") {
				t.Errorf("%s, a %s: key %v", name, kind, hasKey)
			}
		}
	}
}

func TestEvenAWriteIsRepeatedWhereNoConnectionWasOpened(t *testing.T) {
	t.Parallel()
	c, k := newClient(t, nowhere)
	_, err := c.ClaimTask(t.Context(), dispatch.ClaimInput{TaskID: "a"})
	var e *Error
	if !errors.As(err, &e) || e.Uncertain || len(k.slept) != 4 || !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %+v after %d pauses", e, len(k.slept))
	}
}

// opaque is a transport that tells nothing of its connections.
type opaque struct{ calls int }

func (o *opaque) RoundTrip(*http.Request) (*http.Response, error) {
	o.calls++
	return nil, errors.New("lost")
}

func TestATransportThatDoesNotTraceMayHaveSentTheRequest(t *testing.T) {
	t.Parallel()
	o := &opaque{}
	c, _ := newClient(t, "http://p.example", WithHTTPClient(&http.Client{Transport: o}))
	_, err := c.ClaimTask(t.Context(), dispatch.ClaimInput{TaskID: "a"})
	var e *Error
	if !errors.As(err, &e) || !e.Uncertain || o.calls != 1 {
		t.Errorf("got %+v after %d calls", e, o.calls)
	}
}

func TestTheCallersIdempotencyKeyIsKept(t *testing.T) {
	t.Parallel()
	s := newServer(t, drops, succeeds)
	c, _ := newClient(t, s.URL)
	in := dispatch.CreateInput{Title: "t", Target: "any"}
	in.IdempotencyKey = " mine\n" // no header could hold it
	if _, err := c.CreateTask(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.requests() {
		if r.header.Get("Idempotency-Key") != "" ||
			r.line != `POST /v1/tasks {"idempotencyKey":" mine\n","target":"any","title":"t"}` {
			t.Errorf("got %+v", r)
		}
	}
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests, want that the lost one is repeated", n)
	}
}

func TestPausesDoubleToABound(t *testing.T) {
	t.Parallel()
	s := newServer(t, faults(fault.Unavailable))
	c, k := newClient(t, s.URL, WithRetry(Retry{Attempts: 6, First: time.Second, Longest: 4 * time.Second}))
	_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
	second := time.Second
	if want := []time.Duration{second, 2 * second, 4 * second, 4 * second, 4 * second}; !fault.Is(
		err,
		fault.Unavailable,
	) ||
		!slices.Equal(k.slept, want) {
		t.Errorf("paused %v, %v", k.slept, err)
	}
	for _, half := range []float64{0, 0.5, 0.999} {
		if d, _ := (Retry{First: second}).pause(2, 0, half); d > 2*second || d < second {
			t.Errorf("with the chance %v the pause is %v", half, d)
		}
	}
	if d, _ := (Retry{}).pause(1<<30, 0, 0); d != 5*second {
		t.Errorf("got %v after many attempts", d)
	}
	for range 100 {
		if j := jitter(); j < 0 || j >= 1 {
			t.Errorf("jitter %v", j)
		}
	}
}

func TestTheServersRetryAfterIsObeyedWithinThePatience(t *testing.T) {
	t.Parallel()
	in3s := time.Now().Add(3 * time.Second)
	for name, k := range map[string]struct {
		header string
		want   []time.Duration
		after  time.Duration // of the fault, where the call fails
	}{
		"seconds": {"7", []time.Duration{7 * time.Second}, 0},
		"a time":  {in3s.UTC().Format(http.TimeFormat), []time.Duration{3 * time.Second}, 0},
		"a time that is over": {
			in3s.Add(-time.Hour).UTC().Format(http.TimeFormat), []time.Duration{100 * time.Millisecond}, 0,
		},
		"less than its own":     {"0", []time.Duration{100 * time.Millisecond}, 0},
		"nothing to understand": {"soon", []time.Duration{100 * time.Millisecond}, 0},
		"the patience":          {"30", []time.Duration{30 * time.Second}, 0},
		"more than patience":    {"31", nil, 31 * time.Second},
	} {
		s := newServer(t, faults(fault.Exhausted, "Retry-After", k.header), succeeds)
		c, clock := newClient(t, s.URL)
		clock.at = in3s.Add(-3 * time.Second).Truncate(time.Second) // a header has whole seconds
		_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
		if !slices.Equal(clock.slept, k.want) || (err == nil) != (k.want != nil) ||
			(err != nil && fault.From(err).RetryAfter != k.after) {
			t.Errorf("%s: paused %v, %v", name, clock.slept, err)
		}
	}
}

func TestACallDoesNotPauseBeyondItsDeadline(t *testing.T) {
	t.Parallel()
	s := newServer(t, faults(fault.Exhausted, "Retry-After", "20"))
	c, k := newClient(t, s.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.GetTask(ctx, dispatch.TaskInput{TaskID: "a"}); !fault.Is(err, fault.Exhausted) ||
		len(k.slept) != 0 ||
		len(s.requests()) != 1 {
		t.Errorf("paused %v, %v", k.slept, err)
	}
}

func TestACallThatIsEndedInAPauseTellsWhyItFailed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, faults(fault.Unavailable))
	c, k := newClient(t, s.URL)
	c = c.With(
		WithClock(k.now, func(ctx context.Context, d time.Duration) error { cancel(); return k.sleep(ctx, d) }),
	)
	_, err := c.GetTask(ctx, dispatch.TaskInput{TaskID: "a"})
	var e *Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Code != fault.Unavailable.Code() ||
		!fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "the last attempt failed: ") ||
		len(s.requests()) != 1 {
		t.Errorf("%d requests, %v", len(s.requests()), err)
	}
}

func TestWithoutRepetitionACallIsOneRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, faults(fault.Conflict))
	c, k := newClient(t, s.URL, WithRetry(NoRetry))
	if _, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"}); !fault.Is(err, fault.Conflict) ||
		len(s.requests()) != 1 ||
		len(k.slept) != 0 {
		t.Errorf("%d requests, %v", len(s.requests()), err)
	}
}

func TestWithoutRepetitionNoKeyIsMade(t *testing.T) {
	t.Parallel()
	s := newServer(t, succeeds)
	c, _ := newClient(t, s.URL, WithRetry(NoRetry))
	if _, err := c.CreateTask(t.Context(), dispatch.CreateInput{Title: "t", Target: "any"}); err != nil {
		t.Fatal(err)
	}
	r := s.requests()[0]
	if r.header.Get("Idempotency-Key") != "" || r.line != `POST /v1/tasks {"target":"any","title":"t"}` {
		t.Errorf("got %+v", r)
	}
}
