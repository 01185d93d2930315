package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rivo/uniseg"

	"parley.internal/services/hub/internal/cli"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/overview"
	"parley.internal/shared/store/emulator"
)

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	if err := conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
	}); err != nil || errno != 0 {
		t.Fatal(err, errno)
	}
}

// terminal is a pseudo-terminal.
type terminal struct {
	*process
	keys *os.File
}

// onTerminal runs a command on a terminal of the given size. Its standard error is none.
func onTerminal(t *testing.T, columns, lines uint16, env []string, args ...string) *terminal {
	t.Helper()
	return terminalFor(t, columns, lines, false, env, args...)
}

// terminalFor does the same; if errToo is set, the standard error goes to the terminal, too.
func terminalFor(t *testing.T, columns, lines uint16, errToo bool, env []string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		emulator.Skip(t, "no pseudo terminals here: ", err)
	}
	var unlock, number int32
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	ioctl(t, master, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{lines, columns}))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var modes syscall.Termios
	ioctl(t, tty, syscall.TCGETS, unsafe.Pointer(&modes))
	modes.Lflag &^= syscall.ECHO // the output must not contain the typed keys
	ioctl(t, tty, syscall.TCSETS, unsafe.Pointer(&modes))
	p := &process{t: t, cmd: exec.Command(binary, args...), out: &output{more: make(chan struct{}, 1)},
		err: &output{more: make(chan struct{}, 1)}, ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = append([]string{"HOME=" + t.TempDir(), "PARLEY_KEYRING=off"}, env...), tty, tty,
		p.err
	if errToo {
		p.cmd.Stderr = tty
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			_, _ = p.out.Write(buf[:n]) // to memory
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = p.cmd.Wait() // its state is read from it
		_ = tty.Close()  // the last one: the screen is read to its end
		<-shown
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		_ = master.Close()
	})
	return &terminal{p, master}
}

// frames returns the drawn frames, and whether the command entered and left the screen around them.
func (p *terminal) frames() (frames []string, whole bool) {
	text, entered := strings.CutPrefix(p.out.String(), cli.EnterScreen)
	text, left := strings.CutSuffix(text, cli.LeaveScreen)
	return strings.Split(text, "\x1b[H")[1:], entered && left
}

func TestTheLiveViewRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*terminal){
		"q":       func(p *terminal) { p.press("q") },
		"Ctrl-C":  func(p *terminal) { p.press("\x03") },
		"SIGTERM": func(p *terminal) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShowing(t)
			p := onTerminal(t, 40, 12, variables(s.at()), "top")
			p.until("first�[2J")
			p.untilSo("a later time, by itself", func(out string) bool {
				return strings.Count(out, "Parley at ") > strings.Count(out, "Parley at 12:00:00")
			})
			p.press("x\n ?\x1b[A") // other keys do nothing
			s.next(viewed("second"))
			p.until("second�[2J")
			leave(p)
			if code := p.wait(); code != 0 || p.err.String() != "" {
				t.Errorf("exit %d: %s", code, p.err)
			}
			frames, whole := p.frames()
			if !whole {
				t.Errorf("the terminal is not restored: %q", p.out)
			}
			for _, f := range frames {
				lines := strings.Split(f, "\x1b[K\r\n")
				last := strings.TrimSuffix(lines[len(lines)-1], "\x1b[K")
				if len(lines) != 12 || !strings.HasPrefix(last, "q leaves") {
					t.Errorf("the frame %q has %d lines and ends with %q", f, len(lines), last)
				}
				for _, l := range lines[:len(lines)-1] {
					if !isPrintable(l) || uniseg.StringWidth(l) > 40 {
						t.Errorf("the line %q is not printable or wider than 40", l)
					}
				}
			}
		})
	}
}

func TestAQuestionRingsTheBellOnce(t *testing.T) {
	t.Parallel()
	asks := func(mark string, ids ...string) overview.View {
		v := viewed(mark)
		for _, id := range ids {
			v.Questions = append(v.Questions, overview.Question{ID: id, Question: "which?"})
		}
		return v
	}
	for name, c := range map[string]struct {
		flags []string
		bells int
	}{"by itself": {nil, 2}, "with --no-bell": {[]string{"--no-bell"}, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShowing(t)
			p := onTerminal(t, 80, 24, variables(s.at()), append([]string{"top"}, c.flags...)...)
			p.until("first�[2J")
			for _, v := range []overview.View{asks("second", "a"), asks("third", "a"), asks("fourth", "a", "b"), asks("fifth", "b")} {
				s.next(v)
				p.until(v.Mark + "�[2J")
			}
			p.press("q")
			if code := p.wait(); code != 0 || strings.Count(p.out.String(), "\a") != c.bells {
				t.Errorf("exit %d with %d bells, want %d: %s", code, strings.Count(p.out.String(), "\a"), c.bells, p.err)
			}
		})
	}
}

