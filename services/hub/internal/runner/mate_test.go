//go:build unix

package runner_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is the time that a test waits for an expected event.
const patience = 40 * time.Second

// stageVariable holds the address of the test that controls a mate.
const stageVariable = "RUNNER_TEST_STAGE"

// hello is the first message of a mate.
type hello struct {
	PID, Group int
	Args, Env  []string
	Dir, Input string
}

// playMate is the program in the place of a member's: it carries out the lines that the test sends, and ends with the
// test.
func playMate() {
	conn, err := net.Dial("tcp", os.Getenv(stageVariable))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		input = []byte(err.Error())
	}
	group, _ := syscall.Getpgid(0)
	dir, _ := syscall.Getwd()
	h := hello{PID: os.Getpid(), Group: group, Args: os.Args[1:], Env: os.Environ(), Dir: dir, Input: string(input)}
	if err := json.NewEncoder(conn).Encode(h); err != nil {
		os.Exit(1)
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		word, text, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "say":
			fmt.Println(text)
		case "shout":
			fmt.Fprintln(os.Stderr, text)
		case "ignore":
			signal.Ignore(syscall.SIGTERM)
		case "child":
			cmd := exec.Command(os.Args[0], "mate", "grandchild")
			if err := cmd.Start(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			go func() { _ = cmd.Wait() }()
		case "exit":
			code := 0
			_, _ = fmt.Sscan(text, &code)
			os.Exit(code)
		case "die":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		fmt.Fprintln(conn, "done")
	}
	os.Exit(9)
}

// mate is a running mate, controlled by the test.
type mate struct {
	hello
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

// do sends a line and waits until it was carried out.
func (m *mate) do(words string) {
	m.t.Helper()
	m.tell(words)
	if line, err := m.r.ReadString('\n'); err != nil || line != "done\n" {
		m.t.Fatalf("%s: got %q, %v", words, line, err)
	}
}

// tell sends a line without waiting.
func (m *mate) tell(words string) {
	m.t.Helper()
	if _, err := fmt.Fprintln(m.conn, words); err != nil {
		m.t.Fatalf("%s: %v", words, err)
	}
}

// gone waits until the mate has ended.
func (m *mate) gone() {
	m.t.Helper()
	_ = m.conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := m.r.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		m.t.Fatalf("%d lives on: %v", m.PID, err)
	}
}

// lives fails the test if the mate does not answer.
func (m *mate) lives() {
	m.t.Helper()
	m.do("nothing")
}

// stage accepts the connections of a test's mates.
type stage struct {
	t     *testing.T
	addr  string
	mates chan *mate
}

func newStage(t *testing.T) *stage {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t, l.Addr().String(), make(chan *mate, 1000)}
	done := make(chan struct{})
	var conns []net.Conn
	go func() {
		defer close(done)
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conns = append(conns, conn)
			m := &mate{t: t, conn: conn, r: bufio.NewReader(conn)}
			if line, err := m.r.ReadBytes('\n'); err == nil && json.Unmarshal(line, &m.hello) == nil {
				s.mates <- m
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		for _, conn := range conns {
			_ = conn.Close() // ends the mate
		}
	})
	return s
}

// next waits for the next mate and returns it.
func (s *stage) next() *mate {
	s.t.Helper()
	select {
	case m := <-s.mates:
		return m
	case <-time.After(patience):
		s.t.Fatal("nobody comes")
		return nil
	}
}

// empty fails the test if a mate started that the test has not taken. It must be called when no runner can start
// another.
func (s *stage) empty() {
	s.t.Helper()
	select {
	case m := <-s.mates:
		s.t.Errorf("%v began as well", m.Args)
	default:
	}
}
