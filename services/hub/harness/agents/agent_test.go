package agents_test

import (
	"syscall"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/keys"
	"parley.internal/shared/ledger"
	"parley.internal/shared/task"
)

// serve starts an agent that serves the queue of the program worker with the person's key.
func (s *stage) serve(client string, args ...string) *running {
	return s.run(s.Human, append([]string{"agent", "--program", "worker", "--client", client, "--state", s.state}, args...)...)
}

func TestAQueueIsServedInOneSessionAndItsUsageIsRecordedOnce(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := newStage(t)
			say := func(text string) fakemodel.Step {
				return fakemodel.Step{Text: text, Usage: &fakemodel.Usage{In: 500, Out: 30}}
			}
			s.model.Add(say("The first is built."), say("The second is built."), say("The third is built."))
			agent := s.serve(client, "--max-tasks", "3")
			first := s.done(s.create(dispatch.CreateInput{Title: "Build one", Instructions: "-- All of it.", Target: "worker",
				ThreadID: "t"}))
			if first.Status != task.Done || first.Result != "The first is built." || first.EndedBy != "worker" {
				t.Errorf("got %+v", first)
			}
			second := s.done(s.create(dispatch.CreateInput{Title: "Build two", Target: "worker", ThreadID: "t"}))
			third := s.done(s.create(dispatch.CreateInput{Title: "Build three", Target: "worker", ThreadID: "other"}))
			for _, got := range []dispatch.View{first, second, third} {
				if got.Usage == nil || got.Usage.TokensIn != 500 || got.Usage.TokensOut != 30 ||
					(client == "claude") != (got.Usage.CostUSD > 0) {
					t.Errorf("the usage of %q is %+v", got.Title, got.Usage)
				}
			}
			all := s.model.Requests()
			if len(all) != 3 || !has(all[0].Text, "Build one\n\n-- All of it.", first.ID) ||
				!has(all[1].Text, "Build one", "The first is built.", "Build two") ||
				has(all[2].Text, "Build two") || !has(all[2].Text, "Build three") {
				t.Errorf("the model read %d requests, the second %s", len(all), all[1].Text)
			}
			<-agent.exited
			if code := agent.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("it exits with %d: %s", code, agent.text())
			}
			s.used(1500, 90)
			if valid, revoked := s.keysOf("worker"); valid != 0 || revoked != 4 {
				t.Errorf("%d keys are valid and %d revoked, want those of the agent and three tasks revoked", valid, revoked)
			}
			s.noKey(agent.text())
		})
	}
}

// used checks the tokens in the ledger.
func (s *stage) used(in, out int64) {
	s.Helper()
	var got ledger.UsageOutput
	s.Hub.Flush()
	got, err := s.Hub.Client(s.Human).GetUsage(s.Context(), ledger.UsageInput{})
	if err != nil {
		s.Fatal(err)
	}
	if got.Total.TokensIn != in || got.Total.TokensOut != out {
		s.Errorf("the ledger has %+v, want %d in and %d out", got.Total, in, out)
	}
}

func TestAKilledAgentLosesNoTask(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := newStage(t)
			hold := make(chan struct{})
			s.model.Add(fakemodel.Step{Text: "It is built.", Hold: hold, Usage: &fakemodel.Usage{In: 500, Out: 30}})
			agent := s.serve(client)
			id := s.create(dispatch.CreateInput{Title: "Build it", Target: "worker"})
			s.reads("Build it")
			agent.stop(syscall.SIGKILL)
			next := s.serve(client)
			next.logged(`msg="a former worker left a task" task=` + id)
			close(hold)
			if got := s.done(id); got.Status != task.Done || got.Result != "It is built." || got.Attempts > 1 {
				t.Errorf("got %+v", got)
			}
			next.stop(syscall.SIGTERM)
			if n := len(s.model.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			s.used(500, 30)
			if valid, _ := s.keysOf("worker"); valid != 0 {
				t.Errorf("%d keys are valid", valid)
			}
		})
	}
}

func TestAStoppedAgentGivesItsTaskBack(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := newStage(t)
			s.model.Add(fakemodel.Step{Text: "late", Hold: make(chan struct{})})
			agent := s.serve(client)
			id := s.create(dispatch.CreateInput{Title: "Build it", Target: "worker"})
			s.reads("Build it")
			agent.stop(syscall.SIGTERM)
			got, err := s.Hub.Client(s.Human).GetTask(t.Context(), dispatch.TaskInput{TaskID: id})
			if err != nil || got.Status != task.Created || got.Reason != "its worker was stopped" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestAClientThatCannotReachItsModelFailsNoTask(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := newStage(t)
			for range 40 {
				s.model.Add(fakemodel.Step{Status: 400})
			}
			agent := s.serve(client)
			id := s.create(dispatch.CreateInput{Title: "Build it", Target: "worker"})
			agent.logged("could not begin 3 times in a row")
			<-agent.exited
			got, err := s.Hub.Client(s.Human).GetTask(t.Context(), dispatch.TaskInput{TaskID: id})
			if err != nil || got.Status != task.Created || !has(got.Reason, "the client could not begin", "scripted error") ||
				agent.cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestATaskFailsAtTheLimitOfItsTurns(t *testing.T) {
	s := newStage(t)
	for range 3 {
		s.model.Add(use("claude", "whoami", map[string]any{}))
	}
	s.serve("claude", "--max-turns", "2")
	got := s.done(s.create(dispatch.CreateInput{Title: "Build it", Target: "worker"}))
	if got.Status != task.Failed || !has(got.Result, "Reached maximum number of turns (2)") || got.Usage == nil {
		t.Errorf("got %+v", got)
	}
}

func TestAnAgentWithTheProgramsKeyPassesItToTheClientAlone(t *testing.T) {
	s := newStage(t)
	s.model.Add(use("claude", "whoami", map[string]any{}), fakemodel.Say("I know."))
	own := s.Hub.Key("u", keys.CreateInput{Program: "worker"})
	s.run(own, "agent", "--program", "worker", "--state", s.state, "--max-tasks", "1")
	s.done(s.create(dispatch.CreateInput{Title: "Who are you?", Target: "worker"}))
	s.reads("Who are you?", `"program":"worker"`)
	if valid, _ := s.keysOf("worker"); valid != 1 {
		t.Errorf("%d keys are valid, want the program's own", valid)
	}
}
