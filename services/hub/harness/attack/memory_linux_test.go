package attack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
)

// server is the program that ships, as its own process with the memory of a small instance.
type server struct {
	*testing.T
	program *hubtest.Program
	keys    []string
	client  *http.Client
}

var keyPattern = regexp.MustCompile(`parley_[A-Za-z0-9_-]+`)

// startServer builds and starts the program. GOMEMLIMIT has the value that the program chooses in a cgroup of 512 MiB.
func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{T: t, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	s.program = hubtest.Start(t, []string{"GOMEMLIMIT=460MiB"})
	t.Cleanup(s.client.CloseIdleConnections)
	text, err := os.ReadFile(filepath.Join(s.program.Data, "keys.env"))
	hubtest.Must(t, err)
	s.keys = keyPattern.FindAllString(string(text), -1)
	return s
}

// post sends a body with one of the keys and returns the status of the answer, 0 if there was none.
func (s *server) post(i int, path string, body []byte) int {
	r, err := http.NewRequestWithContext(s.Context(), "POST", s.program.URL()+path, bytes.NewReader(body))
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
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.program.PID()))
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
// sending gets no answer, so the test asks only that the server lives and answers the next call.
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
