package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/task"
)

// perList is the number of tasks in a page.
const perList = 50

// openStatuses are the statuses of tasks that wait or are in work, in the order in which they are listed.
var openStatuses = []task.Status{task.Active, task.Blocked, task.Completing, task.Created}

func (w *world) tasksCommand() *cobra.Command {
	var status, program string
	var limit int
	cmd := &cobra.Command{Use: "tasks", Short: "List the tasks in the queues and those in work", Args: cobra.NoArgs,
		Long: "List tasks: the beginning of the id, the status, whom it is for and who has it, the priority, the age and the\n" +
			"title. Tasks in work come first, then those that wait, high priority first, then oldest.",
		Example: "  parley tasks\n  parley tasks --program beta --status failed\n  parley tasks --status all --json | jq '.tasks[].title'"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&program, "program", "", "only the queue of this program")
	cmd.Flags().StringVar(&status, "status", "open",
		"open (created, active, blocked or completing), one of these, done, failed, derezzed (cancelled) or all")
	cmd.Flags().IntVar(&limit, "limit", perList, "list at most `N` tasks")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted := openStatuses
		if status != "open" {
			wanted = []task.Status{task.Status(status)}
			if status != "all" && !slices.Contains(task.Statuses(), wanted[0]) {
				return usage("--status must be open, all, created, active, blocked, completing, done, failed or derezzed, not %q", status)
			}
		}
		h, err := connectLimited(connect, limit)
		if err != nil {
			return err
		}
		out, more := dispatch.ListOutput{Tasks: []dispatch.View{}}, false
		for _, s := range wanted {
			in := dispatch.ListInput{Status: s, Type: "all", Target: program}
			err := h.tasks(cmd.Context(), in, func(t dispatch.View) bool {
				if more = len(out.Tasks) == limit; !more && t.Type != task.Question {
					out.Tasks = append(out.Tasks, t)
				}
				return !more
			})
			if err != nil {
				return err
			}
		}
		if *asJSON {
			return w.document(out)
		}
		return w.printTasks(out.Tasks, more, h.now(), status)
	}
	return cmd
}

// connectLimited connects after it has checked the number of entries that are wanted.
func connectLimited(connect func() (*human, error), limit int) (*human, error) {
	if limit < 1 {
		return nil, usage("--limit must be at least 1, not %d", limit)
	}
	return connect()
}

// tasks calls each with every task of a list, without instructions, until it returns false.
func (h *human) tasks(ctx context.Context, in dispatch.ListInput, each func(dispatch.View) bool) error {
	without := false
	in.Limit, in.IncludeInstructions = perList, &without
	for {
		page, err := h.GetTasks(ctx, in)
		if err != nil {
			return h.explain(ctx, err)
		}
		for _, t := range page.Tasks {
			if !each(t) {
				return nil
			}
		}
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			return nil
		}
	}
}

func (w *world) printTasks(tasks []dispatch.View, more bool, now time.Time, status string) error {
	s := newSheet("ID", "STATUS", "FOR", "PRIORITY", "AGE", "TITLE")
	ids := shortIDs(tasks, func(t dispatch.View) string { return t.ID })
	for i, t := range tasks {
		s.add(toneOf(t.Status), ids[i], string(t.Status), whose(t), string(t.Priority), age(t.CreatedAt, now), t.Title)
	}
	if err := w.print(s, noTasks(status)); err != nil {
		return err
	}
	return w.hint(more)
}

// hint prints on the error stream that a list goes on.
func (w *world) hint(more bool) error {
	if !more {
		return nil
	}
	_, err := fmt.Fprintln(w.err, "parley: there are more; --limit N lists N of them")
	return err
}

func noTasks(status string) string {
	switch status {
	case "open":
		return "No task waits or is in work. `parley task create` makes one; agents do with create_task."
	case "all":
		return "There are no tasks."
	}
	return fmt.Sprintf("No task is %s.", status)
}

// whose returns the target of a task, and the program that claimed it if that is another.
func whose(t dispatch.View) string {
	if t.ClaimedBy != "" && t.ClaimedBy != t.Target {
		return t.ClaimedBy + " ← " + t.Target
	}
	return t.Target
}

func toneOf(s task.Status) tone {
	switch s {
	case task.Failed:
		return bad
	case task.Blocked:
		return alarm
	case task.Active, task.Completing:
		return good
	case task.Done, task.Derezzed:
		return faint
	}
	return plain
}

func age(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(now.Sub(t))
}
