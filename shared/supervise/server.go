package supervise

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Server describes a program that listens for HTTP.
type Server struct {
	// Args returns the command line for a host:port to listen on.
	Args func(addr string) []string
	// Env is the whole environment of the program; nil passes on that of this process.
	Env []string
	// Addr is the host:port to listen on; a port of 0 stands for a free one. Empty is 127.0.0.1:0.
	Addr string
	// Path and Status are the path and the status of the answer to a GET that shows that the program is ready.
	Path   string
	Status int
	// Output receives the output of the program, one Write at a time; nil discards it.
	Output io.Writer
	// Grace is the time between SIGTERM and SIGKILL when the program has to end; see [Command].
	Grace time.Duration
	// Patience is the time in which the program must become ready, over all attempts; 0 means a minute.
	Patience time.Duration
	// Attempts is the number of free ports to try, because another program may take a port between its choice and its
	// use; 0 means 3. A port in Addr is tried once.
	Attempts int
}

// Service is a running server.
type Service struct {
	*Process
	// Addr is its host:port.
	Addr string
}

// URL returns the base URL, http:// and Addr.
func (s *Service) URL() string { return "http://" + s.Addr }

// Start starts the server and returns when it is ready. It runs until [Process.Stop], its own end, or the end of this
// process. If it ends before it is ready or is not ready in time, Start stops it and returns an error with the end of
// its output.
func (s Server) Start(ctx context.Context) (*Service, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Patience, time.Minute))
	defer cancel()
	attempts := cmp.Or(s.Attempts, 3)
	for attempt := 1; ; attempt++ {
		addr, free, err := choosePort(ctx, s.Addr)
		if err != nil {
			return nil, err
		}
		p, err := Command{Args: s.Args(addr), Env: s.Env, Output: s.Output, Grace: s.Grace}.Start()
		if err != nil {
			return nil, err
		}
		service := &Service{Process: p, Addr: addr}
		if err = s.await(ctx, service); err == nil {
			return service, nil
		}
		service.Stop()
		if !free || attempt == attempts || ctx.Err() != nil {
			return nil, err
		}
	}
}

// choosePort completes an address with a port. free reports that the port was chosen here. It fails if the port is
// taken, because its owner might answer in the server's place.
func choosePort(ctx context.Context, addr string) (complete string, free bool, err error) {
	host, port := "127.0.0.1", "0"
	if addr != "" {
		if host, port, err = net.SplitHostPort(addr); err != nil {
			return "", false, fmt.Errorf("the address must be host:port, not %q", addr)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", false, err
	}
	return l.Addr().String(), port == "0", l.Close()
}

// await returns when the service answers as it should.
func (s Server) await(ctx context.Context, service *Service) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.ready(ctx, service.URL()) {
			return nil
		}
		select {
		case <-tick.C:
		case <-service.Exited():
			return fmt.Errorf("the server at %s ended before it was ready:\n%s", service.Addr, service.Output())
		case <-ctx.Done():
			return fmt.Errorf("the server at %s is not ready: %w\n%s", service.Addr, context.Cause(ctx),
				service.Output())
		}
	}
}

func (s Server) ready(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+s.Path, nil)
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
