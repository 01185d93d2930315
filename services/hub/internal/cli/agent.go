package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/runner"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/worker"
	"parley.internal/shared/identity"
)

// agentFlags are the flags of the agent command.
type agentFlags struct {
	clientFlags
	program, dir, model, project string
	turns, tasks                 int
	budget                       float64
	resume                       resumption
	lease                        time.Duration
}

func (w *world) agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{Use: "agent", Short: "Serve a program's queue with an agent of this machine",
		Long: "Serve a program's queue: claim the next task, run Claude Code or Codex on it without a terminal, keep\n" +
			"the claim while it works, and complete the task with its last words, its tokens and its dollars, or\n" +
			"fail it. Then comes the next task; where there is none, it waits.\n\n" +
			"The key is the program's own, or a person's: with that, the program and each task get keys of their\n" +
			"own, which end with them. The agent may use Parley's tools. What else it may do is for the client's\n" +
			"own settings and for --client-arg to say. An interrupt ends the client and gives the task back. After\n" +
			"a kill the next start with the same --state goes on; without one the task returns to the queue when\n" +
			"its lease is over.",
		Example: "  parley agent --program worker --client claude --client-arg=--permission-mode=acceptEdits --budget 2\n" +
			"  parley agent --program worker --client codex --client-arg=--sandbox=workspace-write --dir ~/work/site\n" +
			"  parley agent --program worker --command '[\"sh\", \"build.sh\"]' --max-tasks 1",
	}
	connect := w.humanFlags(cmd)
	fl := cmd.Flags()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// A key in PARLEY_KEY is meant for agents, and wins over the person's.
		if !fl.Changed("key-env") && w.env("PARLEY_KEY") != "" {
			if err := fl.Set("key-env", "PARLEY_KEY"); err != nil {
				return err
			}
		}
		return w.runAgent(cmd.Context(), f, connect)
	}
	f.add(fl, "the client", "program")
	fl.StringVar(&f.program, "program", "", "the program whose queue it serves (required)")
	fl.StringVar(&f.dir, "dir", ".", "directory in which the client works")
	fl.StringVar(&f.model, "model", "", "the client's name of a model; by default the client's own choice")
	fl.StringVar(&f.project, "project", "", "serve the tasks of this project only")
	fl.IntVar(&f.turns, "max-turns", 0, "turns for one task, after which it fails (claude)")
	fl.Float64Var(&f.budget, "budget", 0, "dollars for one task, after which it fails (claude)")
	addResume(cmd, &f.resume)
	fl.IntVar(&f.tasks, "max-tasks", 0, "end after this many tasks; 0 means never")
	fl.DurationVar(&f.lease, "lease", 5*time.Minute, "time after which the task of a worker that was killed goes back")
	fl.Lookup("key-env").Usage = "the variable that holds a key of the program or a human's key; by default PARLEY_KEY, else " +
		"the human's key of this machine"
	_ = cmd.MarkFlagRequired("program")
	return cmd
}

// check returns an error for a flag that cannot be meant.
func (f *agentFlags) check() error {
	switch {
	case !identity.ValidName(f.program):
		return fmt.Errorf("%q is not the name of a program; use letters, digits, dots, underscores and hyphens", f.program)
	case f.turns < 0 || f.tasks < 0 || f.budget < 0:
		return errors.New("--max-turns, --max-tasks and --budget must not be negative")
	case f.lease < 30*time.Second || f.lease > 24*time.Hour:
		return fmt.Errorf("--lease must be from 30s to 24h, not %v", f.lease)
	}
	return f.checkGrace()
}

func (w *world) runAgent(ctx context.Context, f agentFlags, connect func() (*human, error)) (err error) {
	if err := launch.Protect(); err != nil {
		return fmt.Errorf("cannot hide the agent's memory from other processes: %w", err)
	}
	if err := f.check(); err != nil {
		return err
	}
	owner, err := connect()
	if err != nil {
		return err
	}
	command, err := f.chosen(owner.key)
	if err != nil {
		return err
	}
	dir, err := existingDir("--dir", f.dir)
	if err != nil {
		return err
	}
	state, err := f.stateIn(w, "agent", f.program, owner.Base())
	if err != nil {
		return err
	}
	kept, err := journal.Open(state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	self, err := executable()
	if err != nil {
		return err
	}
	with, err := f.enter(ctx, owner, kept)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.leave()) }()
	served := &worker.Worker{Server: with.calls, Keys: with.keys, Journal: kept, Command: command, Program: f.program,
		Key: with.key, Grant: with.grant, URL: owner.Base(), Dir: dir, Project: f.project, Model: f.model,
		Limits: worker.Limits{Turns: f.turns, Dollars: f.budget}, Resume: f.resume.Resumption, Tasks: f.tasks,
		Env: os.Environ(), Child: []string{self, runnerChild}, Times: worker.Times{Lease: f.lease, Grace: f.grace},
		Log: slog.New(slog.NewTextHandler(w.err, nil)), Now: time.Now}
	return served.Run(ctx)
}

// chosen returns the command that the flags choose.
func (f *agentFlags) chosen(key string) (*runner.Command, error) {
	command := new(runner.Command)
	if err := f.apply(command); err != nil {
		return nil, err
	}
	if err := command.Choose(command.Environment(os.Environ(), key, "")); err != nil {
		return nil, err
	}
	c := command.Chosen()
	if c == nil && (f.turns != 0 || f.budget != 0) {
		return nil, errors.New("--max-turns and --budget are for claude; leave them out with --command")
	}
	if c == nil {
		return command, nil
	}
	return command, c.CheckLimits(f.turns, f.budget)
}
