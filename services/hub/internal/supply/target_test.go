package supply_test

import "testing"

func TestADirectoryAsTargetIsListedAndSent(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"src/a.ts": "import '../lib/c'", "src/deep/er/b.ts": "", "src/.env": outside,
		"src/logo.png": "\x89", "src/built/x.ts": outside, "src/.gitignore": "built/\n", "lib/c.ts": "", "main.py": "", "Makefile": "all:"})
	link(t, root, "src/leak.ts")
	hub := startHub(t)
	key := hub.agent("alpha")
	for target, want := range map[string][]string{
		"src":              {"src/a.ts", "src/deep/er/b.ts", "lib/c.ts"},
		"./src/deep/":      {"src/deep/er/b.ts"},
		".":                {"src/a.ts", "src/deep/er/b.ts", "lib/c.ts", "main.py"},
		root:               {"src/a.ts", "src/deep/er/b.ts", "lib/c.ts", "main.py"},
		root + "/src/deep": {"src/deep/er/b.ts"},
		"Makefile":         {"Makefile"},
		"none":             {},
		"the login":        {},
	} {
		d := newFixture(t, hub, key, root)
		var out started
		d.tool("elenchus_start_session", start(target, root), &out)
		same(t, target, d.stored(out.SessionID), want...)
		if out.Context.FilesCollected != len(want) || (len(out.FilesWanted) > 0) != (target == "none") || out.Note != "" {
			t.Errorf("%s: %+v", target, out)
		}
		d.Ends()
	}
}
