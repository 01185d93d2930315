package connectd_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/shared/hook/wire"
)

func TestAnEditOfAFileThatTheSessionHoldsIsAnsweredWithoutTheServer(t *testing.T) {
	t.Parallel()
	free, own := wire.Files{Verdict: wire.Pass}, wire.Files{Verdict: wire.Pass, Reserved: true, Strict: true}
	for name, c := range map[string]struct {
		said  wire.Files
		after time.Duration
		asked bool
		down  bool // the server, so that a strict project refuses what it is asked for
	}{
		"its own, a while ago":                {own, 20 * time.Second, false, false},
		"its own, long ago, in a strict one":  {own, time.Minute, true, true},
		"free, a moment ago":                  {free, time.Second, false, false},
		"free, a while ago":                   {free, 20 * time.Second, true, false},
		"free, a moment ago, in a strict one": {wire.Files{Verdict: wire.Pass, Strict: true}, time.Second, true, true},
		"told of, a moment ago":               {wire.Files{Verdict: wire.Warn, Reason: []string{"beta holds it"}}, time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			hooktest.Repository(t, m.Dir)
			at := &clock{}
			daemon(t, m, connectd.Options{Now: at.now})
			m.Hook("t1", "SessionStart", nil)
			hub.Files(c.said)
			file := edit("u1", write(t, m, "a.go"))
			m.Hook("t1", "PreToolUse", file)
			at.pass(c.after)
			hub.Files(wire.Files{Verdict: wire.Deny, Reason: []string{"beta holds it"}})
			if c.down {
				hub.Set("down", 0)
			}
			got := m.Hook("t1", "PreToolUse", file)
			if denied := got.Denied() != ""; denied != c.asked {
				t.Errorf("refused: %t, %+v", denied, got)
			}
		})
	}
}

func TestAServerThatDoesNotAnswerIsNotWaitedForAtEachEdit(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hooktest.Repository(t, m.Dir)
	daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	hub.Set("silent", 0)
	m.Hook("t1", "PreToolUse", edit("u1", write(t, m, "a.go")))
	hub.Set("", 0)
	hub.Files(wire.Files{Verdict: wire.Deny, Reason: []string{"beta holds b.go"}})
	if got := m.Hook("t1", "PreToolUse", edit("u2", write(t, m, "b.go"))); got.Out != "" {
		t.Fatalf("the server was waited for: %+v", got)
	}
	hooktest.Eventually(t, "what another holds is not told", func() bool {
		return strings.Contains(m.Hook("t1", "PostToolUse", bash).Context(), "beta holds b.go")
	})
}

func TestAFileThatAnotherHoldsMeanwhileIsToldWithTheNextHookAndThenRefused(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hooktest.Repository(t, m.Dir)
	daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "UserPromptSubmit", nil)
	hub.Files(wire.Files{Verdict: wire.Pass, Reserved: true})
	file := edit("u1", write(t, m, "a.go"))
	m.Hook("t1", "PreToolUse", file)
	hub.Files(wire.Files{Verdict: wire.Deny, Reason: []string{"beta holds a.go"}})
	if got := m.Hook("t1", "PreToolUse", file); got.Out != "" {
		t.Fatalf("the server was waited for: %+v", got)
	}
	text := ""
	hooktest.Eventually(t, "it is not told", func() bool {
		text = m.Hook("t1", "PostToolUse", file).Context()
		return text != ""
	})
	if !strings.Contains(text, "beta holds a.go") {
		t.Errorf("the next hook says %q", text)
	}
	if got := m.Hook("t1", "PreToolUse", file).Denied(); !strings.Contains(got, "beta holds a.go") {
		t.Errorf("the next edit: %q", got)
	}
	edits := slices.DeleteFunc(hub.Inputs(), func(in wire.HookInput) bool { return in.Event != wire.Edit })
	for _, in := range edits {
		if !slices.Equal(in.Paths, []string{"a.go"}) {
			t.Errorf("the server was told of %q", in.Paths)
		}
	}
}
