package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"parley.internal/services/hub/harness/chaos/fleet"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// user owns all agents.
const user = "local"

// secrets are the keys of a run.
type secrets struct {
	human  string
	agents []string
}

// seed makes the keys of the human and the agents, each bound to a program of its own.
func seed(ctx context.Context, dir string, agents int) (out secrets, err error) {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return out, err
	}
	d, err := sqlite.Open(ctx, filepath.Join(data, "parley.db"), app.Schema())
	if err != nil {
		return out, err
	}
	db := store.New(d, app.Schema())
	defer func() { err = errors.Join(err, db.Close()) }()
	issue := app.New(db, app.Ports{}).Keys.Issue
	made, err := issue(ctx, user, keys.CreateInput{Kind: identity.Human})
	if err != nil {
		return out, err
	}
	out.human = made.Key
	for i := range agents {
		made, err := issue(ctx, user, keys.CreateInput{Program: programName(i)})
		if err != nil {
			return out, err
		}
		out.agents = append(out.agents, made.Key)
	}
	return out, nil
}

func programName(i int) string { return fmt.Sprintf("agent-%04d", i) }

// server is the running server.
type server struct {
	fleet *fleet.Fleet
	hub   *fleet.Hub
	url   string
}

// start starts a server on the data directory.
func start(ctx context.Context, o Options) (*server, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir, "PARLEY_KEYRING=off"}
	raised, err := raisedLimits(ctx, o.Hub, env, 4*o.Agents)
	if err != nil {
		return nil, err
	}
	args := append([]string{o.Hub, "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(o.Dir, "data")}, raised...)
	s := &server{fleet: &fleet.Fleet{Args: args, Dir: o.Dir, Env: env}}
	if s.hub, err = s.fleet.Start(ctx); err != nil {
		return nil, err
	}
	s.url = s.hub.URL
	return s, nil
}

// raisedLimits returns the flags that let one user wait in so many calls, as far as the program has them.
func raisedLimits(ctx context.Context, hub string, env []string, waits int) (out []string, err error) {
	cmd := exec.CommandContext(ctx, hub, "serve", "--help")
	cmd.Env = env
	help, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s serve --help: %w\n%s", hub, err, help)
	}
	for _, flag := range []string{"--waits-per-key", "--waits-per-user", "--waits"} {
		if bytes.Contains(help, []byte(flag+" ")) {
			out = append(out, flag, strconv.Itoa(waits))
		}
	}
	return out, nil
}

func (s *server) pid() int { return s.hub.PID() }

// stop ends the server and returns an error if it had failed.
func (s *server) stop() error { return s.fleet.Close() }
