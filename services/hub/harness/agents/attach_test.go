package agents_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/team"
)

func TestAPersonCanAttachToAMember(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		emulator.Skip(t, "tmux is missing")
	}
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := newStage(t)
			s.home.Trust(t)
			s.model.Add(use(client, "whoami", map[string]any{}), fakemodel.Say("I am the builder."))
			r := s.crew("--client", client, "--attach")
			s.spawn("builder", "Build it.")
			s.reads("Build it.", `You are "builder"`)
			s.reads(`"program":"crew.builder"`)
			socket := strings.TrimSpace(readTail(t, s.state+"/private/"+s.process().ProcessID+"/socket"))
			domaintest.Eventually(s.T, "the terminal shows the answer", func() bool {
				out, err := exec.CommandContext(t.Context(), "tmux", "-S", socket, "capture-pane", "-p").Output()
				return err == nil && strings.Contains(string(out), "I am the builder.")
			})
			if first := s.model.Requests()[0]; client == "claude" && has(first.Text, "auto mode is active") {
				t.Error("Claude Code decides by itself what it may do")
			}
			if got := s.process(); got.State != team.Running {
				t.Errorf("got %+v", got)
			}
			if _, err := s.Hub.Client(s.Agent).TeamForceKillTeammate(t.Context(),
				team.MemberInput{TeamName: "crew", AgentName: "builder"}); err != nil {
				t.Fatal(err)
			}
			r.logged(`member=builder pid=\d+ state=killed`)
			if err := exec.Command("tmux", "-S", socket, "list-sessions").Run(); err == nil {
				t.Error("the terminal is left")
			}
			if valid, _ := s.keysOf("crew.builder"); valid != 0 {
				t.Error("the key is still valid")
			}
			if log := readTail(t, s.state+"/logs/builder.log"); !has(log, "attach with: tmux -S "+socket+" attach", "I am the builder.") {
				t.Errorf("the log has %s", log)
			}
			r.stop(syscall.SIGTERM)
			s.noKey(r.text())
		})
	}
}
