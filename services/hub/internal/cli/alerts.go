package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/task"
)

func (w *world) alertsCommand() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{Use: "alerts", Short: "List the alerts of agents that you have not acknowledged", Args: cobra.NoArgs,
		Long: "List the alerts that agents sent you: the beginning of the id, the kind, who sent it, the age and the words.\n" +
			"`parley alerts ack` acknowledges some, `parley task show` shows one in full.",
		Example: "  parley alerts\n  parley alerts --all --limit 100\n  parley alerts ack 0198c0de"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also those that you have acknowledged")
	cmd.Flags().IntVar(&limit, "limit", perList, "list at most `N` alerts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connectLimited(connect, limit)
		if err != nil {
			return err
		}
		status := task.Created
		if all {
			status = "all"
		}
		out, more := dispatch.ListOutput{Tasks: []dispatch.View{}}, false
		err = h.tasks(cmd.Context(), dispatch.ListInput{Status: status, Type: task.Alert}, func(t dispatch.View) bool {
			if more = len(out.Tasks) == limit; !more {
				out.Tasks = append(out.Tasks, t)
			}
			return !more
		})
		switch {
		case err != nil:
			return err
		case *asJSON:
			return w.document(struct {
				Alerts []dispatch.View `json:"alerts"`
			}{out.Tasks})
		}
		s := newSheet("ID", "KIND", "FROM", "AGE", "ALERT")
		ids := shortIDs(out.Tasks, func(t dispatch.View) string { return t.ID })
		for i, t := range out.Tasks {
			kind := t.AlertType
			if t.Status != task.Created {
				kind += ", " + string(t.Status)
			}
			s.add(graveness(t), ids[i], kind, dash(t.Source), age(t.CreatedAt, h.now()), t.Title)
		}
		if err := w.print(s, "No alerts wait. Agents send them with send_alert."); err != nil {
			return err
		}
		return w.hint(more)
	}
	cmd.AddCommand(w.ackCommand())
	return cmd
}

// graveness returns the tone of an alert.
func graveness(t dispatch.View) tone {
	if t.Status != task.Created {
		return faint
	}
	return map[string]tone{"error": bad, "warning": alarm, "success": good}[t.AlertType]
}

func (w *world) ackCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "ack ID...", Short: "Acknowledge alerts", Args: cobra.MinimumNArgs(1),
		Long:    "Acknowledge alerts, which are then no longer listed. " + strings.ReplaceAll(taskIDs, "task", "alert"),
		Example: "  parley alerts ack 0198c0de"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		return w.acknowledge(cmd.Context(), h, args, *asJSON)
	}
	return cmd
}

func (w *world) acknowledge(ctx context.Context, h *human, ids []string, asJSON bool) error {
	for _, id := range ids {
		t, err := h.findTask(ctx, id)
		switch {
		case err != nil:
			return err
		case t.Type != task.Alert:
			return fmt.Errorf("%s is a %s, not an alert; `parley alerts` lists the alerts", printable.Line(t.ID), t.Type)
		}
		out, err := h.UpdateTask(ctx, dispatch.UpdateInput{TaskID: t.ID, Status: task.Done})
		if err != nil {
			return h.explain(ctx, err)
		}
		if err := w.done(out, asJSON, "", "acknowledged %s", out.ID); err != nil {
			return err
		}
	}
	return nil
}
