package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
)

func TestAFaultKeepsItsKindAndWhatCameWithIt(t *testing.T) {
	t.Parallel()
	for _, kind := range fault.Kinds() {
		s := newServer(
			t,
			says(
				kind.HTTP(),
				fmt.Sprintf(
					`{"success":false,"error":{"code":%q,"message":"no","details":[{"path":"a","message":"must be b"}]},"meta":{}}`,
					kind.Code(),
				),
				"Retry-After",
				"7",
			),
		)
		c, _ := newClient(t, s.URL, WithRetry(NoRetry), WithRequestID(func() string { return "r" }))
		_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
		var e *Error
		var f *fault.Error
		if !errors.As(err, &e) || !errors.As(err, &f) || !fault.Is(err, kind) {
			t.Errorf("%v: got %v", kind, err)
			continue
		}
		if e.Operation != "get_task" || e.Status != kind.HTTP() || e.Code != kind.Code() || e.RequestID != "r" ||
			e.Error() != "no" ||
			len(f.Problems) != 1 ||
			f.Problems[0].Path != "a" ||
			f.RetryAfter != 7*time.Second ||
			e.Uncertain {
			t.Errorf("%v: got %+v of %+v", kind, e, f)
		}
	}
}

func TestAnswersThatAreNotParleysAreToldApart(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
		code   string
		words  string
	}{
		"a page":                {200, "<html>", fault.Internal, "", "with status 200 is no Parley server"},
		"other JSON":            {200, `{"tasks":[]}`, fault.Internal, "", "is no Parley server"},
		"a page of a proxy":     {502, "<html>", fault.Unavailable, "", "with status 502 is no Parley server"},
		"a proxy that waited":   {504, "", fault.Unavailable, "", "is no Parley server"},
		"nothing there":         {404, "<html>", fault.NotFound, "", "is no Parley server"},
		"somebody else's login": {401, "{}", fault.Unauthenticated, "", "is no Parley server"},
		"a fault that succeeded": {200, `{"success":false,"error":{"code":"NOT_FOUND","message":"no"}}`,
			fault.Internal, "", "is no Parley server"},
		"a success that failed": {500, `{"success":true,"data":{}}`, fault.Internal, "", "is no Parley server"},
		"a code of no kind": {413, `{"success":false,"error":{"code":"PAYLOAD_TOO_LARGE","message":"too large"}}`,
			fault.Invalid, "PAYLOAD_TOO_LARGE", "too large"},
		"a kind of a later server": {503, `{"success":false,"error":{"code":"ELSEWHERE","message":"look"}}`,
			fault.Unavailable, "ELSEWHERE", "look"},
		"an unknown outcome": {503, `{"success":false,"error":{"code":"OUTCOME_UNKNOWN","message":"look"}}`,
			fault.OutcomeUnknown, "OUTCOME_UNKNOWN", "look"},
		"data of another version": {200, `{"success":true,"data":{"id":7}}`,
			fault.Internal, "", "cannot be read; is it of the same version?"},
	} {
		s := newServer(t, says(k.status, k.body))
		c, _ := newClient(t, s.URL, WithRetry(NoRetry))
		_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
		var e *Error
		if !errors.As(err, &e) || !fault.Is(err, k.kind) || e.Status != k.status || e.Code != k.code ||
			!strings.Contains(e.Error(), k.words) {
			t.Errorf("%s: got %+v, kind %v", name, err, fault.Of(err))
			continue
		}
		body := ""
		if strings.Contains(k.words, "no Parley server") {
			body = k.body
		}
		if string(e.Body) != body {
			t.Errorf("%s: the error keeps %q, want %q", name, e.Body, body)
		}
	}
}

