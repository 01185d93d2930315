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

// Project is the project of a stack. Its prefix keeps every client from the cloud.
const Project = "demo-parley"

// user owns the keys of a stack.
const user = "local"

// Options say how a stack runs.
type Options struct {
	// HubAddr is where the hub listens; a free port of 127.0.0.1 where it is empty.
	HubAddr string
	// OnPush is called with each push that the stand-in for FCM gets, one at a time.
	OnPush func(fcmtest.Message)
	// Output is where the hub and the functions write; nil is nowhere. It may be written to by several at once.
	Output io.Writer
	// Log is told of events that the functions did not take.
	Log *slog.Logger
}

// Stack is one that runs. Stop it.
type Stack struct {
	// Hub, Functions and FCM are base URLs, Emulator is host:port.
	Hub, Functions, FCM, Emulator string
	// HumanKey and AgentKey are keys of the same user; the agent is the program alpha.
	HumanKey, AgentKey string

	hub, functions *supervise.Service
	parley         string // the hub's program
	closers        []func()
}

// Start builds the programs and brings all of them up. Where the machine has no emulator to start, the error is
// [emulator.ErrNone].
func Start(ctx context.Context, o Options) (s *Stack, err error) {
	s = &Stack{}
	defer func() {
		if err != nil {
			s.Stop()
			s = nil
		}
	}()
	told, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, func() { _ = told.Close() })
	e, err := emulator.StartWith(ctx, emulator.Options{Functions: told.Addr().String()})
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
	s.startShim(told, o)
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

// serve serves until the stack stops.
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

// startPrograms builds and starts the hub and the functions, and makes the keys.
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
	hub := supervise.Server{Addr: o.HubAddr, Env: s.env(), Path: "/v1/health", Status: http.StatusOK, Output: o.Output,
		Args: func(addr string) []string {
			return []string{s.parley, "serve", "--store", "firestore", "--project", Project, "--addr", addr}
		}}
	if s.hub, err = hub.Start(ctx); err != nil {
		return fmt.Errorf("the hub: %w", err)
	}
	s.Hub = s.hub.URL()
	s.closers = append(s.closers, s.hub.Stop)
	env := append(s.env(), "GOOGLE_CLOUD_PROJECT="+Project, "PARLEY_FCM_ENDPOINT="+s.FCM+"/v1",
		"PARLEY_PUBLIC_URL="+s.Hub)
	functions := supervise.Server{Env: env, Path: "/CleanupLedger", Status: http.StatusMethodNotAllowed,
		Output: o.Output,
		Args:   func(addr string) []string { return []string{local, "--addr", addr} }}
	if s.functions, err = functions.Start(ctx); err != nil {
		return fmt.Errorf("the functions: %w", err)
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

// env is the environment of the programs. Nothing of ours is in it that could lead them to the cloud.
func (s *Stack) env() []string {
	env := []string{emulator.Variable + "=" + s.Emulator}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, has := os.LookupEnv(name); has {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Wait returns when ctx ends, or with an error when a program has ended by itself.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.hub.Exited():
		return errors.New("the hub has ended:\n" + s.hub.Output())
	case <-s.functions.Exited():
		return errors.New("the functions have ended:\n" + s.functions.Output())
	}
}

// Stop ends everything that Start has started, the last first.
func (s *Stack) Stop() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
	s.closers = nil
}
