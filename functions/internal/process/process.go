package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"
)

// Server is how to run one that listens for HTTP.
type Server struct {
	// Args is the command for an address.
	Args func(addr string) []string
	// Env is its whole environment.
	Env []string
	// Addr is where it is to listen; with the port 0 or without any it gets a free one.
	Addr string
	// Path answers a GET with Status once it is ready.
	Path   string
	Status int
	// Output is where its output goes, if anywhere. It is written to by one at a time.
	Output io.Writer
}

// Process is a server that runs.
type Process struct {
	// URL is its http://host:port.
	URL string

	leash  io.Closer
	exited chan struct{}
	output *tail
	once   sync.Once
}

const (
	// patience is how long a server may take to be ready.
	patience = time.Minute
	// tries is how often another port is tried: between finding a free one and the
	// server's taking it, someone else may.
	tries = 3
)

// Start brings up a server. It is ready when Start returns, and runs until Stop or
// the end of this process.
func Start(ctx context.Context, s Server) (*Process, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 1; ; try++ {
		addr, free, err := settle(ctx, s.Addr)
		if err != nil {
			return nil, err
		}
		p, err := s.launch(addr)
		if err != nil {
			return nil, err
		}
		if err = p.ready(ctx, s); err == nil {
			return p, nil
		}
		p.Stop()
		if !free || try == tries || ctx.Err() != nil {
			return nil, err
		}
	}
}

// settle is the address with a port, and whether that was chosen here.
func settle(ctx context.Context, addr string) (settled string, free bool, err error) {
	host, port := "127.0.0.1", "0"
	if addr != "" {
		if host, port, err = net.SplitHostPort(addr); err != nil {
			return "", false, fmt.Errorf("an address is host:port, not %q", addr)
		}
	}
	// A fixed port is tried too: who has it might answer in the server's place.
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", false, err
	}
	return l.Addr().String(), port == "0", l.Close()
}

// watchdog runs its arguments, and ends them when its standard input closes.
const watchdog = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{ cat <&3 >/dev/null; kill -TERM $child 2>/dev/null; sleep 15; kill -KILL 0; } &
wait $child
kill -KILL 0
`

func (s Server) launch(addr string) (*Process, error) {
	args := s.Args(addr)
	cmd := exec.Command("sh", append([]string{"-c", watchdog, "watchdog"}, args...)...)
	ownGroup(cmd)
	cmd.Env = s.Env
	p := &Process{URL: "http://" + addr, exited: make(chan struct{}), output: &tail{next: s.Output}}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.WaitDelay = time.Second
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.leash = leash
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // killed, always: the watchdog ends its own group
	}()
	return p, nil
}

// ready waits until the server answers as it should.
func (p *Process) ready(ctx context.Context, s Server) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.answers(ctx, s) {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready:\n%s", p.URL, p.output)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.URL, context.Cause(ctx), p.output)
		}
	}
}

func (p *Process) answers(ctx context.Context, s Server) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+s.Path, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == s.Status
}

// Exited is closed when the server has ended, by itself or by Stop.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Output is the last that the server wrote.
func (p *Process) Output() string { return p.output.String() }

// Stop ends the server, politely first, and waits until it has.
func (p *Process) Stop() {
	p.once.Do(func() {
		_ = p.leash.Close()
		<-p.exited
	})
}
