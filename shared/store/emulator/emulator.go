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

// Variable is the environment variable with the host:port of a running emulator.
const Variable = "FIRESTORE_EMULATOR_HOST"

// ErrNone reports that the machine has no emulator. Its text says how to install one.
var ErrNone = errors.New("no Firestore emulator: set " + Variable + ", or install one with " +
	"`gcloud components install cloud-firestore-emulator` and a Java runtime, or Node for the Firebase CLI")

// Emulator is a running emulator.
type Emulator struct {
	// Addr is its host:port.
	Addr string

	service *supervise.Service // nil for an emulator of the environment
	dir     string             // its working directory, removed after its end; may be empty
}

// Start starts an emulator, or returns the one that the environment names. The emulator is ready when Start returns,
// and runs until Stop or the end of this process. If the machine has none, the error matches ErrNone.
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

// Options configure an emulator that is not shared.
type Options struct {
	// Functions is the host:port of a server that receives changes, as POST /functions/projects/P/triggers/NAME for
	// each trigger registered with the emulator. Empty means none.
	Functions string
	// Rules is the path of a file of security rules. Empty allows everything.
	Rules string
}

// StartWith starts an emulator for the caller alone, even if the environment names one. It requires the emulator of
// gcloud, because the Firebase CLI cannot pass the options; without it the error is ErrNone.
func StartWith(ctx context.Context, o Options) (*Emulator, error) {
	l, found := gcloud(ctx, o)
	if !found {
		return nil, ErrNone
	}
	return l.start(ctx)
}

// Stop ends the emulator, unless it is that of the environment.
func (e *Emulator) Stop() {
	if e.service == nil {
		return
	}
	e.service.Stop()
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
}

// grace is the time that an emulator has to end. The Firebase CLI needs it to end its children, which are in process
// groups of their own.
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
