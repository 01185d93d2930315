package connect_test

import (
	"fmt"
	"os"
	"testing"

	"parley.internal/services/hub/internal/connect"
)

// connectIn connects a client in a directory beside the project, and removeIn takes that back.
func (s *site) connectIn(name, dir string, change func(*connect.Setup)) {
	s.t.Helper()
	set, place := setup(name+"-"+dir), s.place
	place.Root, place.Main, place.Common = s.path(dir), s.path(dir), ""
	if change != nil {
		change(&set)
	}
	p, err := connect.NewPlan(s.t.Context(), s.path("parley"), client(s.t, name), place, set)
	if err == nil {
		err = p.Apply(s.t.Context())
	}
	if err != nil {
		s.t.Fatalf("%s in %s: %v", name, dir, err)
	}
}

func (s *site) removeIn(name, dir string) {
	s.t.Helper()
	p, err := connect.NewRemoval(s.path("parley"), name+"-"+dir)
	if err == nil {
		err = p.Apply(s.t.Context())
	}
	if err != nil {
		s.t.Fatalf("%s in %s: %v", name, dir, err)
	}
}

func TestConnectionsThatShareAFileRestoreItInAnyOrder(t *testing.T) {
	t.Parallel()
	orders := [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}}
	trust := func(set *connect.Setup) {
		set.Trust = "[hooks.state.\"" + set.ID + "\"]\ntrusted_hash = \"h\"\n"
	}
	for name, c := range map[string]struct {
		client string
		change func(*site) func(*connect.Setup)
		files  map[string]string
	}{
		"no file":         {"claude", nil, nil},
		"an empty object": {"claude", nil, map[string]string{"home/.claude.json": "{}"}},
		"an empty object of lines": {"claude", nil, map[string]string{"home/.claude.json": "{\n\n}",
			"home/.claude/settings.json": "{ \"extraKnownMarketplaces\" : {\n\t} }"}},
		"settings": {"claude", nil, settings["claude"]},
		"comments": {"claude", nil, map[string]string{"home/.claude.json": "{ // mine\n \"a\": 1, // one\n \"projects\": { /* none */ }, }\n"}},
		"plugins and no file": {"claude", func(s *site) func(*connect.Setup) {
			return func(set *connect.Setup) { s.asPlugin(set); set.Rules = true }
		}, nil},
		"plugins and settings": {"claude", func(s *site) func(*connect.Setup) { return s.asPlugin },
			map[string]string{"home/.claude/settings.json": "{\n  \"theme\": \"dark\"\n}\n"}},
		"trust and no file": {"codex", func(*site) func(*connect.Setup) { return trust }, nil},
		"trust and settings": {"codex", func(*site) func(*connect.Setup) { return trust },
			map[string]string{"home/.codex/config.toml": "model = 'x'"}},
	} {
		for _, order := range orders {
			s := newSite(t, false, c.files)
			what := fmt.Sprintf("%s, removed as %v", name, order)
			var change func(*connect.Setup)
			if c.change != nil {
				change = c.change(s)
			}
			for _, dir := range orders[0] {
				if err := os.Mkdir(s.path(dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			before := s.tree()
			for _, dir := range orders[0] {
				s.connectIn(c.client, dir, change)
			}
			for _, dir := range order {
				s.removeIn(c.client, dir)
			}
			differs(t, what, s.tree(), before)
		}
	}
}

func TestWhatAConnectionMadeIsStillItsOwnWhenItsEntryChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, map[string]string{"a/x": "", "b/x": "", "home/.claude.json": "{\n  \"n\": 1\n}\n"})
	before := s.tree()
	s.connectIn("claude", "a", nil)
	s.connectIn("claude", "b", nil)
	s.connectIn("claude", "a", func(set *connect.Setup) { set.Endpoint += "2"; set.Parley = "/elsewhere/parley" })
	s.removeIn("claude", "b")
	s.removeIn("claude", "a")
	differs(t, "removed", s.tree(), before)
}
