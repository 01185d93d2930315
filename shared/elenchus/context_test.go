package elenchus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestALocalServerReadsTheTargetAndItsDirectDependencies(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		c.Workspace = on(disk{
			"src/auth.ts": "import './db'; import './gone'",
			"src/db.ts":   "import './deep'",
			"src/deep.ts": "",
			"lib/log.ts":  "",
			"lib/x.ts":    "",
			"lib/y.ts":    "",
		})
		out, err := c.Start(t.Context(), alpha,
			StartInput{Target: "src/auth.ts", Requirements: "r", WorkingDir: "/home/u/app"})
		id := out.SessionID
		if err != nil || out.Context.FilesCollected != 2 || !slices.Contains(out.FilesWanted, "src/gone.ts") ||
			slices.Contains(out.FilesWanted, "src/db.ts") {
			t.Fatalf("%+v, %v", out, err)
		}
		if got := fmt.Sprint(c.texts(id)); got != "map[src/auth.ts:base:import './db'; import './gone' "+
			"src/db.ts:base:import './deep']" {
			t.Error(got)
		}
		one := c.turn(id, RoundInput{
			Output:       "lib/log.ts:1 and /home/u/app/lib/x.ts:2 and src/db.ts:3 and nowhere/z.go:9",
			IssuesRaised: []IssueInput{{ID: "COR-1", Severity: Low, Summary: "s", Location: "lib/y.ts:7"}},
		})
		if !slices.Equal(one.NewFilesDiscovered, []string{"lib/log.ts", "lib/x.ts", "lib/y.ts"}) ||
			!one.ContextExpanded || !slices.Equal(one.FilesWanted, []string{"nowhere/z.go"}) ||
			one.Intervention == nil || one.Intervention.Type != ContextExpand ||
			len(one.Intervention.NewContextFiles) != 3 {
			t.Errorf("%+v, %+v", one, one.Intervention)
		}
		two := c.turn(id, RoundInput{Output: "lib/log.ts:1 again"})
		if two.ContextExpanded || two.Intervention != nil || len(two.FilesWanted) != 0 ||
			c.texts(id)["lib/log.ts"] != "discovered:" {
			t.Errorf("%+v", two)
		}
	})
}

func TestAttackAServerReadsNoFilesForAnotherUser(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		c.Workspace = on(disk{"src/auth.ts": "import './db'", "src/db.ts": "", "lib/log.ts": ""})
		stranger := domaintest.Bound("v", "alpha")
		out, err := c.Start(t.Context(), stranger,
			StartInput{Target: "src/auth.ts", Requirements: "r", WorkingDir: "/home/u/app"})
		if err != nil || out.Context.FilesCollected != 0 || !slices.Equal(out.FilesWanted, []string{"src/auth.ts"}) {
			t.Fatalf("%+v, %v", out, err)
		}
		one, err := c.SubmitRound(t.Context(), stranger,
			RoundInput{SessionID: out.SessionID, Role: Verifier, Output: "lib/log.ts:1"})
		if err != nil || len(one.NewFilesDiscovered) != 0 || !slices.Equal(one.FilesWanted, []string{"lib/log.ts"}) {
			t.Errorf("%+v, %v", one, err)
		}
	})
}

func TestALocalServerReadsADirectoryAndGoPackages(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		c.Workspace = on(disk{
			"go.mod":         "module example.com/app\n",
			"auth/a.go":      "package auth; import \"example.com/app/db\"",
			"auth/b.go":      "package auth",
			"auth/a_test.go": "package auth",
			"auth/logo.png":  "\x89",
			"db/db.go":       "package db; import \"example.com/app/deep\"",
			"db/q.go":        "package db",
			"deep/d.go":      "package deep",
		})
		out, err := c.Start(t.Context(), alpha,
			StartInput{Target: "/home/u/app/auth/", Requirements: "r", WorkingDir: "/home/u/app"})
		if err != nil || len(out.FilesWanted) != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		var got []string
		for p := range c.texts(out.SessionID) {
			got = append(got, p)
		}
		if slices.Sort(got); strings.Join(got, " ") != "auth/a.go auth/b.go db/db.go db/q.go go.mod" {
			t.Error(got)
		}
		// The server does not read another working directory.
		out, err = c.Start(t.Context(), alpha,
			StartInput{Target: "auth/a.go", Requirements: "r", WorkingDir: "/home/u/other"})
		if err != nil || out.Context.FilesCollected != 0 || !slices.Equal(out.FilesWanted, []string{"auth/a.go"}) ||
			out.Note != `the server reads no files for this verification: working directory "/home/u/other" is refused: `+
				`it is not under the allowed root /home/u/app. Give them with elenchus_add_files` {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestADirectoryIsCollectedWithAllBelowIt(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		c.Workspace = on(disk{
			"src/a.ts": "import '../lib/c'", "src/deep/er/b.ts": "", "src/logo.png": "\x89", "lib/c.ts": "", "main.py": "",
		})
		for target, want := range map[string]string{
			"src": "lib/c.ts src/a.ts src/deep/er/b.ts", "./src/": "lib/c.ts src/a.ts src/deep/er/b.ts",
			"src/deep": "src/deep/er/b.ts", ".": "lib/c.ts main.py src/a.ts src/deep/er/b.ts",
			"/home/u/app": "lib/c.ts main.py src/a.ts src/deep/er/b.ts", "/home/u/app/": "lib/c.ts main.py src/a.ts src/deep/er/b.ts",
			"/home/u": "", "..": "", "nowhere": "", "the login": "",
		} {
			out, err := c.Start(t.Context(), alpha, StartInput{Target: target, Requirements: "r", WorkingDir: "/home/u/app"})
			var got []string
			for p := range c.texts(out.SessionID) {
				got = append(got, p)
			}
			slices.Sort(got)
			if wanted := strings.Join(out.FilesWanted, " "); err != nil || strings.Join(got, " ") != want || out.Note != "" ||
				wanted != map[string]string{"nowhere": "nowhere/**"}[target] {
				t.Errorf("%q: %q, wanted %q, %v", target, got, wanted, err)
			}
		}
	})
}

