package hook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/hook"
)

func TestAFileIsComparedByWhereLinksLeadAlsoWhereNothingIsYet(t *testing.T) {
	t.Parallel()
	dir, away := t.TempDir(), t.TempDir()
	link := func(target string, name ...string) error {
		return os.Symlink(target, filepath.Join(append([]string{dir, "src"}, name...)...))
	}
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "src", "deep"), 0o700), link(filepath.Join(away, "new"), "file"),
		link("../secret/new", "sibling"), link(filepath.Join(away, "none"), "folder"), link("file", "second"),
		link("circle", "circle"), link("there", "here"), link("here", "there"), link("new", "inside"),
		os.Symlink("src/file", filepath.Join(dir, "up")), link(away+"/deep/er", "below"), os.MkdirAll(away+"/deep/er", 0o700))
	for i := range 60 {
		err = errors.Join(err, link(fmt.Sprint("chain", i+1), fmt.Sprint("chain", i)))
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ allowed, denied hook.Ruling }{
		"src/plain":           {hook.Allowed, hook.Allowed},
		"src/inside":          {hook.Allowed, hook.Allowed},
		"src/deep/../plain":   {hook.Allowed, hook.Allowed},
		"src/file":            {hook.Ask, hook.Denied},
		"src/second":          {hook.Ask, hook.Denied},
		"up":                  {hook.Ask, hook.Denied},
		"src/folder/a":        {hook.Ask, hook.Denied},
		"src/folder/../a":     {hook.Ask, hook.Denied},
		"src/below/../a":      {hook.Ask, hook.Denied},
		"src/sibling":         {hook.Ask, hook.Allowed},
		"src/circle":          {hook.Ask, hook.Ask},
		"src/here/a":          {hook.Ask, hook.Ask},
		"src/chain0":          {hook.Ask, hook.Ask},
		"src/new/deep/folder": {hook.Allowed, hook.Allowed},
	} {
		in, err := json.Marshal(map[string]any{"session_id": "t", "cwd": dir, "tool_name": "Write", "tool_input": map[string]any{"file_path": path}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := hook.Parse("claude", "PermissionRequest", in, none)
		if err != nil {
			t.Fatal(err)
		}
		if got := hook.Rule(c, []string{"Write(src/*)"}, nil); got != want.allowed {
			t.Errorf("%s, where src/* is allowed: %s, want %s", path, got, want.allowed)
		}
		if got := hook.Rule(c, []string{"Write"}, []string{"Write(" + away + "/*)"}); got != want.denied {
			t.Errorf("%s, where %s is denied: %s, want %s", path, away, got, want.denied)
		}
	}
}

func TestARuleAllowsNoPatchOfWhichNotEveryFileIsKnown(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]hook.Ruling{100: hook.Allowed, 101: hook.Ask} {
		patch := "*** Begin Patch\n"
		for i := range n {
			patch += fmt.Sprintf("*** Add File: src/%d\n+x\n", i)
		}
		in, err := json.Marshal(map[string]any{"session_id": "t", "cwd": "/p", "tool_name": "apply_patch",
			"tool_input": map[string]any{"command": patch}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := hook.Parse("codex", "PermissionRequest", in, none)
		if err != nil {
			t.Fatal(err)
		}
		if got := hook.Rule(c, []string{"apply_patch(src/*)"}, nil); got != want {
			t.Errorf("%d files: %s, want %s", n, got, want)
		}
		question, _ := hook.Question(c, "codex/1")
		if strings.Contains(question, "more files than are shown") != (want == hook.Ask) || want == hook.Ask && hook.Same(c) != "" {
			t.Errorf("%d files: %s", n, question)
		}
	}
}
