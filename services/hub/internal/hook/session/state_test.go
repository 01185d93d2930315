package session_test

import (
	"testing"

	"parley.internal/services/hub/internal/hook/session"
	"parley.internal/shared/hook/wire"
)

// The daemon reports a turn while a hook asks the server, so that answers may arrive in another order than that of the calls.
func TestAnOlderAnswerForgetsNoTaskThatALaterOneTold(t *testing.T) {
	t.Parallel()
	var s session.State
	claim := wire.Claim{TaskID: "T", Title: "a task", Status: "active"}
	s.Heard(wire.Compact, wire.HookOutput{SessionID: "claude/1", Claims: []wire.Claim{claim}, Waiting: wire.Waiting{Held: 1}}, true)
	s.Heard(wire.Turn, wire.HookOutput{SessionID: "claude/1"}, false)
	if len(s.Claims) != 1 || !s.WantsAnswer() {
		t.Errorf("it holds %+v, and %+v waits", s.Claims, s.Waiting)
	}
	s.Heard(wire.Turn, wire.HookOutput{SessionID: "claude/1"}, true)
	if len(s.Claims) != 0 || s.WantsAnswer() {
		t.Errorf("after a later answer without a task it holds %+v", s.Claims)
	}
}
