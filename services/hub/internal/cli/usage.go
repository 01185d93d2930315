package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitUsage is the exit code for a command line that cannot be meant.
const exitUsage = 2

// usage returns the error of a command line that cannot be meant.
func usage(format string, args ...any) error { return exit{exitUsage, fmt.Errorf(format, args...)} }

// hooks are the commands that clients of agents and git run as hooks. They take the exit code 2 for a refusal, so that a
// wrong command line keeps the code 1 there.
var hooks = []string{"hook", "guard"}

// distinguish lets a command and those below it end with the exit code 2 where their flags or arguments are wrong.
func distinguish(cmd *cobra.Command) {
	if slices.Contains(hooks, cmd.Name()) {
		cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return err })
		return
	}
	for _, c := range cmd.Commands() {
		distinguish(c)
	}
	explain := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrong(cmd, nearFlag(cmd, explain(cmd, err))) })
	if !cmd.Runnable() {
		cmd.Args, cmd.RunE = known, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := error(nil)
		if check != nil {
			err = check(cmd, args)
		}
		if err == nil { // cobra checks these after the arguments, with an error of no type
			err = cmd.ValidateRequiredFlags()
		}
		if err != nil {
			return wrong(cmd, err)
		}
		return nil
	}
}

func wrong(cmd *cobra.Command, err error) error {
	return usage("%w; see `%s --help`", err, cmd.CommandPath())
}

// helpCommand is the command help, which refuses a command that there is not.
func helpCommand() *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Explain a command", RunE: func(help *cobra.Command, args []string) error {
		cmd, rest, err := help.Root().Find(args)
		if err != nil {
			return err
		}
		if len(rest) > 0 && cmd.HasAvailableSubCommands() {
			return wrong(cmd, known(cmd, rest))
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}, PersistentPreRunE: func(*cobra.Command, []string) error { return nil }} // it needs no data
}

// known refuses a command that a group does not have.
func known(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return suggest(cmd, args[0], "", fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()))
}

// nearFlag adds the names of similar flags to the error about one that a command does not have.
func nearFlag(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || len(missing.GetSpecifiedName()) < 2 {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return suggest(groupOf(names...), missing.GetSpecifiedName(), "--", err)
}

// groupOf returns a group of commands with some names, because cobra compares names of commands alone.
func groupOf(names ...string) *cobra.Command {
	group := &cobra.Command{}
	for _, n := range names {
		group.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	return group
}

// suggest adds the names of a group's commands that are similar to a name to an error.
func suggest(cmd *cobra.Command, name, prefix string, err error) error {
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(name)
	if len(near) == 0 {
		return err
	}
	for i := range near {
		near[i] = prefix + near[i]
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
}
