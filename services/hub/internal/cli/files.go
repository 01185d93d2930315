package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/guard"
	"parley.internal/shared/client"
	"parley.internal/shared/files"
)

const filesHelp = "Paths are relative to the working directory, in the git repository that it is in. The key is that of an\n" +
	"agent (PARLEY_KEY), whose reservations belong to PARLEY_SESSION if that is set, or else your own.\n\n" +
	"The exit code is 0 if the files are free or yours, 3 if another holds one, and 1 after any other trouble."

func (w *world) filesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "files", Short: "See and reserve the files that agents edit in a repository",
		Long: "See and reserve the files that agents edit in a repository. " + filesHelp}
	cmd.AddCommand(w.filesCheckCommand(), w.filesReserveCommand(), w.filesReleaseCommand(), w.filesListCommand())
	return cmd
}

// jsonFlag declares the flag for output as JSON.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print one JSON document")
}

func (w *world) filesCheckCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "check FILE...", Short: "Tell whether files are free, yours, or held by another",
		Long: "Tell whether files are free, yours, or held by another. " + filesHelp, Args: cobra.MinimumNArgs(1)}
	f, asJSON := w.repoFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := f.open()
		if err != nil {
			return err
		}
		paths, err := each(args, r.File)
		if err != nil {
			return err
		}
		in := files.CheckInput{Project: r.Project, Paths: paths, Worktree: r.Worktree}
		out, err := within(cmd.Context(), r, 0, func(ctx context.Context) (files.CheckOutput, error) { return r.CheckFiles(ctx, in) })
		if err != nil {
			return r.why(cmd.Context(), err)
		}
		if *asJSON {
			err = w.document(out)
		} else {
			err = w.rows(checkRows(out.Paths))
		}
		return anyHeld(out.Paths, err)
	}
	return cmd
}