func (p *terminal) press(keys string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

func TestTheLiveViewReportsALostServerInTheLastLine(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	back := make(chan struct{})
	f := newFake(t, func(r *http.Request, _ string) (int, any) {
		switch n.Add(1) {
		case 1:
			return 200, viewed("first")
		case 2:
			return 503, fault("UNAVAILABLE", "later")
		case 3:
			return 200, viewed("second")
		case 4:
			<-back
		}
		return 403, fault("FORBIDDEN", "not any more")
	})
	p := onTerminal(t, 80, 24, variables(f.at()), "top")
	p.until(" answers with 503; trying again in 1s\x1b[K")
	p.until("second�[2J")
	close(back)
	if code := p.wait(); code != 1 || !strings.Contains(p.err.String(), "may not do this: not any more") {
		t.Errorf("exit %d: %s", code, p.err)
	}
	frames, whole := p.frames()
	if last := frames[len(frames)-1]; !whole || strings.Contains(last, "trying again") ||
		!strings.Contains(last, "\x1b[K\r\nq leaves") {
		t.Errorf("got the last frame %q, the terminal restored: %t", last, whole)
	}
}

func TestQuestionsAreWrappedOnATerminal(t *testing.T) {
	t.Parallel()
	f := asking(t, question("0198c0de-1", strings.Repeat("x", 50), nil))
	p := onTerminal(t, 40, 12, variables(f.at()), "questions")
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.err)
	}
	if !strings.Contains(p.out.String(), "\r\n  | "+strings.Repeat("x", 36)+"\r\n  | "+strings.Repeat("x", 14)+"\r\n") {
		t.Errorf("got %q, want the question in two lines", p.out)
	}
}

func TestANullDeviceIsNotATerminal(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s := newShowing(t)
	env := s.at()
	done := make(chan int)
	go func() {
		done <- cli.Run(t.Context(), []string{"top"}, func(n string) string { return env[n] }, null, null, null)
	}()
	select {
	case code := <-done:
		if code != 0 {
			t.Errorf("exit %d", code)
		}
	case <-time.After(patience):
		t.Fatal("it draws a live view on a null device")
	}
}

func TestATableFitsTheTerminalAndHasColoursOnlyThere(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(r *http.Request, _ string) (int, any) {
		if r.URL.Query().Get("status") != "failed" {
			return 200, object{"tasks": []any{}}
		}
		return 200, object{"tasks": []any{object{"id": "0198c0de-7c4f-7000-8000-000000000001", "status": "failed", "type": "task",
			"target": strings.Repeat("long", 20), "priority": "normal", "title": strings.Repeat("words ", 40) + "\x1b[31m"}}}
	})
	for _, width := range []uint16{30, 60, 80, 200} {
		p := onTerminal(t, width, 24, variables(f.at()), "tasks", "--status", "failed")
		if code := p.wait(); code != 0 {
			t.Fatalf("exit %d: %s", code, p.err)
		}
		lines := strings.Split(strings.TrimSuffix(p.out.String(), "\r\n"), "\r\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "\x1b[1mID ") || !strings.HasPrefix(lines[1], "\x1b[31m0198c0de-7c4f ") {
			t.Fatalf("%d columns: %q", width, lines)
		}
		row := strings.TrimSuffix(strings.TrimPrefix(lines[1], "\x1b[31m"), "\x1b[0m")
		if n := uniseg.StringWidth(row); !isPrintable(row) || n > int(width) || width >= 60 && !strings.Contains(row, "  words ") {
			t.Errorf("in %d columns the row has %d: %q", width, n, row)
		}
	}
	p := onTerminal(t, 80, 24, append(variables(f.at()), "NO_COLOR=1"), "tasks", "--status", "failed")
	if code := p.wait(); code != 0 || strings.Contains(p.out.String(), "\x1b") {
		t.Errorf("with NO_COLOR: exit %d: %q", code, p.out)
	}
	if out, _, code := inProcess(t, f.at(), "tasks", "--status", "failed"); code != 0 || strings.Contains(out, "\x1b") ||
		!strings.Contains(out, strings.TrimSpace(strings.Repeat("words ", 40))) {
		t.Errorf("without a terminal: exit %d: %q", code, out)
	}
}

func TestATerminalShowsTheLogAsLinesForAPerson(t *testing.T) {
	t.Parallel()
	p := terminalFor(t, 200, 40, true, nil, "serve", "--addr", "0.0.0.0:0", "--data", filepath.Join(t.TempDir(), "data"))
	domaintest.Eventually(t, "the server serves", func() bool { return strings.Contains(p.out.String(), "serves MCP at ") })
	p.URL = serves.FindStringSubmatch(p.out.String())[1]
	p.waitHealthy() // it has started whole
	domaintest.Check(t, p.cmd.Process.Signal(os.Interrupt))
	<-p.ended
	text := p.out.String()
	for _, want := range []string{" WRN every machine that reaches this one can call the server", " INF draining"} {
		if !strings.Contains(text, want) || strings.Contains(text, `"severity"`) {
			t.Errorf("it shows %q, want %q and no JSON", text, want)
		}
	}
}
