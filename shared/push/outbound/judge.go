package outbound

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"parley.internal/shared/push"
)

// The pauses before another try: after a failure without a time of the service's own, after a refusal for too many
// requests without one, and the longest.
const (
	afterFailure = 30 * time.Second
	afterMany    = time.Minute
	longestWait  = time.Hour
)

// maxAnswer is the number of bytes that are read of an answer, so that its connection can be used again.
const maxAnswer = 16 << 10

// Do sends a request and returns the status of the answer, whose body it reads and drops. If there is no answer, status
// is 0 and the outcome says why.
func Do(client *http.Client, r *http.Request, now func() time.Time) (status int, out push.Outcome) {
	resp, err := client.Do(r)
	if err != nil {
		return 0, Failure(err)
	}
	return Read(resp, now())
}

// Read reads and closes an answer, and returns its status and the outcome of the push: with a 2xx it was sent, after
// 429 and every 5xx another try may succeed, and after everything else none can.
func Read(resp *http.Response, now time.Time) (status int, out push.Outcome) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	_ = resp.Body.Close()
	status = resp.StatusCode
	switch {
	case status >= 200 && status < 300:
		return status, push.Outcome{Result: push.Sent}
	case status == http.StatusTooManyRequests:
		out = push.Outcome{Result: push.Failed, Wait: afterMany}
	case status >= 500:
		out = push.Outcome{Result: push.Failed, Wait: afterFailure}
	default:
		out = push.Outcome{Result: push.Refused}
	}
	if wait, ok := retryAfter(resp.Header.Get("Retry-After"), now); ok && out.Result == push.Failed {
		out.Wait = wait
	}
	out.Reason = fmt.Sprintf("status %d", status)
	return status, out
}

// Failure returns the outcome of a request without an answer.
func Failure(err error) push.Outcome {
	var with *url.Error // its text has the address
	if errors.As(err, &with) {
		err = with.Err
	}
	if errors.Is(err, errAddress) {
		return push.Outcome{Result: push.Refused, Reason: "its address is not allowed: only public addresses are " +
			"called over https, and private ones by a server on loopback alone"}
	}
	return push.Outcome{Result: push.Failed, Wait: afterFailure, Reason: err.Error()}
}

// retryAfter returns the time of a Retry-After header, from a second to an hour.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return min(max(time.Duration(n)*time.Second, time.Second), longestWait), true
	}
	at, err := http.ParseTime(text)
	return min(max(at.Sub(now), time.Second), longestWait), err == nil
}
