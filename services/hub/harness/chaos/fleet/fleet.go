package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
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

	leash  io.Closer
	output *output
	exited chan struct{}
	mu     sync.Mutex
	killed bool // by Kill, so that nobody asks how it ended
	told   bool // by Terminate
}

const (
	// patience is how long a hub may take to be there.
	patience = time.Minute
	// farewell is how long one may take to end when it is told to: more than it gives
	// the calls that it still serves.
	farewell = 30 * time.Second
)

// watchdog runs its arguments, tells their process and its end, and ends them when
// its standard input closes.
const watchdog = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
echo "watchdog: pid $child"
{ cat <&3 >/dev/null; kill -KILL $child 2>/dev/null; sleep 5; kill -KILL 0; } &
wait $child
echo "watchdog: exit $?"
kill -KILL 0
`

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
	case <-h.exited:
		return nil, fmt.Errorf("%s ended before it served:\n%s", h.Name, h.output)
	case <-ctx.Done():
		h.Kill()
		return nil, fmt.Errorf("%s does not serve: %w\n%s", h.Name, context.Cause(ctx), h.output)
	}
}

func (f *Fleet) launch() (*Hub, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := &Hub{Name: fmt.Sprintf("hub-%d", len(f.hubs)+1), exited: make(chan struct{})}
	h.Log = filepath.Join(f.Dir, h.Name+".log")
	file, err := os.Create(h.Log)
	if err != nil {
		return nil, err
	}
	h.output = newOutput(file)
	cmd := exec.Command("sh", append([]string{"-c", watchdog, "watchdog"}, f.Args...)...)
	ownGroup(cmd)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = f.Env, h.output, h.output, time.Second
	leash, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	h.leash = leash
	f.hubs = append(f.hubs, h)
	go func() {
		defer close(h.exited)
		_ = cmd.Wait() // killed, always: the watchdog ends its own group
		_ = file.Close()
	}()
	return h, nil
}

// Kill ends the hub as kill -9 does, at once.
func (h *Hub) Kill() {
	h.mu.Lock()
	h.killed = true
	h.mu.Unlock()
	if h.signal(syscall.SIGKILL) != nil {
		_ = h.leash.Close() // it has not said who it is
	}
}

// Terminate tells the hub to end, which it does when the calls that it serves are done.
func (h *Hub) Terminate() {
	h.mu.Lock()
	h.told = true
	h.mu.Unlock()
	_ = h.signal(syscall.SIGTERM) // one that is gone needs no telling
}

func (h *Hub) signal(s os.Signal) error {
	pid, running := h.output.process()
	if !running {
		return os.ErrProcessDone
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(s)
}

// Exited is closed when the hub has ended, with all that it started.
func (h *Hub) Exited() <-chan struct{} { return h.exited }

// Output is the last that the hub wrote.
func (h *Hub) Output() string { return h.output.String() }

// Late says that a hub which was told to end gave up some of its last work, because
// that took longer than it may.
func (h *Hub) Late() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	code, known := h.output.exit()
	return h.told && !h.killed && known && code == 1 && h.output.cutOff()
}

// Fault says what is wrong with how an exited hub ended, or nothing: that it did so
// unasked, or not well when it was told to. To be late is no fault.
func (h *Hub) Fault() error {
	late := h.Late()
	h.mu.Lock()
	defer h.mu.Unlock()
	code, known := h.output.exit()
	switch {
	case h.killed:
		return nil
	case !h.told:
		return fmt.Errorf("%s ended by itself, with %d:\n%s", h.Name, code, h.output)
	case !late && (!known || code != 0):
		return fmt.Errorf("%s was told to end and did so with %d:\n%s", h.Name, code, h.output)
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
		case <-h.exited:
		default:
			h.Terminate()
		}
	}
	var wrong []error
	over := time.After(farewell)
	for _, h := range f.hubs {
		select {
		case <-h.exited:
		case <-over:
			wrong = append(wrong, fmt.Errorf("%s does not end:\n%s", h.Name, h.output))
			_ = h.leash.Close() // the shell ends it
			<-h.exited
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
