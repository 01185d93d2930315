package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"parley.internal/shared/supervise"
)

// Fleet starts hubs with the same configuration. It is safe for concurrent use.
type Fleet struct {
	// Args is the command of a hub with its arguments. It must print its address as the serve command does.
	Args []string
	// Env is its whole environment.
	Env []string
	// Dir is the directory for the output of the hubs, one file for each.
	Dir string

	mu   sync.Mutex
	hubs []*Hub
}

// Hub is a running or exited hub. It is safe for concurrent use.
type Hub struct {
	// Name is hub-1 for the first of its fleet, and so on.
	Name string
	// URL is the hub's http://host:port.
	URL string
	// Log is the path of the file with its output.
	Log string

	process    *supervise.Process
	output     *output
	mu         sync.Mutex
	killed     bool // by Kill; any exit code is right then
	terminated bool // by Terminate
}

const (
	// startTimeout bounds the start of a hub.
	startTimeout = time.Minute
	// stopTimeout bounds the end of a hub after SIGTERM. It is longer than the time that a hub gives its calls in flight.
	stopTimeout = 30 * time.Second
)

// Start starts a hub, which is listening when Start returns.
func (f *Fleet) Start(ctx context.Context) (*Hub, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	h, err := f.launch()
	if err != nil {
		return nil, err
	}
	select {
	case h.URL = <-h.output.url:
		return h, nil
	case <-h.Exited():
		return nil, fmt.Errorf("%s exited before it served:\n%s", h.Name, h.process.Output())
	case <-ctx.Done():
		h.Kill()
		return nil, fmt.Errorf("%s does not serve: %w\n%s", h.Name, context.Cause(ctx), h.process.Output())
	}
}

func (f *Fleet) launch() (*Hub, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := &Hub{Name: fmt.Sprintf("hub-%d", len(f.hubs)+1)}
	h.Log = filepath.Join(f.Dir, h.Name+".log")
	file, err := os.Create(h.Log)
	if err != nil {
		return nil, err
	}
	h.output = newOutput(file)
	// If the starter is killed, its hubs need not finish their calls.
	h.process, err = supervise.Command{Args: f.Args, Env: f.Env, Output: h.output, Grace: time.Second}.Start()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f.hubs = append(f.hubs, h)
	go func() {
		<-h.Exited()
		_ = file.Close()
	}()
	return h, nil
}

// Kill sends SIGKILL to the hub.
func (h *Hub) Kill() {
	h.mu.Lock()
	h.killed = true
	h.mu.Unlock()
	_ = h.process.Signal(os.Kill) // fails only if the hub has exited
}

// Terminate sends SIGTERM to the hub, which then finishes its calls and exits.
func (h *Hub) Terminate() {
	h.mu.Lock()
	h.terminated = true
	h.mu.Unlock()
	_ = h.process.Signal(syscall.SIGTERM) // fails only if the hub has exited
}

// Suspend stops the hub as a laptop does that sleeps, until [Hub.Resume]: its clock has jumped then. A hub that is to be
// terminated must run.
func (h *Hub) Suspend() { _ = h.process.Signal(syscall.SIGSTOP) } // fails only if the hub has exited

// Resume lets a suspended hub go on.
func (h *Hub) Resume() { _ = h.process.Signal(syscall.SIGCONT) } // fails only if the hub has exited

// PID returns the ID of the hub's own process.
func (h *Hub) PID() int { return h.process.PID() }

// Exited returns a channel that is closed when the hub and all processes that it started have exited.
func (h *Hub) Exited() <-chan struct{} { return h.process.Exited() }

// Late reports whether the hub, after Terminate, exited before it had finished its calls because they took longer than
// its time limit.
func (h *Hub) Late() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	code, known := h.process.ExitCode()
	return h.terminated && !h.killed && known && code == 1 && h.output.cutOff()
}

// Fault returns an error if the hub, which must have exited, did so without a signal, or with a failure after Terminate.
// A hub that was late is not at fault.
func (h *Hub) Fault() error {
	late := h.Late()
	h.mu.Lock()
	defer h.mu.Unlock()
	code, known := h.process.ExitCode()
	switch {
	case h.killed:
		return nil
	case !h.terminated:
		return fmt.Errorf("%s exited without a signal, with code %d:\n%s", h.Name, code, h.process.Output())
	case !late && (!known || code != 0):
		return fmt.Errorf("%s exited on SIGTERM with code %d:\n%s", h.Name, code, h.process.Output())
	}
	return nil
}

// Close terminates every hub and waits until all have exited. It returns the joined faults of all hubs of the fleet,
// also of those that had exited before.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.hubs {
		select {
		case <-h.Exited():
		default:
			h.Terminate()
		}
	}
	var wrong []error
	over := time.After(stopTimeout)
	for _, h := range f.hubs {
		select {
		case <-h.Exited():
		case <-over:
			wrong = append(wrong, fmt.Errorf("%s did not exit on SIGTERM:\n%s", h.Name, h.process.Output()))
			h.process.Stop()
		}
		wrong = append(wrong, h.Fault())
	}
	return errors.Join(wrong...)
}

// Hubs returns all hubs that were started, including those that have exited.
func (f *Fleet) Hubs() []*Hub {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Hub(nil), f.hubs...)
}
