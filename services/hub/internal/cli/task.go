package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

const taskIDs = "ID is the id of the task, or a beginning of at least 4 characters that no other task has."

func (w *world) taskCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "Show, create, cancel or requeue a task",
		Example: "  parley task create --target beta 'Review the parser'\n  parley task show 0198c0de"}
	cmd.AddCommand(w.taskShow(), w.taskCreate(),
		w.taskMove("cancel", "cancelled", task.Derezzed, "Cancel a task that has not ended",
			"Cancel a task that has not ended; dismiss one that failed. Its claim ends. "),
		w.taskMove("requeue", "queued again:", task.Created, "Put a task that failed or is in work back into its queue",
			"Put a task back into its queue, so that it can be claimed again: one that failed, or one in work, which is taken\n"+
				"from its agent. "))
	return cmd
}

func (w *world) taskShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "Show a task with its history", Args: cobra.ExactArgs(1),
		Long:    "Show a task: its instructions, who has it and until when, its notes and its result. " + taskIDs,
		Example: "  parley task show 0198c0de\n  parley task show 0198c0de --json"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		t, err := h.findTask(cmd.Context(), args[0])
		switch {
		case err != nil:
			return err
		case *asJSON:
			return w.document(t)
		}
		width, _, _ := terminalSize(w.out)
		_, err = io.WriteString(w.out, describeTask(t, h.now(), width))
		return err
	}
	return cmd
}

func (w *world) taskCreate() *cobra.Command {
	var in dispatch.CreateInput
	var priority string
	cmd := &cobra.Command{Use: "create TITLE...", Short: "Put a task into a queue", Args: cobra.MinimumNArgs(1),
		Long: "Put a task into the queue of a program. The words of TITLE are joined by spaces.",
		Example: "  parley task create --target beta --priority high 'Review the parser'\n" +
			"  git diff | parley task create Review this --target beta --instructions -"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&in.Target, "target", task.Any, "the program that should do it; any lets whoever is free take it")
	f.StringVar(&in.Instructions, "instructions", "", "what to do, in full; - reads it from standard input")
	f.StringVar(&priority, "priority", string(task.Normal), "low, normal or high")
	f.StringVar(&in.ProjectID, "project", "", "the project that it belongs to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if in.Priority, err = priorityOf(priority); err != nil {
			return err
		}
		if in.Instructions == "-" {
			if in.Instructions, err = w.input("instructions"); err != nil {
				return err
			}
		}
		h, err := connect()
		if err != nil {
			return err
		}
		in.Title, in.Source = strings.Join(args, " "), task.User
		out, err := h.CreateTask(cmd.Context(), in)
		if err != nil {
			return h.explain(cmd.Context(), err)
		}
		return w.done(out, *asJSON, out.Warning, "created %s for %s", out.TaskID, out.Target)
	}
	return cmd
}

func (w *world) taskMove(name, said string, to task.Status, short, long string) *cobra.Command {
	var note string
	cmd := &cobra.Command{Use: name + " ID", Short: short, Long: long + taskIDs, Args: cobra.ExactArgs(1),
		Example: fmt.Sprintf("  parley task %s 0198c0de\n  parley task %s 0198c0de --note 'see the issue'", name, name)}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&note, "note", "", "why, for those who read the task; it replaces the note before")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		t, err := h.findTask(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		out, err := h.UpdateTask(cmd.Context(), dispatch.UpdateInput{TaskID: t.ID, Status: to, Note: note})
		if err != nil {
			return h.explain(cmd.Context(), err)
		}
		return w.done(out, *asJSON, "", "%s %s", said, out.ID)
	}
	return cmd
}

// done prints the result of a command, as a line or a document, and the warning of the server on standard error.
func (w *world) done(out any, asJSON bool, warning, format string, args ...any) error {
	if warning != "" {
		fmt.Fprintln(w.err, "parley: warning:", printable.Line(warning))
	}
	if asJSON {
		return w.document(out)
	}
	_, err := fmt.Fprintln(w.out, printable.Line(fmt.Sprintf(format, args...)))
	return err
}

func priorityOf(text string) (task.Priority, error) {
	switch p := task.Priority(text); p {
	case task.Low, task.Normal, task.High:
		return p, nil
	}
	return "", usage("--priority must be low, normal or high, not %q", text)
}

