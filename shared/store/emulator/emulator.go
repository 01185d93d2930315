package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"parley.internal/shared/supervise"
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

	service *supervise.Service // nil where it is not ours
	dir     string             // removed after its end; empty where it has none
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
	if e.service == nil {
		return
	}
	e.service.Stop()
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
}

// grace is the time that an emulator has to end: the Firebase CLI ends its children, which are in process groups of
// their own.
const grace = 5 * time.Second

func (l launcher) start(ctx context.Context) (*Emulator, error) {
	e := &Emulator{}
	if l.temporary {
		var err error
		if e.dir, err = os.MkdirTemp("", "firestore-emulator-"); err != nil {
			return nil, err
		}
	}
	server := supervise.Server{Path: "/", Status: http.StatusOK, Grace: grace, Patience: l.patience,
		Args: func(addr string) []string {
			_, port, _ := net.SplitHostPort(addr) // it comes from a listener
			return l.args(e.dir, port)
		}}
	if l.bestEffort {
		server.Attempts = 1
	}
	service, err := server.Start(ctx)
	if err != nil {
		if e.dir != "" {
			_ = os.RemoveAll(e.dir)
		}
		return nil, fmt.Errorf("the Firestore emulator: %w", err)
	}
	e.Addr, e.service = service.Addr, service
	return e, nil
}