func TestADirectoryThatIsTooLargeIsWantedInParts(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		files := disk{}
		for i := range 70 {
			files[fmt.Sprintf("src/f%02d.ts", i)] = ""
		}
		c.Workspace = on(files)
		out, err := c.Start(t.Context(), alpha, StartInput{Target: "src", Requirements: "r", WorkingDir: "/home/u/app"})
		if err != nil || out.Context.FilesCollected != maxPerCall || len(out.FilesWanted) != 20 || out.FilesWanted[0] != "src/f50.ts" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestARemoteServerWantsWhatIsBelowADirectory(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		for target, want := range map[string]string{
			"src": "src/**", "src/": "src/**", ".": "**", "/home/u/app": "**", "/home/u/app/src": "src/**", "src/a.ts": "src/a.ts",
			"/elsewhere": "", "the login": "",
		} {
			in := StartInput{Target: target, Requirements: "r", WorkingDir: "/home/u/app"}
			out, err := c.Start(t.Context(), alpha, in)
			if err != nil || strings.Join(out.FilesWanted, " ") != want {
				t.Errorf("%q: %+v, %v", target, out, err)
			}
			in.Files = pairs([]string{"src/a.ts", "import './b'"})
			out, err = c.Start(t.Context(), alpha, in)
			if err != nil || !slices.Contains(out.FilesWanted, "src/b.ts") || slices.Contains(out.FilesWanted, want) {
				t.Errorf("%q with a file: %+v, %v", target, out, err)
			}
		}
	})
}

func TestARemoteServerRequestsMissingFilesStepByStep(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		code := `package auth; import ("fmt"; "example.com/app/db"; "other.com/x")`
		out, err := c.Start(t.Context(), alpha, StartInput{
			Target:       "auth",
			Requirements: "r",
			WorkingDir:   "/w",
			Files:        pairs([]string{"auth/a.go", code}),
		})
		if err != nil || !slices.Equal(out.FilesWanted, []string{"go.mod"}) {
			t.Fatalf("%+v, %v", out, err)
		}
		add := func(files ...string) AddOutput {
			t.Helper()
			got, err := c.AddFiles(t.Context(), alpha, AddInput{out.SessionID, pairs(files)})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := add("go.mod", "module example.com/app"); got.Added != 1 ||
			!slices.Equal(got.FilesWanted, []string{"db/*.go"}) {
			t.Errorf("%+v", got)
		}
		db := `package db; import "example.com/app/deep"`
		if got := add("db/db.go", db, "auth/a.go", "package auth"); got.Added != 1 ||
			got.Replaced != 1 || got.Files != 3 || len(got.FilesWanted) != 0 {
			t.Errorf("%+v", got)
		}
		if got := add("db/db.go", db); got.Unchanged != 1 ||
			got.Added+got.Replaced != 0 {
			t.Errorf("%+v", got)
		}
		if got := c.texts(out.SessionID); got["db/db.go"][:5] != "base:" || got["auth/a.go"] != "base:package auth" {
			t.Errorf("%v", got)
		}
		round := c.turn(out.SessionID, RoundInput{Output: "see lib/a.ts:1, lib/b.ts:1 and lib/c.ts:1"})
		if len(round.FilesWanted) != 3 || round.Intervention != nil {
			t.Errorf("%+v", round)
		}
		if got := add("lib/a.ts", "", "lib/b.ts", ""); got.Intervention != nil {
			t.Errorf("%+v", got)
		}
		if got := add("lib/c.ts", ""); got.Intervention == nil || got.Intervention.Type != ContextExpand {
			t.Errorf("%+v", got)
		}
		// The files of a round and those that follow it count together until the next round.
		c.turn(out.SessionID,
			RoundInput{IssuesRaised: fresh(Critical, "A"), Files: pairs([]string{"d.ts", "", "e.ts", ""})})
		if got := add("f.ts", ""); got.Intervention == nil {
			t.Errorf("%+v", got)
		}
		c.turn(out.SessionID, RoundInput{IssuesRaised: known("A")})
		if got := add("g.ts", "", "h.ts", ""); got.Intervention != nil {
			t.Errorf("%+v", got.Intervention)
		}
		if got := c.texts(out.SessionID)["lib/a.ts"]; got != "discovered:" {
			t.Error(got)
		}
	})
}

