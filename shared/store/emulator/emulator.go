package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Variable names the emulator of the environment, host:port.
const Variable = "FIRESTORE_EMULATOR_HOST"

// ErrNone says that this machine has no emulator, and how to get one.
var ErrNone = errors.New("no Firestore emulator: set " + Variable + ", or install one with " +
	"`gcloud components install cloud-firestore-emulator` and a Java runtime, or Node for the Firebase CLI")

// Emulator is a running emulator.
type Emulator struct {
	// Addr is its host:port.
	Addr string

	leash  io.Closer // closing it ends the process; nil where it is not ours
	exited chan struct{}
	output *tail
	clean  func()
	once   sync.Once
}

// Start brings up an emulator, or finds the one that the environment names. It
// is ready when Start returns, and runs until Stop or the end of this process.
// Where there is none to start, the error is ErrNone.
func Start(ctx context.Context) (*Emulator, error) {
	if addr := os.Getenv(Variable); addr != "" {
		return &Emulator{Addr: addr}, nil
	}
	launchers, errs := find(ctx), []error{ErrNone}
	for _, l := range launchers {
		e, err := l.start(ctx)
		if err == nil || !l.bestEffort {
			return e, err
		}
		errs = append(errs, fmt.Errorf("%s: %w", l.name, err))
	}
	return nil, errors.Join(errs...)
}

// Options are for an emulator that others do not share.
type Options struct {
	// Functions is the host:port of a server that is told of changes, as
	// POST /functions/projects/P/triggers/NAME for each trigger registered with the
	// emulator; empty tells nobody.
	Functions string
	// Rules is the path of a file of security rules; empty lets everyone do everything.
	Rules string
}

// StartWith brings up an emulator of the caller's own, whatever the environment
// names, as [Start] does. It takes gcloud's: the Firebase CLI cannot pass the options.
func StartWith(ctx context.Context, o Options) (*Emulator, error) {
	l, found := gcloud(ctx, o)
	if !found {
		return nil, ErrNone
	}
	return l.start(ctx)
}

// Stop ends the emulator, if it was started here.
func (e *Emulator) Stop() {
	e.once.Do(func() {
		if e.leash == nil {
			return
		}
		_ = e.leash.Close()
		<-e.exited
		e.clean()
	})
}

// portTries is how often another port is tried: between finding a free one and
// the emulator's taking it, someone else may.
const portTries = 3

func (l launcher) start(ctx context.Context) (e *Emulator, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	for range portTries {
		if e, err = l.launch(ctx); err == nil {
			if err = e.ready(ctx); err == nil {
				return e, nil
			}
			e.Stop()
		}
		if ctx.Err() != nil || l.bestEffort {
			break
		}
	}
	return nil, err
}

// watchdog runs its arguments, and ends them when its standard input closes:
// politely first, because some have children in groups of their own.
const watchdog = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{ cat <&3 >/dev/null; kill -TERM $child 2>/dev/null; sleep 5; kill -KILL 0; } &
wait $child
kill -KILL 0
`

func (l launcher) launch(ctx context.Context) (*Emulator, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	command, clean, err := l.command(port)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", append([]string{"-c", watchdog, "withemulator"}, command...)...)
	ownGroup(cmd)
	e := &Emulator{Addr: fmt.Sprintf("127.0.0.1:%d", port), exited: make(chan struct{}), output: &tail{}, clean: clean}
	cmd.Stdout, cmd.Stderr = e.output, e.output
	// What the emulator leaves holding its output must not hold us.
	cmd.WaitDelay = time.Second
	leash, err := cmd.StdinPipe()
	if err != nil {
		clean()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		clean()
		return nil, err
	}
	e.leash = leash
	go func() {
		defer close(e.exited)
		_ = cmd.Wait() // killed, always: the watchdog ends its own group
	}()
	return e, nil
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ready waits until the emulator answers.
func (e *Emulator) ready(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, e.Addr) {
			return nil
		}
		select {
		case <-tick.C:
		case <-e.exited:
			return fmt.Errorf("the emulator ended before it was ready:\n%s", e.output)
		case <-ctx.Done():
			return fmt.Errorf("the emulator at %s is not ready: %w\n%s", e.Addr, context.Cause(ctx), e.output)
		}
	}
}

func answers(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
