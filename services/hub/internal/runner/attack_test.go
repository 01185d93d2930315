//go:build unix

package runner_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/team"
)

// aKey has the form of a key of Parley, and is not the runner's.
const aKey = "parley_nrxwgylm_" + "abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst"

func TestAttackAMemberInheritsAListOfVariables(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "codex", "tool"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	listed := []string{"HOME=/home/u", "LANG=C", "LC_ALL=C", "LC_TIME=C", "PATH=" + bin, "SHELL=/bin/sh", "TERM=xterm",
		"TMPDIR=/tmp", "USER=u"}
	secrets := []string{"PARLEY_KEY=" + theKey, "PARLEY_HUMAN_KEY=" + aKey, "PARLEY_DATA=/var/lib/parley",
		"AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=s", "GOOGLE_APPLICATION_CREDENTIALS=/k.json", "SSH_AUTH_SOCK=/tmp/ssh",
		"XLANG=1", "LANGUAGE=1", "PATHEXT=1", "LC=1", "LD_PRELOAD=x.so", "LC_KEY=" + aKey, "LC_RUNNER=x" + theKey + "x",
		"ANTHROPIC_CUSTOM_HEADERS=Authorization: Bearer " + aKey, "GIT_KEY=" + aKey, "OPENAI_HEADER=" + theKey}
	claude := []string{"ANTHROPIC_API_KEY=a", "ANTHROPIC_BASE_URL=http://b"}
	codex := []string{"OPENAI_API_KEY=o"}
	proxies := []string{"HTTP_PROXY=1", "HTTPS_PROXY=2", "NO_PROXY=3", "http_proxy=4", "https_proxy=5", "no_proxy=6"}
	p.Env = slices.Concat(listed, secrets, claude, codex, proxies, []string{"JAVA_HOME=/j", "GIT_DIR=g", "GIT_TRACE=1"})
	for id, c := range map[string]struct {
		command string
		want    []string
	}{
		"tool":   {`"command": ["tool", "mate"]`, nil},
		"claude": {`"command": ["claude", "mate"]`, slices.Concat(claude, proxies)},
		"codex":  {`"command": ["` + bin + `/codex", "mate"]`, slices.Concat(codex, proxies)},
		"passed": {`"command": ["tool", "mate"], "pass_env": ["JAVA_HOME", "GIT_*", "NONE", "PARLEY_KEY"]`,
			[]string{"JAVA_HOME=/j", "GIT_DIR=g", "GIT_TRACE=1"}},
	} {
		p.Command = "{" + c.command + `, "env": {"` + stageVariable + `": "` + st.addr +
			`", "CLAUDECODE": null, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": null}}`
		run := p.run(t)
		s.spawn(id)
		want := slices.Concat(listed, c.want, []string{stageVariable + "=" + st.addr, "PARLEY_KEY=" + memberKey(id),
			"PWD=" + p.Root})
		got := st.next().Env
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
		run.end()
	}
}

func TestAttackAServerCannotLeadAMemberOutOfTheRoot(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	if err := os.Symlink("/", filepath.Join(p.Root, "link")); err != nil {
		t.Fatal(err)
	}
	p.run(t)
	for id, cwd := range map[string]string{"up": "..", "far": "a/../../..", "abs": "/etc", "link": "link/etc",
		"self": "/proc/self/cwd/..", "beside": p.Root + "ed"} {
		s.spawn(id, func(q *team.Process) { q.Cwd = cwd })
		if got := s.end(id); got.State != team.Failed || !strings.Contains(got.Last.Error, "working directory") {
			t.Errorf("%s: got %+v", id, got)
		}
	}
	st.empty()
}

// The server answers the claim of a process with another one, whose name leads out of the state directory.
func TestAttackAServerCannotExchangeTheProcessOfAClaim(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	s.change(func() {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			id, claims := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/teams/core/processes/"), "/claim")
			if !claims {
				return false
			}
			var in struct{ Runner string }
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			s.change(func() {
				q := s.processes[id]
				q.State, q.Runner = team.Starting, in.Runner
				view := q.view()
				view["name"] = "../../../stolen"
				if id == "p2" {
					view["name"], view["process_id"] = q.Name, "../p2"
				}
				reply(w, map[string]any{"process": view, "already_claimed": false})
			})
			return true
		}
	})
	p.run(t)
	for _, id := range []string{"p1", "p2"} {
		s.spawn(id)
		if got := s.end(id); got.State != team.Failed || !strings.Contains(got.Last.Error, "another process") {
			t.Errorf("got %+v", got)
		}
	}
	s.spawn("p3", func(q *team.Process) { q.Name = "../p3" })
	st.empty()
	if found, err := filepath.Glob(filepath.Join(filepath.Dir(p.State), "*stolen*")); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
}

// A key becomes the value of a variable, and its form is that of a key.
func TestAttackAServerCannotSetOtherThanAKey(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	run := p.run(t)
	for id, key := range map[string]string{"nul": aKey + "\x00", "line": aKey + "\nLD_PRELOAD=x.so", "text": "x", "two": aKey + aKey,
		"begin": " " + aKey} {
		s.change(func() { s.key = key })
		s.spawn(id)
		if got := s.end(id); got.State != team.Failed || !strings.Contains(got.Last.Error, "a key that is none") ||
			strings.Contains(got.Last.Error, key) {
			t.Errorf("%s: got %+v", id, got)
		}
	}
	st.empty()
	run.end()
	if strings.Contains(run.text(), aKey) {
		t.Errorf("the log has a key: %s", run.text())
	}
}

func TestAttackAServersWordsCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	const words = "\x1b]0;owned\x07\u009b2J\u202e\r\ntime=now level=INFO msg=\"all is well\""
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	run := p.run(t)
	s.spawn("p1", func(q *team.Process) { q.AgentID = words + "@core" })
	_ = st.next()
	s.spawn("p2", func(q *team.Process) { q.Name = words })
	run.until("invalid ID or name")
	s.change(func() {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, 503, "UNAVAILABLE", words)
			return true
		}
	})
	run.until("will be tried again")
	s.change(func() { s.fault = nil })
	run.end()
	text, header := run.text(), p.output(t, "w-p1")
	if !strings.Contains(text, "owned") || !strings.Contains(header, `\x1b]0;owned`) {
		t.Errorf("got %q and %q", text, header)
	}
	if strings.ContainsAny(text+header, "\x1b\x07\u009b\u202e\r") || strings.Contains(text, "\ntime=now") {
		t.Errorf("got %q and %q", text, header)
	}
}
