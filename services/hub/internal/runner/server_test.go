//go:build unix

package runner_test

import (
	"cmp"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/team"
)

const (
	theTeam = "core"
	theKey  = "parley_a_secret"
)

// process is a process in the server's state.
type process struct {
	team.Process
	// State is the process's state and Last the last report.
	State  team.State
	Last   team.ReportInput
	Runner string
}

// server implements the routes for a team's processes in memory. It records the calls in order and can be unreachable.
type server struct {
	*httptest.Server
	t   *testing.T
	mux *http.ServeMux

	mu        sync.Mutex
	changed   chan struct{}
	order     []string
	processes map[string]*process
	calls     []string
	away      bool
	deleted   bool
	fault     func(w http.ResponseWriter, r *http.Request) bool
	before    func(call string)
	mute      bool
	// key is the key that claims give, or else that of [memberKey]; keyless servers give none.
	key     string
	keyless bool
	// mail are the unread messages of each member, and peeked the bodies of the calls that read them.
	mail   []team.Message
	peeked []string
}

// ofMembers matches the paths that a runner calls with a member's key.
var ofMembers = regexp.MustCompile(`^/v1/teams/` + theTeam + `(/inboxes/.*)?$`)

// memberKey returns the key of the member with a process.
func memberKey(id string) string {
	text := strings.ToLower(base32.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%-32s", "member of "+id))))
	return "parley_nrxwgylm_" + strings.TrimRight(text, "=")
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, changed: make(chan struct{}), processes: map[string]*process{}}
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("GET /v1/teams/"+theTeam+"/processes", s.list)
	s.mux.HandleFunc("POST /v1/teams/"+theTeam+"/processes/{id}/claim", s.claim)
	s.mux.HandleFunc("POST /v1/teams/"+theTeam+"/processes/{id}/report", s.report)
	s.mux.HandleFunc("GET /v1/teams/"+theTeam, s.config)
	s.mux.HandleFunc("POST /v1/teams/"+theTeam+"/inboxes/{name}/read", s.inbox)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		away, fault, deleted := s.away, s.fault, s.deleted
		s.mu.Unlock()
		switch {
		case away:
			hangUp(w)
		case fault != nil && fault(w, r):
		case !ofMembers.MatchString(r.URL.Path) && r.Header.Get("Authorization") != "Bearer "+theKey:
			refuse(w, 401, "UNAUTHENTICATED", "this key is not known: "+strings.TrimPrefix(
				r.Header.Get("Authorization"), "Bearer "))
		case deleted:
			refuse(w, 404, "NOT_FOUND", "Team core does not exist")
		default:
			s.mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		s.leave()
		s.Close()
	})
	return s
}

// config answers a member with its prompt.
func (s *server) config(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := team.ConfigOutput{Config: team.Config{Name: theTeam}}
	for id, p := range s.processes {
		if r.Header.Get("Authorization") == "Bearer "+memberKey(id) {
			prompt := "-- build it, " + p.Name
			out.Members = append(out.Members, team.Member{Name: "other"}, team.Member{Name: p.Name, Prompt: &prompt})
		}
	}
	if out.Members == nil {
		refuse(w, 401, "UNAUTHENTICATED", "this key is not known")
		return
	}
	reply(w, out)
}

// inbox answers a member with its mail.
func (s *server) inbox(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the test compares it
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.processes {
		if r.Header.Get("Authorization") == "Bearer "+memberKey(id) && p.Name == r.PathValue("name") {
			s.peeked = append(s.peeked, string(body))
			reply(w, team.InboxOutput{Messages: append([]team.Message{}, s.mail...)})
			return
		}
	}
	refuse(w, 403, "FORBIDDEN", "this key may not read it: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
}

func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func reply(w http.ResponseWriter, data any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "data": data}) // the runner may have been killed
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false,
		"error": map[string]any{"code": code, "message": message, "details": []any{}}})
}

// change changes the state of the server and wakes waiting calls.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits until a condition holds.
func (s *server) until(what string, holds func() bool) {
	s.t.Helper()
	over := time.After(patience)
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-over:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("%s: it does not come to it:\n%s", what, strings.Join(s.calls, "\n"))
		}
	}
}

// leave makes the server unreachable: it drops all connections until come is called.
func (s *server) leave() { s.change(func() { s.away = true }) }

func (s *server) come() { s.change(func() { s.away = false }) }

// spawn requests a process.
func (s *server) spawn(id string, with ...func(*team.Process)) {
	s.change(func() {
		p := &process{Process: team.Process{ProcessID: id, TeamName: theTeam, Name: "w-" + id,
			AgentID: "w-" + id + "@core", AgentType: "general-purpose",
			Color: "blue", LeadSessionID: "lead-1", Wanted: "running"}, State: team.Requested}
		for _, f := range with {
			f(&p.Process)
		}
		s.processes[id] = p
		s.order = append(s.order, id)
	})
}

// kill requests the end of a process.
func (s *server) kill(id string) {
	s.change(func() {
		p := s.processes[id]
		p.Wanted = team.WantEnded
		if p.State == team.Requested {
			p.State = team.Killed
		}
	})
}

