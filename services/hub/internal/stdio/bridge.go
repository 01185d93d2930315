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

	"github.com/googleapis/gax-go/v2"

	"parley.internal/shared/client"
)

// The limits.
const (
	// maxBody is what a server takes of one message, 1 MiB, and a margin, so that it is the server that refuses what is
	// near the limit.
	maxBody = 1<<20 + 64<<10
	// maxLine is how much of a line is read to find the id of a message too long.
	maxLine = 16 << 20
	// maxAnswer bounds an answer of the server.
	maxAnswer = 64 << 20
	// atOnce is how many messages are on their way at the same time.
	atOnce = 32
	// slowest is how long a server may take to begin an answer; a waiting tool waits for less than a minute.
	slowest = 2 * time.Minute
	// parting is how long the end of the context waits for a write under way.
	parting = time.Second
)

// Bridge carries messages between a client on a pipe and the server at a URL.
type Bridge struct {
	// URL is the server's MCP endpoint, Key the key it is called with, and KeyEnv the environment variable that the key
	// came from, for messages; PARLEY_KEY where it is empty.
	URL, Key, KeyEnv string
	// HTTP is the client to call with; nil for one that follows no redirect.
	HTTP *http.Client
	// In and Out are the pipe; Err gets a line about each trouble, nil for none.
	In       io.Reader
	Out, Err io.Writer
	// Hook may change results of tools; nil changes none.
	Hook Hook
	// Sleep waits before another try; nil for the clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// run is one Run of a bridge.
type run struct {
	Bridge
	url, origin string
	rest        *client.Client // without a key
	stop        context.CancelCauseFunc
	writing     sync.Mutex // Out and Err

	mu sync.Mutex
	// version was negotiated by initialize, session given with it.
	version, session string
	// underway ends requests by their id.
	underway map[string]*request
}

// Run carries messages until In ends and what is on its way is answered, or until ctx ends. Its error says why the pipe
// or the URL is of no use.
func (b *Bridge) Run(ctx context.Context) error {
	r := &run{Bridge: *b, underway: map[string]*request{}}
	if err := r.complete(); err != nil {
		return err
	}
	outer := ctx
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	lines := make(chan line)
	go readLines(ctx, bufio.NewReaderSize(b.In, 64<<10), lines)
	slots := make(chan struct{}, atOnce)
	var underway sync.WaitGroup
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
			underway.Go(func() {
				defer func() { <-slots }()
				r.deliver(req)
				r.forget(req)
			})
		case <-ctx.Done():
			r.forget(req)
		}
	}
	drain(ctx, &underway)
	if cause := context.Cause(ctx); cause != nil && outer.Err() == nil {
		return cause
	}
	return failed
}

// complete checks the fields and fills in those left out.
func (r *run) complete() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("the URL must be like https://host/mcp")
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
		r.Sleep = gax.Sleep
	}
	if r.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost, transport.ResponseHeaderTimeout = atOnce, slowest
		// A redirected POST arrives as a GET; better to say where the server went.
		r.HTTP = &http.Client{Transport: transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	r.rest, err = client.New(r.origin, "", client.WithHTTPClient(r.HTTP), client.WithTimeout(probing),
		client.WithRetry(client.NoRetry))
	return err
}

// drain waits for what is on its way. Once ctx ends that is a write at most, and a client that no longer reads must not
// keep the program.
func drain(ctx context.Context, underway *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		underway.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(parting):
	}
}

// emit writes one line to the client. A pipe that takes none ends the run.
func (r *run) emit(ctx context.Context, text []byte) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if ctx.Err() != nil {
		return
	}
	if _, err := r.Out.Write(append(text, '\n')); err != nil {
		r.stop(fmt.Errorf("the client does not read: %w", err))
	}
}

// complain writes a line for the people who run the client.
func (r *run) complain(format string, args ...any) {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, _ = fmt.Fprintf(r.Err, "parley stdio: "+format+"\n", args...)
}

// until yields what comes before ctx ends or the channel closes.
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

// line is one line of the client, or why there are no more.
type line struct {
	text []byte
	// size is the line's whole length, beyond what was kept of it in text.
	size int
	err  error
}

// readLines sends each line until In ends. A read that never returns keeps it, and nothing else, after ctx has ended.
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
			l = line{err: fmt.Errorf("reading from the client: %w", err)}
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
