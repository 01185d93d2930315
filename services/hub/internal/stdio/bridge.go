package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/sleep"
)

// The limits.
const (
	// maxBody is the server's limit for one message, 1 MiB, and a margin, so that messages near the limit are refused
	// by the server.
	maxBody = 1<<20 + 64<<10
	// maxLine is the number of bytes of a line that are kept to find the ID of an oversized message.
	maxLine = 16 << 20
	// maxAnswer is the maximum size of an answer of the server, in bytes.
	maxAnswer = 64 << 20
	// maxConcurrent is the maximum number of requests in flight.
	maxConcurrent = 32
	// headerTimeout bounds the wait for the header of an answer. Tools wait for less than a minute.
	headerTimeout = 2 * time.Minute
	// drainTimeout bounds the wait for a pending write after the end of the context.
	drainTimeout = time.Second
)

// Bridge carries messages between a client on a pipe and a server at a URL.
type Bridge struct {
	// URL is the server's MCP endpoint and Key the key for it, which may be empty. KeyEnv is the name of the
	// environment variable that holds the key, for messages; empty means PARLEY_KEY.
	URL, Key, KeyEnv string
	// Session is the session that all calls belong to, by its id or address; empty for none.
	Session string
	// HTTP is the client for calls; nil means one that follows no redirects.
	HTTP *http.Client
	// In and Out are the pipe. Err receives a line for each failure and for each report of the hook, escaped for a
	// terminal; nil discards them.
	In       io.Reader
	Out, Err io.Writer
	// Hook may change the results of tools; it may be nil.
	Hook Hook
	// Sleep pauses between tries; nil means a real pause.
	Sleep func(ctx context.Context, d time.Duration) error
}

// run is the state of one call of Run.
type run struct {
	Bridge
	url, origin string
	rest        *client.Client // for health checks, without a key
	stop        context.CancelCauseFunc
	writing     sync.Mutex // guards Out and Err

	mu sync.Mutex
	// version is the protocol version that initialize negotiated, session the session ID of its answer.
	version, session string
	// inFlight holds the requests in flight by their IDs, for cancellation.
	inFlight map[string]*request
}

// Run carries messages until In ends and all requests are answered, or until ctx ends; then it returns nil. It returns
// an error if the URL is invalid or the pipe fails.
func (b *Bridge) Run(ctx context.Context) error {
	r := &run{Bridge: *b, inFlight: map[string]*request{}}
	if err := r.complete(); err != nil {
		return err
	}
	outer := ctx
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	lines := make(chan line)
	go readLines(ctx, bufio.NewReaderSize(b.In, 64<<10), lines)
	slots := make(chan struct{}, maxConcurrent)
	var inFlight sync.WaitGroup
	var failed error
	for l := range until(ctx, lines) {
		if l.err != nil {
			failed = l.err
			break
		}
		req, refusal := r.accept(ctx, l)
		if refusal != nil {
			r.emit(ctx, refusal)
		}
		if req == nil {
			continue
		}
		select {
		case slots <- struct{}{}:
			inFlight.Go(func() {
				defer func() { <-slots }()
				r.deliver(req)
				r.forget(req)
			})
		case <-ctx.Done():
			r.forget(req)
		}
	}
	drain(ctx, &inFlight)
	if cause := context.Cause(ctx); cause != nil && outer.Err() == nil {
		return cause
	}
	return failed
}

// complete validates the fields and sets the defaults.
func (r *run) complete() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("the URL must be like https://host/mcp")
	}
	r.url, r.origin = u.Redacted(), u.Scheme+"://"+u.Host
	r.Key = strings.TrimSpace(r.Key)
	if r.KeyEnv == "" {
		r.KeyEnv = "PARLEY_KEY"
	}
	if r.Err == nil {
		r.Err = io.Discard
	}
	if r.Sleep == nil {
		r.Sleep = sleep.For
	}
	if r.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost, transport.ResponseHeaderTimeout = maxConcurrent, headerTimeout
		// A redirected POST would arrive as a GET; the error for a redirect names the remedy instead.
		r.HTTP = &http.Client{Transport: transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	r.rest, err = client.New(r.origin, "", client.WithHTTPClient(r.HTTP), client.WithTimeout(healthTimeout),
		client.WithRetry(client.NoRetry))
	return err
}

// drain waits for the requests in flight. After the end of ctx only a write can be pending, and a client that has
// stopped reading must not keep the program alive.
func drain(ctx context.Context, inFlight *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		inFlight.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(drainTimeout):
	}
}

// emit writes one line to the client. A failed write ends the run.
func (r *run) emit(ctx context.Context, text []byte) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if ctx.Err() != nil {
		return
	}
	if _, err := r.Out.Write(append(text, '\n')); err != nil {
		r.stop(fmt.Errorf("cannot write to the client: %w", err))
	}
}

// report writes a line for the user of the client. The line holds texts of the client and the server, and is escaped.
func (r *run) report(format string, args ...any) {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, _ = fmt.Fprintf(r.Err, "parley stdio: %s\n", printable.EscapeLine(fmt.Sprintf(format, args...)))
}

// until yields the lines until ctx ends or the channel is closed.
func until(ctx context.Context, lines <-chan line) func(func(line) bool) {
	return func(yield func(line) bool) {
		for {
			select {
			case l, ok := <-lines:
				if !ok || !yield(l) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// line is one line of the client, or the error that ended the input.
type line struct {
	text []byte
	// size is the length of the whole line. text is nil if the line exceeds maxLine.
	size int
	err  error
}

// readLines sends each line until In ends. A read that never returns blocks this goroutine alone after the end of ctx.
func readLines(ctx context.Context, in *bufio.Reader, lines chan<- line) {
	defer close(lines)
	for {
		var l line
		var err error
		for {
			var part []byte
			part, err = in.ReadSlice('\n')
			l.size += len(part)
			if l.size <= maxLine {
				l.text = append(l.text, part...)
			} else {
				l.text = nil
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			l = line{err: fmt.Errorf("cannot read from the client: %w", err)}
		}
		if l.size > 0 || l.err != nil {
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}