func ended(state team.State) bool {
	return state == team.Exited || state == team.Failed || state == team.Killed
}

// end waits for the end of a process and returns the process.
func (s *server) end(id string) process {
	s.t.Helper()
	s.until(id+" ends", func() bool { return ended(s.processes[id].State) || s.processes[id].State == team.Lost })
	return s.get(id)
}

func (s *server) get(id string) process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.processes[id]
}

// runs waits until a process is reported as running.
func (s *server) runs(id string) {
	s.t.Helper()
	s.until(id+" runs", func() bool { return s.processes[id].State == team.Running })
}

// said returns the calls for one process in order.
func (s *server) said(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, c := range s.calls {
		if call, ok := strings.CutSuffix(c, " "+id); ok {
			out = append(out, call)
		}
	}
	return out
}

// count returns the number of equal calls. It is for conditions of [server.until].
func (s *server) count(call string) int {
	n := 0
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (p *process) view() map[string]any {
	text, _ := json.Marshal(p.Process)
	var out map[string]any
	_ = json.Unmarshal(text, &out)
	out["state"], out["pid"], out["started_at"], out["error"] = p.State, p.Last.PID, p.Last.StartedAt, p.Last.Error
	return out
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	in := r.URL.Query()
	runner, held := in.Get("runner"), in.Get("held") == "true"
	wait, _ := strconv.Atoi(in.Get("wait_ms"))
	over := time.After(time.Duration(wait) * time.Millisecond)
	for {
		s.mu.Lock()
		out := []any{}
		for _, id := range s.order {
			p := s.processes[id]
			ours := p.Runner == runner && !ended(p.State)
			if held && ours || !held && (p.State == team.Requested || ours && p.Wanted == team.WantEnded && !s.mute) {
				out = append(out, p.view())
			}
		}
		changed, away, deleted := s.changed, s.away, s.deleted
		s.mu.Unlock()
		if away {
			hangUp(w)
			return
		}
		if deleted {
			refuse(w, 404, "NOT_FOUND", "Team core does not exist")
			return
		}
		if len(out) > 0 || held {
			reply(w, map[string]any{"processes": out})
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-over:
			reply(w, map[string]any{"processes": out})
			return
		}
	}
}

// call records a call and finds its process.
func (s *server) call(w http.ResponseWriter, r *http.Request, verb string) (p *process, release func()) {
	if s.before != nil {
		s.before(verb + " " + r.PathValue("id"))
	}
	s.mu.Lock()
	s.calls = append(s.calls, verb+" "+r.PathValue("id"))
	release = func() {
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
	}
	if p = s.processes[r.PathValue("id")]; p == nil {
		refuse(w, 404, "NOT_FOUND", "Process "+r.PathValue("id")+" not found in team core")
	}
	return p, release
}

func (s *server) claim(w http.ResponseWriter, r *http.Request) {
	var in struct{ Runner string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Runner == "" {
		refuse(w, 400, "INVALID_ARGUMENT", "no runner")
		return
	}
	p, release := s.call(w, r, "claim")
	defer release()
	switch {
	case p == nil:
	case p.State == team.Requested:
		p.State, p.Runner = team.Starting, in.Runner
		s.claimed(w, p, false)
	case p.Runner == in.Runner && !ended(p.State):
		s.claimed(w, p, true)
	default:
		refuse(w, 409, "FAILED_PRECONDITION", "another runner has claimed it")
	}
}

// claimed answers a claim that succeeded.
func (s *server) claimed(w http.ResponseWriter, p *process, again bool) {
	out := map[string]any{"process": p.view(), "already_claimed": again}
	if !s.keyless {
		out["key"] = cmp.Or(s.key, memberKey(p.ProcessID))
	}
	reply(w, out)
}

func (s *server) report(w http.ResponseWriter, r *http.Request) {
	var in team.ReportInput
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.StartedAt) > 100 ||
		len([]rune(in.Error)) > 2000 {
		refuse(w, 400, "INVALID_ARGUMENT", fmt.Sprint("the report: ", err))
		return
	}
	p, release := s.call(w, r, string(in.State))
	defer release()
	follows := map[team.State][]team.State{
		team.Starting: {team.Running, team.Exited, team.Failed, team.Killed, team.Lost},
		team.Running:  {team.Exited, team.Failed, team.Killed, team.Lost},
		team.Lost:     {team.Running, team.Exited, team.Failed, team.Killed},
	}
	switch {
	case p == nil:
	case p.Runner != in.Runner:
		refuse(w, 403, "FORBIDDEN", "this runner does not hold the process")
	case p.State == in.State:
		reply(w, map[string]any{"process": p.view()})
	case !slices.Contains(follows[p.State], in.State):
		refuse(w, 409, "FAILED_PRECONDITION",
			"Cannot report "+string(in.State)+" of a process that is "+string(p.State))
	default:
		p.State, p.Last = in.State, in
		reply(w, map[string]any{"process": p.view()})
	}
}
