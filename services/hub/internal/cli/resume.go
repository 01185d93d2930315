package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/runner/worker"
)

// resumption is the value of --resume.
type resumption struct{ worker.Resumption }

func (r *resumption) String() string { return string(r.Resumption) }

func (*resumption) Type() string { return "sessions" }

// Set takes a value, and those of the switch that the flag was before.
func (r *resumption) Set(text string) error {
	switch mode := worker.Resumption(text); mode {
	case worker.ByThread, worker.OneForAll, worker.Anew:
		r.Resumption = mode
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("the values are thread, all and none")
	}
	if r.Resumption = worker.Anew; on {
		r.Resumption = worker.ByThread
	}
	return nil
}

// addResume adds the flag --resume to a command that takes no arguments.
func addResume(cmd *cobra.Command, r *resumption) {
	r.Resumption = worker.ByThread
	cmd.Flags().Var(r, "resume", "the client's session that a task goes on with: that of the last task with its threadId (thread), "+
		"of the last task (all), or none")
	cmd.Flags().Lookup("resume").NoOptDefVal = string(worker.ByThread)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && cmd.Flags().Changed("resume") && new(resumption).Set(args[0]) == nil {
			return fmt.Errorf("write it in one word: --resume=%s", args[0])
		}
		return cobra.NoArgs(cmd, args)
	}
}
