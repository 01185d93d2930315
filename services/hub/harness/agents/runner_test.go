package agents_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/task"
	"parley.internal/shared/team"
)

func TestARunnersMemberWorksOnItsPromptWithAKeyOfItsOwn(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := newStage(t)
			id := s.create(dispatch.CreateInput{Title: "The importer", Target: "crew.builder"})
			hold := make(chan struct{})
			last := fakemodel.Say("The importer is built.")
			last.Hold = hold
			s.model.Add(
				use(client, "team_read_inbox", map[string]any{"team_name": "crew", "agent_name": "builder"}),
				use(client, "claim_next_task", map[string]any{}),
				use(client, "complete_task", map[string]any{"taskId": id, "result": "in branch importer"}), last)
			args := []string{"--client", client}
			if client == "claude" {
				args = nil // it is the default
			}
			runner := s.crew(args...)
			s.assign("builder", "Use the schema of branch v2")
			s.spawn("builder", "-- Build the importer.")
			first := s.reads("-- Build the importer.", `You are "builder", a member of the team "crew"`, "Use the schema of branch v2")
			if first.Number != 1 {
				t.Errorf("the prompt and the mail are in request %d, want the first", first.Number)
			}
			s.reads("in branch importer", `"status":"done"`)
			if s.reads(`"from":"team-lead"`, "-- Build the importer."); s.process().State != team.Running {
				t.Errorf("read_config shows %+v", s.process())
			}
			got := s.done(id)
			if got.EndedBy != "crew.builder" || got.Result != "in branch importer" {
				t.Errorf("the task is %+v", got)
			}
			if valid, _ := s.keysOf("crew.builder"); valid != 1 {
				t.Errorf("%d keys of the member are valid", valid)
			}
			s.empty(filepath.Join(s.home.Work))
			close(hold)
			process, told := s.ended()
			if process.State != team.Exited || process.ExitCode == nil || *process.ExitCode != 0 ||
				!has(told, "exited with code 0", "The importer is built.") {
				t.Errorf("read_config shows %+v, and the lead reads %s", process, told)
			}
			if valid, revoked := s.keysOf("crew.builder"); valid != 0 || revoked != 1 {
				t.Errorf("%d keys are valid and %d revoked", valid, revoked)
			}
			if left, err := filepath.Glob(filepath.Join(s.state, "private", "*")); err != nil || len(left) != 0 {
				t.Errorf("files of the start are left: %v, %v", left, err)
			}
			runner.stop(syscall.SIGTERM)
			s.noKey(runner.text())
		})
	}
}

// empty checks that the clients wrote nothing into the directory.
func (s *stage) empty(dir string) {
	s.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		s.Errorf("%s has %v, %v", dir, entries, err)
	}
}

// noKey checks that a text and all files of the runner and the clients hold no key of Parley.
func (s *stage) noKey(text string) {
	s.Helper()
	texts := map[string]string{"the log": text}
	for _, dir := range []string{s.state, s.home.Dir, s.home.Work} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // the client may tidy up meanwhile
			}
			if read, err := os.ReadFile(path); err == nil {
				texts[path] = string(read)
			}
			return nil
		})
		if err != nil {
			s.Error(err)
		}
	}
	for where, text := range texts {
		if strings.Contains(text, "parley_ou_") || strings.Contains(text, s.Agent[:len("parley_")+4]) {
			s.Errorf("a key is in %s", where)
		}
	}
}

func TestTheLeadIsToldWhyAMemberEnded(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			t.Run("no model", func(t *testing.T) {
				s := newStage(t)
				for range 20 {
					s.model.Add(fakemodel.Step{Status: 400})
				}
				s.crew("--client", client)
				s.spawn("builder", "Build.")
				process, told := s.ended()
				if process.State != team.Exited || *process.ExitCode != 1 || !has(told, "exited with code 1", "scripted error") {
					t.Errorf("read_config shows %+v, and the lead reads %s", process, told)
				}
			})
			t.Run("killed", func(t *testing.T) {
				s := newStage(t)
				s.model.Add(fakemodel.Step{Text: "late", Hold: make(chan struct{})})
				r := s.crew("--client", client)
				s.spawn("builder", "Build.")
				s.reads("Build.")
				pid, err := strconv.Atoi(r.logged(`msg="a process started" member=builder pid=(\d+)`))
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				if process, told := s.ended(); process.Signal != "SIGKILL" || !has(told, "exited by SIGKILL") {
					t.Errorf("read_config shows %+v, and the lead reads %s", process, told)
				}
				if valid, _ := s.keysOf("crew.builder"); valid != 0 {
					t.Error("its key is still valid")
				}
			})
		})
	}
}

func TestAMemberMayDoWhatItsPersonAllowedAlone(t *testing.T) {
	for client, c := range map[string]struct {
		step    fakemodel.Step
		options []string
	}{
		"claude": {fakemodel.Use("Bash", map[string]string{"command": "touch made", "description": "x"}),
			[]string{"--client-arg=--allowedTools", "--client-arg=Bash(touch *)"}},
		"codex": {fakemodel.Use("exec_command", map[string]string{"cmd": "touch made"}),
			[]string{"--client-arg=--sandbox=danger-full-access"}},
	} {
		for _, allowed := range []bool{false, true} {
			t.Run(client+" "+strconv.FormatBool(allowed), func(t *testing.T) {
				s := newStage(t)
				s.model.Add(c.step, fakemodel.Say("It is over."))
				args := []string{"--client", client}
				if allowed {
					args = append(args, c.options...)
				}
				s.crew(args...)
				s.spawn("builder", "Build.")
				s.ended()
				if _, err := os.Stat(filepath.Join(s.home.Work, "made")); (err == nil) != allowed {
					t.Errorf("allowed %v: %v", allowed, err)
				}
			})
		}
	}
}

func TestAMembersTaskIsOfItsOwnProgram(t *testing.T) {
	s := newStage(t)
	id := s.create(dispatch.CreateInput{Title: "of another", Target: "alpha"})
	s.model.Add(use("claude", "claim_task", map[string]any{"taskId": id}))
	s.crew()
	s.spawn("builder", "Build.")
	s.reads("the task is for")
	s.ended()
	if got, err := s.Hub.Client(s.Agent).GetTask(t.Context(), dispatch.TaskInput{TaskID: id}); err != nil || got.Status != task.Created {
		t.Errorf("got %+v, %v", got, err)
	}
}
