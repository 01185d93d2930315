package connect_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/shared/store/emulator"
)

func (s *site) link(to, name string) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755)
	if err == nil {
		err = os.Symlink(to, s.path(name))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestALinkThatARepositoryBringsIsNotFollowedOutOfIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "links need rights on Windows")
	}
	rules := func(set *connect.Setup) { set.Rules = true }
	for name, c := range map[string]struct {
		link, to    string // of the project
		yours, want bool   // whether git does not have it, and whether it is followed
	}{
		"a file outside":                {"CLAUDE.md", "../home/.bashrc", false, false},
		"a directory outside":           {".claude", "../home/dots", false, false},
		"a file by its whole path":      {"CLAUDE.md", "HOME/.bashrc", false, false},
		"a file that is not there":      {"CLAUDE.md", "../home/new", false, false},
		"a directory by another link":   {".claude", "own", false, false},
		"git's own files":               {".claude", ".git/info", false, false},
		"a file of the repository":      {"CLAUDE.md", "AGENTS.md", false, true},
		"a directory of the repository": {".claude", "shared", false, true},
		"a link of the person":          {"CLAUDE.md", "../home/.bashrc", true, true},
		"a directory of the person":     {".claude", "../home/dots", true, true},
	} {
		s := newSite(t, true, map[string]string{"home/.bashrc": "alias l=ls\n", "home/dots/x": "", "project/AGENTS.md": "# Ours\n",
			"project/shared/x": ""})
		s.link("../home/dots", "project/own")
		s.link(strings.ReplaceAll(c.to, "HOME", s.path("home")), "project/"+c.link)
		if !c.yours {
			s.git("add", "-f", c.link)
		}
		before := s.tree()
		p, err := s.plan("claude", rules)
		if c.want {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			// What `--dry-run` shows.
			if got := strings.Join(p.Links(), "\n"); !strings.Contains(got, s.path("project/"+c.link)) || !strings.Contains(got, " -> "+s.root) {
				t.Errorf("%s: the links are %q", name, got)
			}
			s.connect("claude", rules)
			s.remove("claude")
		} else if err == nil || !strings.Contains(err.Error(), s.path("project/"+c.link)+", which the repository brought") ||
			!strings.Contains(err.Error(), "leads out of it to "+s.root) || !strings.Contains(err.Error(), "connect with --user") {
			t.Errorf("%s: %v", name, err)
		}
		differs(t, name, s.tree(), before)
	}
}

func TestALinkByWhichAnEarlierRunWentIsFollowed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "links need rights on Windows")
	}
	s := newSite(t, true, map[string]string{"home/dots/mcp.json": "{}"})
	s.link("../../home/dots/mcp.json", "project/.cursor/mcp.json")
	s.connect("cursor", nil)
	s.git("add", "-f", ".cursor/mcp.json")
	p, err := s.plan("cursor", func(set *connect.Setup) { set.Parley = "/elsewhere/parley" })
	if err != nil || !slices.Equal(p.Links(), []string{s.path("project/.cursor/mcp.json") + " -> " + s.path("home/dots/mcp.json")}) {
		t.Errorf("%v, %v", p.Links(), err)
	}
}
