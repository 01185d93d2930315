package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// waitsEach is more than the number of waits of an agent: its mail, its tasks, its team and an answer.
const waitsEach = 5

// start starts a server on the data directory, which lets one user wait as often as all agents do.
func start(ctx context.Context, o Options) (*server, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir, "PARLEY_KEYRING=off"}
	waits := strconv.Itoa(waitsEach * o.Agents)
	args := []string{o.Hub, "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(o.Dir, "data"),
		"--waits-user", waits, "--waits", waits}
	s := &server{fleet: &fleet.Fleet{Args: args, Dir: o.Dir, Env: env}}
	var err error
	if s.hub, err = s.fleet.Start(ctx); err != nil {
		return nil, err
	}
	s.url = s.hub.URL
	return s, nil
}

func (s *server) pid() int { return s.hub.PID() }

// stop ends the server and returns an error if it had failed.
func (s *server) stop() error { return s.fleet.Close() }
