package attack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/harness/program"
)

// server is the program that ships, as its own process with the memory of a small instance.
type server struct {
	*testing.T
	cmd    *exec.Cmd
	url    string
	keys   []string
	client *http.Client
}

var (
	keyPattern = regexp.MustCompile(`parley_[A-Za-z0-9_-]+`)
	urlPattern = regexp.MustCompile(`http://[0-9.:]+`)
)

// startServer builds and starts the program. GOMEMLIMIT has the value that the program chooses in a cgroup of 512 MiB.
func startServer(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	binary, data := filepath.Join(dir, "parley"), filepath.Join(dir, "data")
	hubtest.Must(t, program.Build(t.Context(), binary))
	log, err := os.Create(filepath.Join(dir, "log"))
	hubtest.Must(t, err)
	t.Cleanup(func() { _ = log.Close() })
	s := &server{T: t, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	s.cmd = exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", data)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PARLEY_KEYRING=off", "GOMEMLIMIT=460MiB"}
	hubtest.Must(t, s.cmd.Start())
	exited := make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			_ = s.cmd.Process.Kill()
			t.Error("the server did not end")
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(data, "keys.env"))
		if err == nil {
			s.keys, s.url = keyPattern.FindAllString(string(text), -1), urlPattern.FindString(string(text))
			return s
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("the server did not start: %s", said)
		}
	}
}

// post sends a body with one of the keys and returns the status of the answer, 0 if there was none.
func (s *server) post(i int, path string, body []byte) int {
	r, err := http.NewRequestWithContext(s.Context(), "POST", s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+s.keys[i%len(s.keys)])
	r.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(r)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// peak returns the most memory that the process had at once, in MiB.
func (s *server) peak() int {
	s.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	hubtest.Must(s, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			hubtest.Must(s, err)
			return n >> 10
		}
	}
	s.Fatal("the system does not tell the memory of a process")
	return 0
}

// The long form sends two hundred bodies at once, three times. A client whose connection was closed while it was still
// sending gets no answer, so what counts is that the server lives and answers the next call.
func TestAttackHostileBodiesAtOnceLeaveAServerOf512MiBAlive(t *testing.T) {
	t.Parallel()
	atOnce, rounds := 50, 1
	if os.Getenv("PARLEY_ATTACK") == "long" {
		atOnce, rounds = 200, 3
	}
	s := startServer(t)
	fill := func(head, part, tail string) []byte {
		n := (mebibyte - len(head) - len(tail)) / len(part)
		return []byte(head + strings.TrimSuffix(strings.Repeat(part, n), ",") + tail)
	}
	const tool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_sprint","arguments":`
	hostile := []struct {
		path string
		body []byte
	}{
		{"/v1/sprints", fill(`{"projectName":"p","stories":[`, "{},", "]}")},
		{"/v1/sprints", fill(`{"projectName":"p","stories":"[`, "{},", `]"}`)},
		{"/mcp", fill(tool+`{"projectName":"p","stories":[`, "{},", "]}}}")},
		{"/mcp", fill(tool+`{"a":[`, `{"a":[]},`, "]}}}")},
		{"/v1/tasks", fill(`{"title":"t",`, `"a":{},`, "}")},
		{"/v1/tasks", fill(`{"title":"`, "x", `"}`)},
		{"/mcp", fill(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":[`, "{},", "]}}")},
	}
	statuses := map[int]int{}
	var mu sync.Mutex
	for range rounds {
		var all sync.WaitGroup
		for i := range atOnce {
			all.Go(func() {
				h := hostile[i%len(hostile)]
				status := s.post(i, h.path, h.body)
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
			})
		}
		all.Wait()
		if status := s.post(0, "/v1/tasks", []byte(`{"title":"t","target":"alpha"}`)); status != 201 {
			t.Fatalf("after %d bodies at once the server answers %d (before: %v)", atOnce, status, statuses)
		}
	}
	if statuses[400] == 0 || statuses[500] > 0 || statuses[201] > 0 {
		t.Errorf("the answers are %v, want 400 and 503", statuses)
	}
	if n := s.peak(); n > 512 {
		t.Errorf("the server took %d MiB, want at most 512", n)
	} else {
		t.Logf("the server took %d MiB; the answers are %v", n, statuses)
	}
}
