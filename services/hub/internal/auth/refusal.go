package auth

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// The limits of lines about refusals, of an origin and of all. An origin that is refused all the time gets a line every
// ten seconds, and cannot crowd out the others.
const (
	lineEvery      = 10 * time.Second
	linesAtOnce    = 10
	allLinesEvery  = 100 * time.Millisecond
	allLinesAtOnce = 100
	// reportAfter is the time after which lines that were left out are reported although no other refusal follows.
	reportAfter = time.Minute
	// maxReason bounds the reason in a line, in bytes.
	maxReason = 300
)

// omissions counts the lines that were left out.
type omissions struct {
	all *rate.Limiter

	mu      sync.Mutex
	count   int
	pending bool // a report is scheduled
}

func newOmissions() omissions {
	return omissions{all: rate.NewLimiter(rate.Every(allLinesEvery), allLinesAtOnce)}
}

// take returns the number of lines that were left out since the last one that was written.
func (o *omissions) take() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.count
	o.count = 0
	return n
}

// Refused writes a line about a request that err refuses with 401, 403 or 429, and nothing about other errors. The line
// has the address, the reason and the id of the key, never the key itself. The caller is the zero value if it is not
// known; then the id is that of the key in the request.
func (a *Authenticator) Refused(r *http.Request, requestID string, caller identity.Caller, err error) {
	f := fault.From(err)
	if a.Log == nil || f == nil ||
		(f.Kind != fault.Unauthenticated && f.Kind != fault.Forbidden && f.Kind.HTTP() != http.StatusTooManyRequests) {
		return
	}
	address := a.address(r)
	now := a.now()
	if !entry(a.origins, identity.Network(address), newOrigin).lines.AllowN(now, 1) || !a.omitted.all.AllowN(now, 1) {
		a.omit()
		return
	}
	reason := f.Public()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	attrs := []slog.Attr{slog.Int("status", f.Kind.HTTP()), slog.String("address", address), slog.String("reason", reason),
		slog.String("requestId", requestID)}
	if caller.KeyID == "" {
		if secret, err := bearer(r); err == nil {
			caller.KeyID = hash(secret)
		}
	}
	for _, known := range []slog.Attr{slog.String("keyId", caller.KeyID), slog.String("user", caller.User),
		slog.String("program", caller.Program)} {
		if known.Value.String() != "" {
			attrs = append(attrs, known)
		}
	}
	if n := a.omitted.take(); n > 0 {
		attrs = append(attrs, slog.Int("leftOut", n))
	}
	a.Log.LogAttrs(r.Context(), slog.LevelWarn, "refused", attrs...)
}

// omit counts a line that is left out, and sees to it that the count is reported.
func (a *Authenticator) omit() {
	a.omitted.mu.Lock()
	defer a.omitted.mu.Unlock()
	a.omitted.count++
	if a.omitted.pending {
		return
	}
	a.omitted.pending = true
	time.AfterFunc(reportAfter, func() {
		a.omitted.mu.Lock()
		a.omitted.pending = false
		a.omitted.mu.Unlock()
		if n := a.omitted.take(); n > 0 {
			a.Log.Warn("refused", "reason", "as in the lines before", "leftOut", n)
		}
	})
}

// Challenge returns the value of WWW-Authenticate for an Unauthenticated fault, as RFC 6750 has it: with the error
// invalid_token and the reason for a bad key, and without an error for a missing one.
func Challenge(err error) string {
	const realm = `Bearer realm="parley"`
	if errors.Is(err, ErrNoKey) {
		return realm
	}
	// The description may have printable ASCII characters only, and neither quotes nor backslashes.
	text := strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\\':
			return '\''
		case c < ' ' || c > '~':
			return '?'
		}
		return c
	}, fault.From(err).Public())
	return realm + `, error="invalid_token", error_description="` + text + `"`
}
