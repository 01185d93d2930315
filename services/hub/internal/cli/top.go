package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/overview"
	"parley.internal/shared/sleep"
)

// longestWait is the time that one call waits for a change.
const longestWait = 30 * time.Second

// retryPauses are the retryPauses before each retry of a server that answered before. The last one repeats.
var retryPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

func (w *world) topCommand() *cobra.Command {
	var follow, silent bool
	cmd := &cobra.Command{Use: "top", Short: "Watch sessions, tasks, queues, waiting questions, alerts and unread mail",
		Long: "Watch sessions, claimed tasks with their leases, queues (how many tasks wait, since when, and how many are in\n" +
			"work), waiting questions, alerts and unread mail; and what nobody looks after: mail to names that no program has,\n" +
			"and programs that have called and never made a session.\n\n" +
			"On a terminal the view is live until q or Ctrl-C, and rings the bell when a question comes. Otherwise it is\n" +
			"printed once, and with --follow again after each change until the command is interrupted.",
		Example: "  parley top\n  parley top --no-bell\n  parley top --follow > day.log",
		Args:    cobra.NoArgs}
	connect := w.humanFlags(cmd)
	cmd.Flags().BoolVar(&follow, "follow", false, "print the view again after each change instead of redrawing it")
	cmd.Flags().BoolVar(&silent, "no-bell", false, "do not ring the terminal's bell when a question comes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		first, err := h.overview(cmd.Context(), "", 0)
		if err != nil {
			return err
		}
		// A Windows console shows escape sequences as text until it is set up for them.
		if isTerminal(w.out) && !follow && runtime.GOOS != "windows" {
			return w.live(cmd.Context(), h, first, !silent)
		}
		if err := w.snapshot(h, first); err != nil || !follow {
			return err
		}
		return w.follow(cmd.Context(), h, first.Mark)
	}
	return cmd
}

// overview returns the view. It waits for a view with another mark than since, at most for the given time.
func (h *human) overview(ctx context.Context, since string, wait time.Duration) (overview.View, error) {
	v, err := h.GetOverview(ctx, overview.Input{Since: since, WaitMs: int(wait.Milliseconds())})
	return v, h.explain(ctx, err)
}

func (w *world) snapshot(h *human, v overview.View) error {
	_, err := io.WriteString(w.out, draw(v, h.now(), 0, 0)+"\n")
	return err
}

func (w *world) follow(ctx context.Context, h *human, mark string) error {
	return h.watch(ctx, mark, sleep.For, func(n update) error {
		if n.trouble != "" {
			_, err := fmt.Fprintln(w.err, "parley:", printable.Line(n.trouble))
			return err
		}
		if n.view.Mark == mark {
			return nil
		}
		mark = n.view.Mark
		if _, err := io.WriteString(w.out, "\n"); err != nil {
			return err
		}
		return w.snapshot(h, n.view)
	})
}

// update is a view, or the trouble that prevents one.
type update struct {
	view    overview.View
	trouble string
}

// watch calls tell with every view after the one with the mark, and with each temporary trouble. It returns nil when
// ctx ends, and an error of tell or one that is not temporary.
func (h *human) watch(ctx context.Context, mark string, pause func(context.Context, time.Duration) error,
	tell func(update) error) error {
	for failed := 0; ; {
		wait := longestWait
		if failed > 0 {
			wait = 0 // find out at once that the server is back
		}
		asked := time.Now()
		v, err := h.overview(ctx, mark, wait)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !temporary(err) {
			return err
		}
		if err != nil {
			rest := retryPauses[min(failed, len(retryPauses)-1)]
			failed++
			if err := tell(update{trouble: fmt.Sprintf("%s; trying again in %v", h.trouble(err), rest)}); err != nil {
				return ended(ctx, err)
			}
			if pause(ctx, rest) != nil {
				return nil
			}
			continue
		}
		same := v.Mark == mark
		failed, mark = 0, v.Mark
		if err := tell(update{view: v}); err != nil {
			return ended(ctx, err)
		}
		// A server that drains returns from waits at once.
		if same && wait > 0 && time.Since(asked) < time.Second && pause(ctx, time.Second) != nil {
			return nil
		}
	}
}

// ended returns err, or nil if ctx ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// trouble returns a short message for a temporary error.
func (h *human) trouble(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Status != 0 {
		return fmt.Sprintf("%s answers with %d", h.Base(), e.Status)
	}
	return "no server answers at " + h.Base()
}

// The escape sequences of a live view. enterScreen switches to the alternate screen, hides the cursor and disables line
// wrapping; leaveScreen undoes all of it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// bell rings a terminal.
const bell = "\a"

// live redraws the view after each update, and every second for the remaining times of leases and questions.
func (w *world) live(ctx context.Context, h *human, v overview.View, rings bool) (err error) {
	quit, restore, err := w.quit()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if _, err := io.WriteString(w.out, enterScreen); err != nil {
		return err
	}
	defer func() {
		_, failed := io.WriteString(w.out, leaveScreen)
		err = errors.Join(err, failed)
	}()
	ctx, cancel := context.WithCancel(ctx)
	updates, done := make(chan update), make(chan error, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		done <- h.watch(ctx, v.Mark, sleep.For, func(n update) error {
			select {
			case updates <- n:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for note := ""; ; {
		if err := w.redraw(v, h.now(), note); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-quit:
			return nil
		case err := <-done:
			return err
		case n := <-updates:
			if note = n.trouble; note != "" {
				continue
			}
			if rings && asked(v, n.view) {
				if _, err := io.WriteString(w.out, bell); err != nil {
					return err
				}
			}
			v = n.view
		case <-second.C:
		}
	}
}

// redraw fills the terminal in its current size. The note is on the last line.
func (w *world) redraw(v overview.View, now time.Time, note string) error {
	width, height, ok := terminalSize(w.out)
	if !ok {
		return errors.New("the terminal is gone")
	}
	if note == "" {
		note = "q leaves; `parley questions` shows questions in full, `parley tasks` the tasks"
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	lines := 0
	if height > 1 {
		for line := range strings.SplitSeq(draw(v, now, width, height-1), "\n") {
			b.WriteString(line + "\x1b[K\r\n")
			lines++
		}
	}
	for ; lines < height-1; lines++ {
		b.WriteString("\x1b[K\r\n")
	}
	b.WriteString(cut(printable.Line(note), width) + "\x1b[K")
	_, err := io.WriteString(w.out, b.String())
	return err
}

// asked reports whether a view has a question that the one before it had not.
func asked(before, now overview.View) bool {
	return slices.ContainsFunc(now.Questions, func(q overview.Question) bool {
		return !slices.ContainsFunc(before.Questions, func(b overview.Question) bool { return b.ID == q.ID })
	})
}

// interrupt is the key Ctrl-C.
const interrupt = 3

// quit returns a channel that is closed when the user types q or Ctrl-C, and a function that restores the terminal. The
// goroutine that reads the terminal lasts as long as the process, since such a read cannot be cancelled; without a
// terminal nothing is read.
func (w *world) quit() (<-chan struct{}, func() error, error) {
	quit := make(chan struct{})
	if !isTerminal(w.in) {
		return quit, func() error { return nil }, nil
	}
	restore, err := keyByKey(w.in)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read keys from the terminal: %w", err)
	}
	go func() {
		keys := bufio.NewReader(w.in)
		for {
			key, err := keys.ReadByte()
			if err != nil {
				return
			}
			if key == 'q' || key == 'Q' || key == interrupt {
				close(quit)
				return
			}
		}
	}()
	return quit, restore, nil
}