func TestAWriteWhoseOutcomeIsUnknownSaysSo(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		answers []http.HandlerFunc
		want    bool
	}{
		"no answer":                      {[]http.HandlerFunc{drops}, true},
		"an unknown outcome":             {[]http.HandlerFunc{faults(fault.OutcomeUnknown)}, true},
		"unavailable":                    {slices.Repeat([]http.HandlerFunc{faults(fault.Unavailable)}, 5), false},
		"an internal error":              {[]http.HandlerFunc{faults(fault.Internal)}, true},
		"a proxy's page":                 {[]http.HandlerFunc{says(502, "")}, true},
		"a success that nobody can read": {[]http.HandlerFunc{says(200, "<html>")}, true},
		"data that nobody can read":      {[]http.HandlerFunc{says(200, `{"success":true,"data":7}`)}, true},
		"an answer that is cut": {
			[]http.HandlerFunc{says(200, `{"success":true`, "Content-Length", "100")}, true,
		},
		"a refusal":  {[]http.HandlerFunc{faults(fault.Precondition)}, false},
		"contention": {[]http.HandlerFunc{faults(fault.Conflict)}, false},
		"too many":   {[]http.HandlerFunc{faults(fault.Exhausted)}, false},
		"a refusal after contention": {
			[]http.HandlerFunc{faults(fault.Conflict), faults(fault.NotFound)}, false,
		},
		"a page that says the path is wrong": {[]http.HandlerFunc{says(404, "<html>")}, false},
	} {
		s := newServer(t, k.answers...)
		c, _ := newClient(t, s.URL)
		_, err := c.ClaimTask(t.Context(), dispatch.ClaimInput{TaskID: "a"})
		var e *Error
		if !errors.As(err, &e) || e.Uncertain != k.want {
			t.Errorf("%s: got %+v, want uncertain %v", name, e, k.want)
		}
	}
	// A repeated write that is refused in the end may have been done before.
	s := newServer(t, drops, faults(fault.Precondition))
	c, _ := newClient(t, s.URL)
	_, err := c.CreateTask(t.Context(), dispatch.CreateInput{Title: "t", Target: "any"})
	var e *Error
	if !errors.As(err, &e) || !e.Uncertain || e.Code != "FAILED_PRECONDITION" {
		t.Errorf("got %+v", e)
	}
}

func TestHTTPSForAServerThatSpeaksHTTPIsNamed(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c, _ := newClient(t, strings.Replace(s.URL, "http:", "https:", 1), WithRetry(NoRetry))
	_, err := c.CreateTask(t.Context(), dispatch.CreateInput{Title: "t"})
	var e *Error
	if !errors.As(err, &e) || e.Uncertain || !strings.Contains(err.Error(), "speaks HTTP: write http://") {
		t.Errorf("got %v", err)
	}
}

func TestNoErrorHoldsTheKeyOrTheQuery(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t, nowhere, WithRetry(NoRetry))
	_, err := c.GetTasks(t.Context(), dispatch.ListInput{Target: "hush"})
	if err == nil || !strings.HasPrefix(err.Error(), "no server answers at "+nowhere+": ") ||
		strings.Contains(err.Error(), "hush") ||
		strings.Contains(err.Error(), testKey) {
		t.Errorf("got %v", err)
	}
}

func TestTheCallersContextIsFoundInTheError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	c, k := newClient(t, s.URL)
	_, err := c.GetTask(ctx, dispatch.TaskInput{TaskID: "a"})
	if !endedEarly(err) || !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Unavailable) || len(k.slept) != 0 ||
		len(s.requests()) != 1 {
		t.Errorf("got %v after %d requests and %d pauses", err, len(s.requests()), len(k.slept))
	}
}

func endedEarly(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "the call of get_task ended before the answer came: ")
}

func TestTheCallersDeadlineIsNotBlamedOnTheServer(t *testing.T) {
	t.Parallel()
	held := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	why := errors.New("the user left")
	for name, limit := range map[string]func(context.Context) (context.Context, func()){
		"a deadline": func(ctx context.Context) (context.Context, func()) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		},
		"a deadline with a cause": func(ctx context.Context) (context.Context, func()) {
			return context.WithTimeoutCause(ctx, 50*time.Millisecond, why)
		},
		"a deadline that is over": func(ctx context.Context) (context.Context, func()) {
			return context.WithTimeout(ctx, -time.Second)
		},
	} {
		s := newServer(t, held)
		c, _ := newClient(t, s.URL)
		ctx, cancel := limit(t.Context())
		_, err := c.GetTask(ctx, dispatch.TaskInput{TaskID: "a"})
		cancel()
		if !endedEarly(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
		if strings.HasSuffix(name, "cause") && !errors.Is(err, why) {
			t.Errorf("%s: got %v, want its cause", name, err)
		}
	}
}

func TestAServerThatIsSilentIsLeftAfterTheTimeout(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within the answer": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"success":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		s := newServer(t, silent)
		c, _ := newClient(t, s.URL, WithRetry(NoRetry), WithTimeout(50*time.Millisecond))
		_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
		if err == nil || !strings.HasSuffix(err.Error(), "no answer within 50ms") ||
			!errors.Is(err, context.DeadlineExceeded) ||
			!fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestALongAnswerIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "data": strings.Repeat("x", maxAnswer)})
	})
	c, _ := newClient(t, s.URL, WithRetry(NoRetry))
	_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
	var e *Error
	if !fault.Is(err, fault.Internal) || !errors.As(err, &e) || len(e.Body) != maxBody {
		t.Errorf("got %v", err)
	}
}