// input reads a text from standard input.
func (w *world) input(what string) (string, error) {
	read, err := io.ReadAll(io.LimitReader(w.in, maxInput))
	if err != nil {
		return "", fmt.Errorf("cannot read the %s: %w", what, err)
	}
	text := strings.TrimRight(string(read), "\r\n")
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("the %s from standard input is empty", what)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// maxLooked is the number of tasks among which a beginning of an id is looked up.
const maxLooked = 5000

// findTask returns the task with an id or a beginning of one.
func (h *human) findTask(ctx context.Context, id string) (dispatch.View, error) {
	t, err := h.GetTask(ctx, dispatch.TaskInput{TaskID: id})
	if !missing(err) {
		return t, h.explain(ctx, err)
	}
	if len(id) < minPrefix {
		return t, fmt.Errorf("give at least %d characters of the task's id; `parley tasks` lists them", minPrefix)
	}
	var begin []dispatch.View
	looked := 0
	for _, kind := range []task.Type{"all", task.Alert, task.Sprint, task.Story} {
		err := h.tasks(ctx, dispatch.ListInput{Status: "all", Type: kind}, func(t dispatch.View) bool {
			if strings.HasPrefix(t.ID, id) {
				begin = append(begin, t)
			}
			looked++
			return looked < maxLooked
		})
		if err != nil {
			return t, err
		}
	}
	switch {
	case looked >= maxLooked:
		return t, fmt.Errorf("there are too many tasks to look for an abbreviated id; give the whole one, which " +
			"`parley tasks --json` prints")
	case len(begin) == 0:
		return t, fmt.Errorf("no task has the id %q or one that begins so; `parley tasks --status all` lists them", id)
	case len(begin) > 1:
		return t, ambiguous(id, "tasks", begin, func(t dispatch.View) (string, string) { return t.ID, t.Title })
	}
	t, err = h.GetTask(ctx, dispatch.TaskInput{TaskID: begin[0].ID})
	return t, h.explain(ctx, err)
}

// ambiguous returns the error for a beginning that several ids have. It shows the first of them.
func ambiguous[T any](id, what string, found []T, tell func(T) (id, text string)) error {
	const shown = 10
	text := fmt.Sprintf("%d %s have ids that begin with %q; give more characters:", len(found), what, id)
	for i, f := range found {
		if i == shown {
			text += "\n  …"
			break
		}
		whole, title := tell(f)
		text += fmt.Sprintf("\n  %s  %s", printable.Line(whole), cut(printable.Line(title), 60))
	}
	return errors.New(text)
}

// missing reports whether a call failed because there is no such object, or the text cannot be the id of one.
func missing(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && (e.Code == fault.NotFound.Code() || e.Code == fault.Invalid.Code())
}

// describeTask returns a task in the form of `parley task show`. Long texts of agents stand behind a bar, so that they
// cannot imitate the output of the command.
func describeTask(t dispatch.View, now time.Time, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", printable.Line(t.ID))
	quote(&b, t.Title, width)
	line := func(label, text string) {
		if text == "" {
			return
		}
		for i, part := range wrap(printable.Line(text), width, 15) {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(&b, "  %-12s %s\n", label, part)
		}
	}
	at := func(label string, t time.Time, by string) {
		if !t.IsZero() {
			text := until(t) + ", " + ago(t, now)
			if by != "" {
				text += ", by " + by
			}
			line(label, text)
		}
	}
	source := t.Source
	if source != "" && !t.Verified {
		source += " (unverified)"
	}
	line("type", string(t.Type))
	line("status", string(t.Status))
	line("priority", string(t.Priority))
	line("for", strings.Join(append([]string{t.Target}, t.Fallback...), ", else "))
	line("project", t.ProjectID)
	at("created", t.CreatedAt, source)
	at("claimed", t.StartedAt, t.ClaimedBy)
	if t.Attempts > 0 {
		line("attempts", fmt.Sprintf("%d leases ran out", t.Attempts))
	}
	if !t.LeaseUntil.IsZero() && !t.Status.Ended() {
		line("lease", left(t.LeaseUntil, now))
	}
	at("ended", t.CompletedAt, t.EndedBy)
	line("cancelled", t.CancelledBy)
	for _, part := range []struct{ title, text string }{{"Instructions", t.Instructions}, {"Context", t.Context},
		{"Note", t.Note}, {"Reason", t.Reason}, {"Result", t.Result}} {
		if part.text != "" {
			fmt.Fprintf(&b, "  %s:\n", part.title)
			quote(&b, part.text, width)
		}
	}
	return b.String()
}
