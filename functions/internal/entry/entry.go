package entry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"parley.internal/functions/internal/config"
	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/push/direct"
	"parley.internal/shared/push/fcm"
	"parley.internal/shared/push/webpush"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Handlers are the functions of one process. They share one store, which the first call opens, and are safe for
// concurrent use.
type Handlers struct {
	// Env looks up a variable of the environment. It is called when the store is opened.
	Env func(string) string
	Now func() time.Time
	Log *slog.Logger

	mu       sync.Mutex
	services *services
}

// services are the shared parts of the functions.
type services struct {
	*app.App
	admin    *store.Admin
	sweepFor time.Duration
}

// Names returns the names of the reactions and of the sweeps. It opens no store.
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

// open returns the services and opens them if necessary. After a failure the next call tries again; the fault is
// Unavailable.
func (p *Handlers) open(ctx context.Context) (*services, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.services != nil {
		return p.services, nil
	}
	// The services outlive the call that opens them.
	r, err := p.start(context.WithoutCancel(ctx))
	if err != nil {
		p.Log.ErrorContext(ctx, "cannot open the store", "cause", err.Error())
		return nil, fault.Wrap(fault.Unavailable, err, "the function cannot start; the log has the cause")
	}
	p.services = r
	return r, nil
}

func (p *Handlers) start(ctx context.Context) (*services, error) {
	c, err := config.Read(ctx, p.Env)
	if err != nil {
		return nil, err
	}
	sender, err := p.sender(ctx, c)
	if err != nil {
		return nil, err
	}
	ways, err := p.direct(c)
	if err != nil {
		return nil, err
	}
	d, err := firestore.Open(ctx, firestore.Options{Project: c.Project, EmulatorHost: c.EmulatorHost})
	if err != nil {
		return nil, err
	}
	db := store.New(d, app.Schema())
	return &services{App: app.New(db, app.Ports{Sender: sender, Direct: ways, PublicURL: c.PublicURL,
		KeepIdle: c.KeepIdle}), admin: store.NewAdmin(db), sweepFor: c.Sweep}, nil
}

// sender returns the sender for FCM. With an emulator but without a stand-in for FCM pushes are only logged, so that
// development never notifies a real phone.
func (p *Handlers) sender(ctx context.Context, c config.Config) (push.Sender, error) {
	if c.EmulatorHost != "" && c.FCMEndpoint == "" {
		return push.Log{To: p.Log}, nil
	}
	return fcm.New(ctx, fcm.Options{Project: c.FCMProject, Endpoint: c.FCMEndpoint, Log: p.Log})
}

// direct returns the sender to devices at addresses of their own, of which it calls public ones only.
func (p *Handlers) direct(c config.Config) (*direct.Sender, error) {
	var keys webpush.Keys
	if c.VAPIDKey != "" {
		var err error
		if keys, err = webpush.ParseKeys(c.VAPIDKey); err != nil {
			return nil, fmt.Errorf("PARLEY_VAPID_KEY: %w", err)
		}
	}
	return direct.New(direct.Options{Keys: keys, Contact: c.Contact, Log: p.Log}), nil
}

var errUnknown = errors.New("there is no such function")

func (r *services) reaction(name string) (app.Reaction, error) {
	for _, reaction := range r.Reactions() {
		if reaction.Name == name {
			return reaction, nil
		}
	}
	return app.Reaction{}, errUnknown
}

func (r *services) sweep(function string) (app.Sweep, error) {
	for _, sweep := range r.Sweeps() {
		if sweep.Function == function {
			return sweep, nil
		}
	}
	return app.Sweep{}, errUnknown
}
