package supervise_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/supervise"
)

const helperVariable = "SUPERVISE_TEST_HELPER"

// This binary is also the server that a test starts, and the parent that a test kills.
func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "serve":
		fmt.Println("serving", os.Args[1])
		teapot := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], http.HandlerFunc(teapot)))
		os.Exit(1)
	case "parent":
		p, err := server("").Start(context.Background())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("at", p.Addr)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour) // not select {}, in which a program without cgo ends by itself
	default:
		os.Exit(m.Run())
	}
}

func environment(helper string) []string {
	return []string{helperVariable + "=" + helper, "PATH=" + os.Getenv("PATH")}
}

func server(addr string) supervise.Server {
	return supervise.Server{Addr: addr, Env: environment("serve"), Path: "/", Status: http.StatusTeapot,
		Args: func(addr string) []string { return []string{os.Args[0], addr} }}
}

func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ends reports whether the process at the other end of the connection ends.
func ends(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestAServerIsReadyAfterStartAndGoneAfterStop(t *testing.T) {
	t.Parallel()
	p, err := server("").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	conn := connect(t, p.Addr)
	p.Stop()
	if !ends(conn) {
		t.Errorf("%s lives on", p.URL())
	}
	select {
	case <-p.Exited():
	default:
		t.Error("it has not exited")
	}
	if !strings.HasPrefix(p.Output(), "serving "+p.Addr) {
		t.Errorf("it wrote %q", p.Output())
	}
}

func TestAServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"after an exit without Stop": func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		"after SIGTERM":              func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGTERM) },
		"after kill -9":              func(c *exec.Cmd, _ io.Closer) error { return c.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := exec.CommandContext(t.Context(), os.Args[0])
			parent.Env = append(os.Environ(), helperVariable+"=parent")
			in, err := parent.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			addr, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
			if !ok {
				t.Fatalf("the parent said %q, %v", line, err)
			}
			conn := connect(t, addr)
			if err := end(parent, in); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			if !ends(conn) {
				t.Errorf("%s lives on", addr)
			}
		})
	}
}

func TestTheErrorOfAServerThatDoesNotStartNamesTheCause(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	go func() {
		for conn, err := taken.Accept(); err == nil; conn, err = taken.Accept() {
			_ = conn.Close()
		}
	}()
	deaf := server("")
	deaf.Path, deaf.Status, deaf.Patience = "/", http.StatusOK, time.Second
	short := server("")
	short.Args = func(string) []string { return []string{"sh", "-c", "echo no disk; exit 1"} }
	for words, s := range map[string]supervise.Server{
		"address already in use":              server(taken.Addr().String()),
		"must be host:port":                   server("nowhere"),
		"is not ready":                        deaf,
		"ended before it was ready:\nno disk": short,
	} {
		if _, err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
}

func TestExitCodeReturnsTheCodeOfAnExitedProcess(t *testing.T) {
	t.Parallel()
	signalled := func(s os.Signal) func(*supervise.Process) error {
		return func(p *supervise.Process) error { return p.Signal(s) }
	}
	for name, c := range map[string]struct {
		args []string
		end  func(*supervise.Process) error
		code int
	}{
		"0 for one that ends well":        {[]string{"true"}, nil, 0},
		"its own code":                    {[]string{"sh", "-c", "exit 7"}, nil, 7},
		"127 for one that is not found":   {[]string{"/no/such/program"}, nil, 127},
		"137 for one that was killed":     {[]string{"sleep", "1000"}, signalled(os.Kill), 137},
		"143 for one that was terminated": {[]string{"sleep", "1000"}, signalled(syscall.SIGTERM), 143},
		"its own for one that handles TERM": {
			[]string{"sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"},
			signalled(syscall.SIGTERM), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, in := io.Pipe()
			p, err := supervise.Command{Args: c.args, Output: in}.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop()
			lines := bufio.NewReader(out)
			if strings.Contains(strings.Join(c.args, " "), "echo ready") {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			if c.end != nil {
				if _, known := p.ExitCode(); known {
					t.Error("a program that runs has an exit code")
				}
				if err := c.end(p); err != nil {
					t.Fatal(err)
				}
			}
			<-p.Exited()
			if code, known := p.ExitCode(); code != c.code || !known {
				t.Errorf("got %d, %v: %s", code, known, p.Output())
			}
			if err := p.Signal(os.Kill); err == nil {
				t.Error("a program that has ended takes signals")
			}
		})
	}
}

// started starts a command and waits for the first line of its output.
func started(t *testing.T, c supervise.Command) (p *supervise.Process, line string) {
	t.Helper()
	out, in := io.Pipe()
	c.Output = in
	p, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	lines := bufio.NewReader(out)
	line, err = lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return p, strings.TrimSpace(line)
}

func TestAProgramThatIgnoresSIGTERMIsKilledAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	p, _ := started(t, supervise.Command{Args: []string{os.Args[0]}, Env: environment("stubborn"), Grace: time.Second})
	begin := time.Now()
	p.Stop()
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it was killed after %v", took)
	}
}

func TestTheChildrenOfAProgramEndWithIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*supervise.Process){
		"that is stopped":      (*supervise.Process).Stop,
		"that is killed alone": func(p *supervise.Process) { _ = p.Signal(os.Kill) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := l.Addr().String()
			_ = l.Close() // the grandchild listens there
			p, line := started(t, supervise.Command{Args: []string{"sh", "-c", `"$0" "$1" & wait`, os.Args[0], addr},
				Env: environment("serve"), Grace: 20 * time.Second})
			if line != "serving "+addr {
				t.Fatalf("it wrote %q", line)
			}
			var conn net.Conn
			for range 200 {
				if conn, err = net.Dial("tcp", addr); err == nil {
					break
				}
				time.Sleep(25 * time.Millisecond)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			end(p)
			<-p.Exited()
			if !ends(conn) {
				t.Errorf("the server at %s lives on", addr)
			}
		})
	}
}
