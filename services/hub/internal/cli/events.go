package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/feed"
	"parley.internal/shared/sleep"
)

func (w *world) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "events", Short: "Follow the changes", Example: "  parley events tail"}
	cmd.AddCommand(w.eventsTail())
	return cmd
}

func (w *world) eventsTail() *cobra.Command {
	var wanted []string
	var cursor string
	cmd := &cobra.Command{Use: "tail", Short: "Print each change from now on, until it is interrupted", Args: cobra.NoArgs,
		Long: "Print each change from now on, one a line: the time, the kind of the object (task, question, alert,\n" +
			"message, session …), the change, the id, the state, whom it concerns, and the object in short. It\n" +
			"connects again by itself. A change may come twice, with the same eventId.\n\n" +
			"With --json each change is a line of JSON, and each reading ends with a line that has the cursor; give that to\n" +
			"--cursor to go on there. The line {\"truncated\": true} says that changes after the cursor were no longer kept:\n" +
			"read again what you show.",
		Example: "  parley events tail\n  parley events tail --kind task,question\n  parley events tail --json | jq -r 'select(.kind == \"alert\").line'"}
	connect := w.humanFlags(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print each change as a line of JSON")
	cmd.Flags().StringSliceVar(&wanted, "kind", nil, "only changes of these kinds, such as task,question")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on after this cursor of an earlier run; changes are kept for 7 days")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		if cursor == "" {
			first, err := h.GetFeed(cmd.Context(), feed.Input{})
			if err != nil {
				return h.explain(cmd.Context(), err)
			}
			cursor = first.Cursor
			if !*asJSON {
				fmt.Fprintln(w.err, "parley: waiting for changes; Ctrl-C ends it")
			}
		}
		if *asJSON {
			if err := w.jsonLine(reading{Cursor: cursor}); err != nil {
				return err
			}
		}
		return h.tail(cmd.Context(), cursor, sleep.For, func(page feed.Output, trouble string) error {
			if trouble != "" {
				_, err := fmt.Fprintln(w.err, "parley:", printable.Line(trouble))
				return err
			}
			if len(wanted) > 0 {
				page.Events = slices.DeleteFunc(page.Events, func(e feed.Event) bool { return !slices.Contains(wanted, e.Kind) })
			}
			return w.printEvents(page, *asJSON)
		})
	}
	return cmd
}

// reading is the line of JSON after the changes that one call read.
type reading struct {
	Cursor    string `json:"cursor,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// tail calls tell with the changes after a cursor, and with each temporary trouble. It returns nil when ctx ends, and an
// error of tell or one that is not temporary.
func (h *human) tail(ctx context.Context, cursor string, pause func(context.Context, time.Duration) error,
	tell func(page feed.Output, trouble string) error) error {
	for failed := 0; ; {
		asked := time.Now()
		page, err := h.GetFeed(ctx, feed.Input{Cursor: cursor, WaitMs: int(longestWait.Milliseconds())})
		if ctx.Err() != nil {
			return nil
		}
		if err = h.explain(ctx, err); err != nil && !temporary(err) {
			return err
		}
		if err != nil {
			rest := retryPauses[min(failed, len(retryPauses)-1)]
			failed++
			if err := tell(page, fmt.Sprintf("%s; trying again in %v", h.trouble(err), rest)); err != nil {
				return ended(ctx, err)
			}
			if pause(ctx, rest) != nil {
				return nil
			}
			continue
		}
		failed, cursor = 0, page.Cursor
		quiet := len(page.Events) == 0 && !page.Truncated
		if !quiet {
			if err := tell(page, ""); err != nil {
				return ended(ctx, err)
			}
		}
		// A server that drains returns from waits at once.
		if quiet && time.Since(asked) < time.Second && pause(ctx, time.Second) != nil {
			return nil
		}
	}
}

func (w *world) printEvents(page feed.Output, asJSON bool) error {
	if page.Truncated {
		if asJSON {
			if err := w.jsonLine(reading{Truncated: true}); err != nil {
				return err
			}
		}
		fmt.Fprintln(w.err, "parley: truncated: changes before these are no longer kept; read again what you show")
	}
	width, _, _ := terminalSize(w.out)
	for _, e := range page.Events {
		err := error(nil)
		if asJSON {
			err = w.jsonLine(e)
		} else {
			line := fmt.Sprintf("%s  %-8s  %-7s  %s  %-9s  %s: %s", e.At.Local().Format(time.TimeOnly), e.Kind, e.Change, e.ID,
				dash(e.State), dash(e.Program), e.Line)
			_, err = io.WriteString(w.out, cut(printable.Line(line), width)+"\n")
		}
		if err != nil {
			return err
		}
	}
	if asJSON {
		return w.jsonLine(reading{Cursor: page.Cursor})
	}
	return nil
}

// jsonLine prints a value as one line of JSON.
func (w *world) jsonLine(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line, err := printable.JSON(raw)
	if err == nil {
		_, err = io.WriteString(w.out, line+"\n")
	}
	return err
}
