package fleet

import (
	"bufio"
	"context"
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

const helperVariable = "FLEET_TEST_HELPER"

// This binary is also the hub that a test starts, and the starter that a test kills.
func TestMain(m *testing.M) {
	switch how := os.Getenv(helperVariable); how {
	case "":
		os.Exit(m.Run())
	case "start":
		f := &Fleet{Args: []string{os.Args[0]}, Env: helper("serve"), Dir: os.Getenv("TMPDIR")}
		h, err := f.Start(context.Background())
		fmt.Println(h.URL, err)
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		serve(how)
	}
}

func helper(how string) []string {
	return []string{helperVariable + "=" + how, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR")}
}

// serve is a hub that ends in the given way.
func serve(how string) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if how == "mute" {
		os.Exit(1)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	fmt.Printf("Parley serves MCP at http://%s/mcp and REST at …\n", l.Addr())
	if how == "crash" {
		os.Exit(2)
	}
	<-terminated
	switch how {
	case "late":
		fmt.Println("parley: context deadline exceeded")
		os.Exit(1)
	case "failing":
		os.Exit(1)
	}
	os.Exit(0)
}

func start(t *testing.T, how string) (*Fleet, *Hub) {
	t.Helper()
	f := &Fleet{Args: []string{os.Args[0]}, Env: helper(how), Dir: t.TempDir()}
	h, err := f.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f, h
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

// awaitClose waits until the server closes the connection.
func awaitClose(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the hub still runs: %v", err)
	}
}

func TestTheFaultTellsHowAHubEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how   string
		end   func(*Hub)
		late  bool
		fault string
	}{
		"killed":                   {"serve", (*Hub).Kill, false, ""},
		"terminated":               {"serve", (*Hub).Terminate, false, ""},
		"terminated with an error": {"failing", (*Hub).Terminate, false, "exited on SIGTERM with code 1"},
		"terminated, but late":     {"late", (*Hub).Terminate, true, ""},
		"crashed":                  {"crash", func(*Hub) {}, false, "exited without a signal, with code 2"},
		"terminated, then killed":  {"serve", func(h *Hub) { h.Terminate(); h.Kill() }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, h := start(t, c.how)
			c.end(h)
			select {
			case <-h.Exited():
			case <-time.After(30 * time.Second):
				t.Fatal("it does not exit")
			}
			err := h.Fault()
			matches := (err == nil) == (c.fault == "") && (err == nil || strings.Contains(err.Error(), c.fault))
			if !matches || h.Late() != c.late {
				t.Errorf("fault %v, late %v", err, h.Late())
			}
			if again := f.Close(); (again == nil) != (c.fault == "") {
				t.Errorf("the fleet's error is %v", again)
			}
		})
	}
}

func TestCloseEndsTheHubsAndKeepsTheirLogs(t *testing.T) {
	t.Parallel()
	f, h := start(t, "serve")
	conn := connect(t, h.URL)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	awaitClose(t, conn)
	if text, err := os.ReadFile(h.Log); err != nil || !strings.Contains(string(text), "serves MCP at "+h.URL) {
		t.Errorf("its log has %q, %v", text, err)
	}
}

func TestTheErrorOfAHubThatDoesNotServeTellsWhy(t *testing.T) {
	t.Parallel()
	f := &Fleet{Args: []string{os.Args[0]}, Env: helper("mute"), Dir: t.TempDir()}
	if _, err := f.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "exited before it served") {
		t.Error(err)
	}
}

func TestAHubEndsWithItsStarter(t *testing.T) {
	t.Parallel()
	starter := exec.CommandContext(t.Context(), os.Args[0])
	starter.Env = append(helper("start"), "TMPDIR="+t.TempDir())
	in, err := starter.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := starter.StdoutPipe()
	if err == nil {
		err = starter.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, problem, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || problem != "<nil>" {
		t.Fatalf("the starter printed %q, %v", line, err)
	}
	conn := connect(t, url)
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait()
	awaitClose(t, conn)
}
