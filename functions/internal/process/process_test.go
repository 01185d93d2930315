package process

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
	"strings"
	"testing"
	"time"
)

const helperVariable = "PROCESS_TEST_HELPER"

// This binary is also the server that a test starts, and the starter that a test kills.
func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "serve":
		fmt.Println("serving", os.Args[1])
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })))
		os.Exit(1)
	case "start":
		p, err := Start(context.Background(), server(""))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("at", p.URL)
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

func server(addr string) Server {
	return Server{Addr: addr, Env: []string{helperVariable + "=serve", "PATH=" + os.Getenv("PATH")}, Path: "/", Status: http.StatusTeapot,
		Args: func(addr string) []string { return []string{os.Args[0], addr} }}
}

func connect(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ends says whether the server at the other end does.
func ends(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestAServerIsReadyWhenItStartedAndGoneWhenItStopped(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), server(""))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	conn := connect(t, p.URL)
	p.Stop()
	if !ends(conn) {
		t.Errorf("%s lives on", p.URL)
	}
	select {
	case <-p.Exited():
	default:
		t.Error("it has not exited")
	}
	if !strings.HasPrefix(p.Output(), "serving "+strings.TrimPrefix(p.URL, "http://")) {
		t.Errorf("it wrote %q", p.Output())
	}
}

func TestAServerEndsWithWhoStartedIt(t *testing.T) {
	t.Parallel()
	starter := exec.CommandContext(t.Context(), os.Args[0])
	starter.Env = append(os.Environ(), helperVariable+"=start")
	in, err := starter.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
	if !ok {
		t.Fatalf("the starter said %q, %v", line, err)
	}
	conn := connect(t, url)
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait()
	if !ends(conn) {
		t.Errorf("%s lives on", url)
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
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
	if _, err := Start(t.Context(), server(taken.Addr().String())); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("on an address that is taken: %v", err)
	}
	if _, err := Start(t.Context(), server("nowhere")); err == nil || !strings.Contains(err.Error(), "host:port") {
		t.Errorf("on no address: %v", err)
	}
}