// each returns the results of a function for all texts, or its first error.
func each(texts []string, do func(string) (string, error)) ([]string, error) {
	var out []string
	for _, t := range texts {
		s, err := do(t)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func checkRows(paths []files.Checked) [][]string {
	var rows [][]string
	for _, p := range paths {
		rows = append(rows, []string{p.Path, p.State, ""})
		for i, v := range p.By {
			if i > 0 {
				rows = append(rows, []string{"", "", ""})
			}
			rows[len(rows)-1][2] = guard.Tell(v)
		}
		for _, v := range p.Elsewhere {
			rows = append(rows, []string{"", "elsewhere", fmt.Sprintf("in the worktree %q %s", v.Worktree, guard.Tell(v))})
		}
	}
	return rows
}

// anyHeld returns an error with the exit code 3 if another holds one of the paths and there is no other error.
func anyHeld(paths []files.Checked, err error) error {
	n := 0
	for _, p := range paths {
		if p.State == files.Held {
			n++
		}
	}
	if err != nil || n == 0 {
		return err
	}
	return exit{exitHeld, fmt.Errorf("others hold %d of the %d files", n, len(paths))}
}

// rows prints a table.
func (w *world) rows(cells [][]string) error {
	for _, line := range table(cells) {
		if _, err := fmt.Fprintln(w.out, line[2:]); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) filesReserveCommand() *cobra.Command {
	var in files.ReserveInput
	var shared bool
	var lease, wait time.Duration
	cmd := &cobra.Command{Use: "reserve PATTERN...", Short: "Reserve files that you are about to edit: all patterns or none",
		Long: "Reserve files that you are about to edit: all patterns or none. In a pattern * stands for any characters, ? for " +
			"one,\n[a-z] for one of a class, {a,b} for either text, ** for any directories. The name of a directory stands for " +
			"all\nbelow it. " + filesHelp,
		Example: "  parley files reserve --reason 'a new grammar' src/parse 'docs/*.md'", Args: cobra.MinimumNArgs(1)}
	f, asJSON := w.repoFlags(cmd), jsonFlag(cmd)
	p := cmd.Flags()
	p.BoolVar(&shared, "shared", false, "keep out only those who want the files for themselves alone")
	p.DurationVar(&lease, "lease", 30*time.Minute, "time after which the reservation ends")
	p.StringVar(&in.Reason, "reason", "", "what you do there, for those who meet it")
	p.StringVar(&in.TaskID, "task", "", "a task whose end ends the reservation too")
	p.DurationVar(&wait, "wait", 0, "time to wait for your turn, such as 10m")
	p.BoolVar(&in.DryRun, "dry-run", false, "only tell what stands in the way")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := f.open()
		if err != nil {
			return err
		}
		if in.Paths, err = each(args, r.Pattern); err != nil {
			return err
		}
		in.Project, in.Worktree, in.Mode = r.Project, r.Worktree, files.Exclusive
		if in.Branch, err = r.Branch(cmd.Context()); err != nil {
			return err
		}
		if shared {
			in.Mode = files.Shared
		}
		if in.LeaseSeconds = int(lease / time.Second); lease <= 0 || wait < 0 {
			return fmt.Errorf("--lease must be a time such as 30m, and --wait one such as 10m")
		}
		if in.LeaseSeconds < 60 || lease > 24*time.Hour {
			return fmt.Errorf("--lease must be from 1m to 24h, not %s", lease)
		}
		out, err := r.reserve(cmd.Context(), in, wait)
		if held(err) {
			return exit{exitHeld, byFlags(r.why(cmd.Context(), err))}
		}
		if err != nil {
			return byFlags(r.why(cmd.Context(), err))
		}
		return w.printReserved(out, *asJSON)
	}
	return cmd
}

// byFlags returns an error with the flags of reserve in place of the fields of the call.
func byFlags(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	text := strings.NewReplacer("give waitMs", "give --wait", "waitMs", "--wait", "leaseSeconds", "--lease").Replace(err.Error())
	return &failure{text, e}
}

// reserve reserves files and waits for the turn for as long as told, in as many calls as it takes.
func (r *repo) reserve(ctx context.Context, in files.ReserveInput, patience time.Duration) (files.ReserveOutput, error) {
	type end struct {
		out files.ReserveOutput
		err error
	}
	e, err := client.Await(ctx, r.Client, patience, func(ctx context.Context, wait time.Duration) (end, bool, error) {
		in.WaitMs = int(wait / time.Millisecond)
		out, err := within(ctx, r, wait, func(ctx context.Context) (files.ReserveOutput, error) { return r.ReserveFiles(ctx, in) })
		if held(err) {
			return end{err: err}, false, nil
		}
		return end{out: out}, true, err
	})
	if err == nil {
		err = e.err
	}
	return e.out, err
}

func (w *world) printReserved(out files.ReserveOutput, asJSON bool) error {
	var err error
	if asJSON {
		err = w.document(out)
	} else {
		var rows [][]string
		for _, v := range out.Reservations {
			rows = append(rows, []string{v.Pattern, string(v.Mode), "yours until " + until(v.Until)})
		}
		for _, c := range out.Conflicts {
			rows = append(rows, []string{c.Path, files.Held, c.Why})
		}
		if out.DryRun && len(rows) == 0 {
			rows = [][]string{{"Nothing stands in the way."}}
		}
		err = w.rows(rows)
	}
	for _, text := range out.Warnings {
		fmt.Fprintln(w.err, "parley: warning:", text)
	}
	if err == nil && len(out.Conflicts) > 0 {
		return exit{exitHeld, fmt.Errorf("others stand in the way; nothing was reserved")}
	}
	return err
}

func (w *world) filesReleaseCommand() *cobra.Command {
	var in files.ReleaseInput
	cmd := &cobra.Command{Use: "release [PATTERN...]", Short: "Release your reservations in this repository",
		Long: "Release your reservations in this repository: all, or those with the patterns that they were reserved by. " +
			filesHelp}
	f, asJSON := w.repoFlags(cmd), jsonFlag(cmd)
	cmd.Flags().StringSliceVar(&in.ReservationIDs, "id", nil, "release by the id of a reservation; repeat it for more")
	cmd.Flags().StringVar(&in.TaskID, "task", "", "release those that were reserved for a task")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := f.open()
		if err != nil {
			return err
		}
		if in.Paths, err = each(args, r.Pattern); err != nil {
			return err
		}
		in.Project = r.Project
		out, err := within(cmd.Context(), r, 0, func(ctx context.Context) (files.ReleaseOutput, error) { return r.ReleaseFiles(ctx, in) })
		switch {
		case err != nil:
			return r.why(cmd.Context(), err)
		case *asJSON:
			return w.document(out)
		}
		rows := make([][]string, 0, len(out.Released)+len(out.NotFound))
		for _, v := range out.Released {
			rows = append(rows, []string{v.Pattern, "released"})
		}
		for _, name := range out.NotFound {
			rows = append(rows, []string{name, "not reserved"})
		}
		if len(rows) == 0 {
			rows = [][]string{{"You have no reservations here."}}
		}
		return w.rows(rows)
	}
	return cmd
}

func (w *world) filesListCommand() *cobra.Command {
	var in files.ListInput
	var all bool
	cmd := &cobra.Command{Use: "list [PATTERN]",
		Short: "List the reservations of files in this repository, or those of certain files",
		Long:  "List the reservations of files in this repository, or those that overlap a pattern. " + filesHelp,
		Args:  cobra.MaximumNArgs(1)}
	f, asJSON := w.repoFlags(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&in.Program, "program", "", "only reservations of this program")
	cmd.Flags().BoolVar(&all, "all", false, "of all repositories")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := f.open()
		if err != nil {
			return err
		}
		if !all {
			in.Project = r.Project
		} else if len(args) > 0 {
			return fmt.Errorf("a pattern is of one repository; omit it, or --all")
		}
		if len(args) > 0 {
			if in.Path, err = r.Pattern(args[0]); err != nil {
				return err
			}
		}
		found, err := r.reservations(cmd.Context(), in)
		switch {
		case err != nil:
			return r.why(cmd.Context(), err)
		case *asJSON:
			return w.document(files.ListOutput{Reservations: found})
		case len(found) == 0:
			_, err = fmt.Fprintln(w.out, "Nothing is reserved.")
			return err
		}
		return w.rows(listRows(found, all))
	}
	return cmd
}

// reservations returns all pages of a list.
func (r *repo) reservations(ctx context.Context, in files.ListInput) ([]files.View, error) {
	all := []files.View{}
	for {
		page, err := within(ctx, r, 0, func(ctx context.Context) (files.ListOutput, error) { return r.ListReservations(ctx, in) })
		if err != nil {
			return nil, err
		}
		all = append(all, page.Reservations...)
		if page.NextCursor == "" {
			return all, nil
		}
		in.Cursor = page.NextCursor
	}
}

func listRows(found []files.View, all bool) [][]string {
	rows := [][]string{{"PATTERN", "MODE", "WORKTREE", "ID", "HELD BY"}}
	for _, v := range found {
		pattern := v.Pattern
		if all {
			pattern = v.Project + ": " + pattern
		}
		rows = append(rows, []string{pattern, string(v.Mode), v.Worktree, v.ReservationID, guard.Tell(v)})
	}
	return rows
}
