package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/googleapis/gax-go/v2"
	"github.com/spf13/cobra"

	"parley.internal/shared/client"
	"parley.internal/shared/overview"
)

// longest is how long one call waits for another view.
const longest = 30 * time.Second

// pauses are before each further try to reach a server that was there; the last
// is kept to.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

func (w *world) topCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{Use: "top", Short: "Watch sessions, claimed tasks, waiting questions and unread mail",
		Long: "Watch sessions, claimed tasks with their leases, waiting questions and unread mail. On a terminal the\n" +
			"view is live until q and Enter, or Ctrl-C. Elsewhere it is printed once, and with --follow again after\n" +
			"each change until the command is interrupted.",
		Args: cobra.NoArgs}
	connect := w.humanFlags(cmd)
	cmd.Flags().BoolVar(&follow, "follow", false, "print the view again after each change instead of redrawing it")
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
			return w.live(cmd.Context(), h, first)
		}
		if err := w.snapshot(h, first); err != nil || !follow {
			return err
		}
		return w.follow(cmd.Context(), h, first.Mark)
	}
	return cmd
}

// overview reads the view, and waits for one with another mark than since.
func (h *human) overview(ctx context.Context, since string, wait time.Duration) (overview.View, error) {
	v, err := h.GetOverview(ctx, overview.Input{Since: since, WaitMs: int(wait.Milliseconds())})
	return v, h.explain(ctx, err)
}

func (w *world) snapshot(h *human, v overview.View) error {
	_, err := io.WriteString(w.out, draw(v, h.now(), 0, 0)+"\n")
	return err
}

func (w *world) follow(ctx context.Context, h *human, mark string) error {
	return h.watch(ctx, mark, gax.Sleep, func(n news) error {
		if n.trouble != "" {
			_, err := fmt.Fprintln(w.err, "parley:", n.trouble)
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

// news is a view, or why there is none now.
type news struct {
	view    overview.View
	trouble string
}

// watch tells about every view after the one with the mark, and about each trouble,
// until the context ends or a fault comes that no further try would mend.
func (h *human) watch(ctx context.Context, mark string, pause func(context.Context, time.Duration) error,
	tell func(news) error) error {
	for failed := 0; ; {
		wait := longest
		if failed > 0 {
			wait = 0 // to know at once that the server is back
		}
		asked := time.Now()
		v, err := h.overview(ctx, mark, wait)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !passing(err) {
			return err
		}
		if err != nil {
			rest := pauses[min(failed, len(pauses)-1)]
			failed++
			if err := tell(news{trouble: fmt.Sprintf("%s; trying again in %v", h.trouble(err), rest)}); err != nil {
				return ended(ctx, err)
			}
			if pause(ctx, rest) != nil {
				return nil
			}
			continue
		}
		same := v.Mark == mark
		failed, mark = 0, v.Mark
		if err := tell(news{view: v}); err != nil {
			return ended(ctx, err)
		}
		// A server that is about to stop ends waits at once.
		if same && wait > 0 && time.Since(asked) < time.Second && pause(ctx, time.Second) != nil {
			return nil
		}
	}
}

// ended is no error where the context is what ended the work.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// trouble is a passing fault in few words.
func (h *human) trouble(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Status != 0 {
		return fmt.Sprintf("%s answers with %d", h.Base(), e.Status)
	}
	return "no server answers at " + h.Base()
}

// What a live view asks of the terminal: a screen of its own, no cursor and no
// wrapped lines; and all that undone.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// live redraws the view: at once with what is new, and each second, because leases
// run out by themselves.
func (w *world) live(ctx context.Context, h *human, v overview.View) (err error) {
	if _, err := io.WriteString(w.out, enterScreen); err != nil {
		return err
	}
	defer func() {
		_, left := io.WriteString(w.out, leaveScreen)
		err = errors.Join(err, left)
	}()
	ctx, cancel := context.WithCancel(ctx)
	told, over := make(chan news), make(chan error, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		over <- h.watch(ctx, v.Mark, gax.Sleep, func(n news) error {
			select {
			case told <- n:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	quit := w.quit()
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
		case err := <-over:
			return err
		case n := <-told:
			if note = n.trouble; note == "" {
				v = n.view
			}
		case <-second.C:
		}
	}
}

// redraw fills the screen as it is now; its last line is the note.
func (w *world) redraw(v overview.View, now time.Time, note string) error {
	width, height, ok := terminalSize(w.out)
	if !ok {
		return errors.New("the terminal is gone")
	}
	if note == "" {
		note = "q and Enter, or Ctrl-C, leaves; `parley questions` shows questions in full"
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	lines := 0
	if height > 1 {
		for line := range strings.SplitSeq(draw(v, now, width, height-1), "\n") {
			b.WriteString(line + "\x1b[K\n")
			lines++
		}
	}
	for ; lines < height-1; lines++ {
		b.WriteString("\x1b[K\n")
	}
	b.WriteString(cut(clean(note), width) + "\x1b[K")
	_, err := io.WriteString(w.out, b.String())
	return err
}

// quit returns a channel that is closed when the user types q and Enter. The goroutine that reads the terminal
// lasts as long as the process, since such a read cannot be cancelled; without a terminal nothing is read.
func (w *world) quit() <-chan struct{} {
	quit := make(chan struct{})
	if !isTerminal(w.in) {
		return quit
	}
	go func() {
		lines := bufio.NewScanner(w.in)
		for lines.Scan() {
			if strings.EqualFold(strings.TrimSpace(lines.Text()), "q") {
				close(quit)
				return
			}
		}
	}()
	return quit
}