// set changes a session in the store.
func (c *fixture) set(id string, change func(*Session)) {
	c.t.Helper()
	v := c.session(id)
	change(&v)
	c.put(id, v)
}

func TestASessionKeepsItsLimits(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10, "a.ts", "abc")
		c.set(id, func(v *Session) { v.Files = maxFiles - 1 })
		_, err := c.AddFiles(t.Context(), alpha, AddInput{id, pairs([]string{"b.ts", "", "c.ts", ""})})
		domaintest.Says(t, "files", err, fault.Precondition,
			"verification "+id+" is full: it holds 500 of 500 files and 3 of 20971520 bytes, and c.ts does not fit")
		out, err := c.AddFiles(t.Context(), alpha, AddInput{id, pairs([]string{"b.ts", "", "a.ts", "abcd"})})
		if err != nil || out.Files != 500 || out.Bytes != 4 {
			t.Errorf("%+v, %v", out, err)
		}
		c.set(id, func(v *Session) { v.Files, v.Bytes = 2, maxBytes-3 })
		_, err = c.AddFiles(t.Context(), alpha, AddInput{id, pairs([]string{"c.ts", "1234"})})
		domaintest.Says(t, "bytes", err, fault.Precondition,
			"verification "+id+" is full: it holds 2 of 500 files and 20971517 of 20971520 bytes, "+
				"and c.ts does not fit")
		if out, err := c.AddFiles(t.Context(), alpha, AddInput{id, pairs([]string{"c.ts", "123"})}); err != nil ||
			out.Bytes != maxBytes {
			t.Errorf("%+v, %v", out, err)
		}
		// A file that the server would read does not fit and is left out; the round is accepted.
		c.Workspace = on(disk{"lib/d.ts": "1"})
		if out := c.turn(id, RoundInput{Output: "lib/d.ts:1"}); len(out.NewFilesDiscovered) != 0 ||
			out.RoundNumber != 1 {
			t.Errorf("%+v", out)
		}
		c.set(id, func(v *Session) { v.Counts.Total = maxIssues - 1 })
		_, err = c.SubmitRound(t.Context(), alpha,
			RoundInput{SessionID: id, Role: Critic, Output: "x", IssuesRaised: fresh(Low, "A", "B")})
		domaintest.Says(t, "issues", err, fault.Precondition,
			"a verification holds at most 2000 issues; with this round there would be 2001")
	})
}

// An old text is kept only while a checkpoint needs it.
func TestOldTextsAreKeptForCheckpointsOnly(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10, "a.ts", "0")
		versions := func() (n int) {
			for tick := range c.session(id).Tick + 1 {
				cid := contentID(File{Path: "a.ts", Tick: tick})
				if _, err := contents.Under(id).Get(t.Context(), c.DB.User("u"), cid); err == nil {
					n++
				}
			}
			return n
		}
		for i := range 5 {
			in := AddInput{id, pairs([]string{"a.ts", fmt.Sprint("v", i)})}
			domaintest.Must(c.AddFiles(t.Context(), alpha, in))(t)
		}
		if n := versions(); n != 1 || c.session(id).Bytes != 2 {
			t.Errorf("%d versions, %d bytes", n, c.session(id).Bytes)
		}
		if _, err := c.Checkpoint(t.Context(), alpha, CheckpointInput{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			in := AddInput{id, pairs([]string{"a.ts", fmt.Sprint("long", i)})}
			domaintest.Must(c.AddFiles(t.Context(), alpha, in))(t)
		}
		if n := versions(); n != 2 || c.session(id).Bytes != 7 {
			t.Errorf("%d versions, %d bytes", n, c.session(id).Bytes)
		}
		if _, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 0}); err != nil {
			t.Fatal(err)
		}
		if n := versions(); n != 1 || c.session(id).Bytes != 2 || c.texts(id)["a.ts"] != "base:v4" {
			t.Errorf("%d versions, %d bytes, %v", n, c.session(id).Bytes, c.texts(id))
		}
	})
}
