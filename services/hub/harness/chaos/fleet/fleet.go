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

// Fleet starts hubs that are alike.
type Fleet struct {
	// Args is the whole command of a hub. It says where it serves as the serve command does.
	Args []string
	// Env is its whole environment.
	Env []string
	// Dir is where the output of each hub is kept, in a file of its own.
	Dir string

	mu   sync.Mutex
	hubs []*Hub
}

// Hub is a hub that was started.
type Hub struct {
	// Name is hub-1 for the first of its fleet, and so on.
	Name string
	// URL is its http://host:port.
	URL string
	// Log is the file with what it wrote.
	Log string

	process *supervise.Process
	output  *output
	mu      sync.Mutex
	killed  bool // by Kill: any end is right then
	told    bool // by Terminate
}

const (
	// patience is how long a hub may take to be there.
	patience = time.Minute
	// farewell is how long one may take to end when it is told to: more than it gives
	// the calls that it still serves.
	farewell = 30 * time.Second
)

// Start brings up a hub. It listens when Start returns.
func (f *Fleet) Start(ctx context.Context) (*Hub, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, err := f.launch()
	if err != nil {
		return nil, err
	}
	select {
	case h.URL = <-h.output.url:
		return h, nil
	case <-h.Exited():
		return nil, fmt.Errorf("%s ended before it served:\n%s", h.Name, h.process.Output())
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
	// A run that was killed does not wait for the last work of its hubs.
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

// Kill ends the hub as kill -9 does, at once.
func (h *Hub) Kill() {
	h.mu.Lock()
	h.killed = true
	h.mu.Unlock()
	_ = h.process.Signal(os.Kill) // one that has ended needs no kill
}

// Terminate tells the hub to end, which it does when the calls that it serves are done.
func (h *Hub) Terminate() {
	h.mu.Lock()
	h.told = true
	h.mu.Unlock()
	_ = h.process.Signal(syscall.SIGTERM) // one that has ended need not be told
}

// Exited is closed when the hub has ended, with all that it started.
func (h *Hub) Exited() <-chan struct{} { return h.process.Exited() }

// Output returns the last that the hub wrote.
func (h *Hub) Output() string { return h.process.Output() }

// Late says that a hub which was told to end gave up some of its last work, because
// that took longer than it may.
func (h *Hub) Late() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	code, known := h.process.ExitCode()
	return h.told && !h.killed && known && code == 1 && h.output.cutOff()
}

// Fault says what is wrong with how an exited hub ended, or nothing: that it did so
// unasked, or not well when it was told to. To be late is no fault.
func (h *Hub) Fault() error {
	late := h.Late()
	h.mu.Lock()
	defer h.mu.Unlock()
	code, known := h.process.ExitCode()
	switch {
	case h.killed:
		return nil
	case !h.told:
		return fmt.Errorf("%s ended by itself, with %d:\n%s", h.Name, code, h.process.Output())
	case !late && (!known || code != 0):
		return fmt.Errorf("%s was told to end and did so with %d:\n%s", h.Name, code, h.process.Output())
	}
	return nil
}

// Close tells every hub to end and waits until it has. Its error says which ended
// otherwise than they should have, whenever that was.
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
	over := time.After(farewell)
	for _, h := range f.hubs {
		select {
		case <-h.Exited():
		case <-over:
			wrong = append(wrong, fmt.Errorf("%s does not end:\n%s", h.Name, h.process.Output()))
			h.process.Stop()
		}
		wrong = append(wrong, h.Fault())
	}
	return errors.Join(wrong...)
}

// Hubs are all that were started, those that ended among them.
func (f *Fleet) Hubs() []*Hub {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Hub(nil), f.hubs...)
}
