package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/functions/internal/shim"
	"parley.internal/shared/app"
	"parley.internal/shared/push/fcm/fcmtest"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/supervise"
)

// Project is the project ID of a stack. With the prefix demo- the Firebase tools never call the cloud.
const Project = "demo-parley"

// user is the ID of the user who owns the keys of a stack, and of the account that its hub admits.
const user = "person"

// Options configure a stack.
type Options struct {
	// HubAddr is the host:port of the hub; empty means a free port of 127.0.0.1.
	HubAddr string
	// AuthEmulator is the host:port of a Firebase Auth emulator whose sign-ins the hub accepts; empty for none. The
	// stack makes an account there, the only one that the hub admits.
	AuthEmulator string
	// OnPush is called with each push, one at a time; it may be nil.
	OnPush func(fcmtest.Message)
	// Output receives the output of the hub and of the functions; nil discards it. It must be safe for concurrent use.
	Output io.Writer
	// Log receives failed deliveries of events; nil discards them.
	Log *slog.Logger
}

// Stack is a running stack. The caller must call Stop.
type Stack struct {
	// Hub, Functions and FCM are base URLs, Emulator is host:port.
	Hub, Functions, FCM, Emulator string
	// HumanKey and AgentKey are keys of the same user; the agent's program is alpha.
	HumanKey, AgentKey string
	// Email and Password sign in to the account at the Auth emulator; they are empty without one.
	Email, Password string

	hub, functions *supervise.Service
	parley         string // the path of the hub's program
	closers        []func()
}

// Start builds and starts the programs and returns when they are ready. If this machine has no Firestore emulator, the
// error is [emulator.ErrNone].
func Start(ctx context.Context, o Options) (s *Stack, err error) {
	s = &Stack{}
	defer func() {
		if err != nil {
			s.Stop()
			s = nil
		}
	}()
	triggers, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, func() { _ = triggers.Close() })
	e, err := emulator.StartWith(ctx, emulator.Options{Functions: triggers.Addr().String()})
	if err != nil {
		return s, err
	}
	s.Emulator = e.Addr
	s.closers = append(s.closers, e.Stop)
	if err = s.startFCM(ctx, o); err != nil {
		return s, err
	}
	if err = s.startPrograms(ctx, o); err != nil {
		return s, err
	}
	s.startShim(triggers, o)
	return s, shim.Register(ctx, s.Emulator, Project, app.New(nil, app.Ports{}).Reactions())
}

func (s *Stack) startFCM(ctx context.Context, o Options) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.FCM = "http://" + l.Addr().String()
	s.serve(l, &fcmtest.Handler{OnMessage: o.OnPush})
	return nil
}

func (s *Stack) startShim(l net.Listener, o Options) {
	between := &shim.Shim{Target: s.Functions, Log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	s.closers = append(s.closers, between.Close)
	s.serve(l, between)
}

// serve serves HTTP until the stack is stopped.
func (s *Stack) serve(l net.Listener, h http.Handler) {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l)
	}()
	s.closers = append(s.closers, func() {
		_ = srv.Close()
		<-ended
	})
}

// startPrograms builds and starts the hub and the functions, and creates the keys.
func (s *Stack) startPrograms(ctx context.Context, o Options) error {
	dir, err := os.MkdirTemp("", "parley-stack-")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = os.RemoveAll(dir) })
	s.parley = filepath.Join(dir, "parley")
	local := filepath.Join(dir, "functions")
	if err := build(ctx, s.parley, local); err != nil {
		return err
	}
	serve, hubEnv := []string{s.parley, "serve", "--store", "firestore", "--project", Project}, s.env()
	if o.AuthEmulator != "" {
		if err := s.signUp(ctx, o.AuthEmulator); err != nil {
			return err
		}
		serve = append(serve, "--sign-in-allow", user)
		hubEnv = append(hubEnv, AuthVariable+"="+o.AuthEmulator)
	}
	hub := supervise.Server{Addr: o.HubAddr, Env: hubEnv, Path: "/v1/health", Status: http.StatusOK, Output: o.Output,
		Args: func(addr string) []string { return append(slices.Clone(serve), "--addr", addr) }}
	if s.hub, err = hub.Start(ctx); err != nil {
		return fmt.Errorf("cannot start the hub: %w", err)
	}
	s.Hub = s.hub.URL()
	s.closers = append(s.closers, s.hub.Stop)
	env := append(s.env(), "GOOGLE_CLOUD_PROJECT="+Project, "PARLEY_FCM_ENDPOINT="+s.FCM+"/v1",
		"PARLEY_PUBLIC_URL="+s.Hub)
	functions := supervise.Server{Env: env, Path: "/CleanupLedger", Status: http.StatusMethodNotAllowed,
		Output: o.Output,
		Args:   func(addr string) []string { return []string{local, "--addr", addr} }}
	if s.functions, err = functions.Start(ctx); err != nil {
		return fmt.Errorf("cannot start the functions: %w", err)
	}
	s.Functions = s.functions.URL()
	s.closers = append(s.closers, s.functions.Stop)
	human, err := s.Run(ctx, "key", "create", "--user", user, "--kind", "human", "--name", "emulator")
	if err != nil {
		return err
	}
	agent, err := s.Run(ctx, "key", "create", "--user", user, "--program", "alpha", "--name", "emulator")
	s.HumanKey, s.AgentKey = human, agent
	return err
}

// env returns the environment of the programs. It passes on none of our variables that could lead them to the cloud.
func (s *Stack) env() []string {
	env := []string{emulator.Variable + "=" + s.Emulator}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, has := os.LookupEnv(name); has {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Wait returns nil when ctx ends, or an error when the hub or the functions exit.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.hub.Exited():
		return errors.New("the hub has exited:\n" + s.hub.Output())
	case <-s.functions.Exited():
		return errors.New("the functions have exited:\n" + s.functions.Output())
	}
}

// Stop stops everything that Start started, in reverse order. Further calls do nothing.
func (s *Stack) Stop() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
	s.closers = nil
}
