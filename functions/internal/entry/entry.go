package entry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley.internal/functions/internal/config"
	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/push/fcm"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Points are the functions of one process, over one store that is opened at the first call. They may be called by many
// at once.
type Points struct {
	// Env is the environment, read when the store is opened.
	Env func(string) string
	Now func() time.Time
	Log *slog.Logger

	mu      sync.Mutex
	running *running
}

// running is what the calls share once it is open.
type running struct {
	*app.App
	admin    *store.Admin
	sweepFor time.Duration
}

// Names are those of the reactions and of the sweeps. They need no store.
func Names() (reactions, sweeps []string) {
	known := app.New(nil, app.Ports{})
	for _, r := range known.Reactions() {
		reactions = append(reactions, r.Name)
	}
	for _, s := range known.Sweeps() {
		sweeps = append(sweeps, s.Function)
	}
	return reactions, sweeps
}

// open is what the calls share, opened if it is not yet. What fails is tried again by the next call; the fault is
// Unavailable.
func (p *Points) open(ctx context.Context) (*running, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		return p.running, nil
	}
	// What is opened outlives the call that opens it.
	r, err := p.start(context.WithoutCancel(ctx))
	if err != nil {
		p.Log.ErrorContext(ctx, "cannot start", "cause", err.Error())
		return nil, fault.Wrap(fault.Unavailable, err, "the function could not start; the log has the cause")
	}
	p.running = r
	return r, nil
}

func (p *Points) start(ctx context.Context) (*running, error) {
	c, err := config.Read(ctx, p.Env)
	if err != nil {
		return nil, err
	}
	sender, err := p.sender(ctx, c)
	if err != nil {
		return nil, err
	}
	d, err := firestore.Open(ctx, firestore.Options{Project: c.Project, EmulatorHost: c.EmulatorHost})
	if err != nil {
		return nil, err
	}
	db := store.New(d, app.Schema())
	return &running{App: app.New(db, app.Ports{Sender: sender, PublicURL: c.PublicURL}), admin: store.NewAdmin(db),
		sweepFor: c.Sweep}, nil
}

// sender rings devices through FCM. With an emulator and no stand-in for FCM pushes go to the log: what is tried out
// must not ring a phone.
func (p *Points) sender(ctx context.Context, c config.Config) (push.Sender, error) {
	if c.EmulatorHost != "" && c.FCMEndpoint == "" {
		return push.Log{To: p.Log}, nil
	}
	return fcm.New(ctx, fcm.Options{Project: c.FCMProject, Endpoint: c.FCMEndpoint, Log: p.Log})
}

var errNone = errors.New("there is no such function")

func (r *running) reaction(name string) (app.Reaction, error) {
	for _, reaction := range r.Reactions() {
		if reaction.Name == name {
			return reaction, nil
		}
	}
	return app.Reaction{}, errNone
}

func (r *running) sweep(function string) (app.Sweep, error) {
	for _, sweep := range r.Sweeps() {
		if sweep.Function == function {
			return sweep, nil
		}
	}
	return app.Sweep{}, errNone
}
