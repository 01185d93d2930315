package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/printable"
)

// daemonPatience is the time limit for an answer of the daemon, and for its end.
const daemonPatience = 30 * time.Second

// noDaemon is the message where no daemon runs, which is no failure: hooks start the daemon that they need.
const noDaemon = "No daemon runs on this machine for you; the first hook of a client starts one."

// status prints the state of the hooks' daemon and of its sessions.
func (j *connector) status(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	info, err := connectd.Status(ctx, j.w.env)
	runs := !errors.Is(err, connectd.ErrNone)
	switch {
	case err != nil && runs:
		return err
	case *j.f.json:
		return j.w.document(struct {
			Running bool `json:"running"`
			*local.Info
		}{runs, info})
	case !runs:
		_, err := fmt.Fprintln(j.w.out, noDaemon)
		return err
	}
	fmt.Fprintf(j.w.out, "The daemon is process %d, since %s; sessions: %d.\n", info.PID, until(info.Since), len(info.Sessions))
	if len(info.Sessions) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(j.w.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "SESSION\tCLIENT\tWHERE\tSTATE\tLAST EVENT\tLAST CONTACT\tTROUBLE")
	for _, s := range info.Sessions {
		contact := "-"
		if !s.Contact.IsZero() {
			contact = until(s.Contact)
		}
		client := strings.TrimSpace(s.Client + " " + s.Version)
		cells := []string{dash(s.SessionID), client, dash(s.Dir), sessionState(s), until(s.Seen), contact, dash(s.Trouble)}
		for i := range cells {
			cells[i] = printable.Line(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// sessionState sums up the state of a session.
func sessionState(s local.SessionInfo) string {
	state := "idle"
	switch {
	case s.InTurn:
		state = "works"
	case s.Waiter:
		state = "idle, can be woken"
	}
	if s.Paused {
		state = "paused, " + state
	}
	return state
}

// stop ends the daemon of the hooks.
func (j *connector) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	err := connectd.Stop(ctx, j.w.env)
	stopped := err == nil
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the daemon has not ended after %s; `parley connect --status` shows its process", daemonPatience)
	case !stopped && !errors.Is(err, connectd.ErrNone):
		return err
	case *j.f.json:
		return j.w.document(map[string]any{"stopped": stopped})
	case !stopped:
		_, err := fmt.Fprintln(j.w.out, noDaemon)
		return err
	}
	_, err = fmt.Fprintln(j.w.out, "The daemon has ended; the next hook of a client that is open starts it again.")
	return err
}

// ofDaemon serves --status and --stop, which concern all clients.
func (j *connector) ofDaemon(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--status and --stop are about all clients of this machine; leave out %q", args[0])
	}
	if j.f.stop {
		return j.stop(ctx)
	}
	return j.status(ctx)
}
