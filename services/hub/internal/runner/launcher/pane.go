package launcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// paneDir begins the name of a terminal's directory.
const paneDir = "parley-pane-"

// socketFile is the file of a private directory that holds the path of the terminal's socket.
const socketFile = "socket"

const (
	// look is the interval at which a terminal is asked whether its program has ended.
	look = 500 * time.Millisecond
	// call is the longest time that one call of tmux may take.
	call = 10 * time.Second
)

// CheckTerminal returns an error with the remedy if there is no tmux on PATH.
func CheckTerminal() error {
	if _, err := exec.LookPath("tmux"); err != nil {
		return errors.New("--attach needs tmux, which is not on PATH; install tmux, or leave out --attach")
	}
	return nil
}

// wrapper runs its arguments, writes their exit code to the file $0, and then waits to be ended, because a terminal may
// lose output that was written shortly before its end.
const wrapper = `"$@"; echo $? >"$0.new"; mv "$0.new" "$0"; exec cat >/dev/null`

// codeFile is the file of a private directory for a command's exit code.
const codeFile = "code"

// pane is a terminal of tmux with a server of its own, so that its environment is that of one member.
type pane struct{ socket string }

// tmux runs a command of tmux and returns its output.
func (p pane) tmux(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), call)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", p.socket, "-f", os.DevNull}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("tmux: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return strings.TrimRight(string(out), "\n"), err
}

// RunPane runs a command line in a terminal that a person can attach to, until the command ends or ctx does. It writes
// to out how to attach, and at the end the contents of the terminal. It returns the command's exit code.
func RunPane(ctx context.Context, private, name string, line []string, out io.Writer) (int, error) {
	// A path of the state directory may be too long for a socket.
	dir, err := os.MkdirTemp("", paneDir)
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	p := pane{filepath.Join(dir, "tmux")}
	if _, err := write(private, socketFile, p.socket); err != nil {
		return 1, err
	}
	defer func() { _ = p.end() }() // nothing is left where tmux does not answer
	code := filepath.Join(private, codeFile)
	_, err = p.tmux(append([]string{"new-session", "-d", "-s", name, "-x", "200", "-y", "50", "sh", "-c", wrapper, code},
		line...)...)
	if err != nil {
		return 1, err
	}
	fmt.Fprintf(out, "attach with: tmux -S %s attach\n", p.socket)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for missing := false; ; {
		text, err := os.ReadFile(code)
		if err == nil {
			p.show(name, out)
			return strconv.Atoi(strings.TrimSpace(string(text)))
		}
		// The signal that ends ctx ends a tmux that is asked just then too, so one answer is not enough.
		_, err = p.tmux("has-session", "-t", name)
		if err != nil && missing {
			return 1, errors.New("the terminal ended before its command did")
		}
		missing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.show(name, out)
			return 1, errors.Join(context.Cause(ctx), p.end())
		}
	}
}

// show writes the lines that the terminal has shown, without those that are empty.
func (p pane) show(name string, out io.Writer) {
	text, err := p.tmux("capture-pane", "-p", "-S", "-", "-t", name)
	if err != nil {
		return // the terminal is gone
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n "); line != "" {
			fmt.Fprintln(out, line)
		}
	}
}

// end ends the terminal with its command: SIGTERM, and SIGKILL if that does not do.
func (p pane) end() error {
	pid, err := p.tmux("display-message", "-p", "#{pane_pid}")
	if id, bad := strconv.Atoi(pid); err == nil && bad == nil && id > 1 {
		endGroup(id)
	}
	_, err = p.tmux("kill-server")
	return err
}

// EndPane ends the terminal of a private directory, if one is left.
func EndPane(private string) error {
	socket, err := os.ReadFile(filepath.Join(private, socketFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p := pane{string(socket)}
	if dir := filepath.Dir(p.socket); !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), paneDir) {
		return nil // its writing was cut off, before the terminal began
	}
	if _, err := os.Stat(p.socket); err == nil {
		_ = p.end() // a server that has ended leaves its socket
	}
	return os.RemoveAll(filepath.Dir(p.socket))
}
