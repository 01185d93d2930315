package guard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/guard"
	"parley.internal/shared/files"
)

// server answers checks with a function and counts them.
type server struct {
	answer func(ctx context.Context, in files.CheckInput) (files.CheckOutput, error)
	asked  []int // the numbers of paths
}

func (s *server) CheckFiles(ctx context.Context, in files.CheckInput) (files.CheckOutput, error) {
	s.asked = append(s.asked, len(in.Paths))
	return s.answer(ctx, in)
}

// holding returns a server on which some paths are held by views.
func holding(held map[string]files.View, settings files.Settings) *server {
	return &server{answer: func(_ context.Context, in files.CheckInput) (files.CheckOutput, error) {
		out := files.CheckOutput{Project: in.Project, Settings: settings}
		for _, p := range in.Paths {
			c := files.Checked{Path: p, State: files.Free}
			if v, found := held[p]; found && v.Worktree != "" && v.Worktree != in.Worktree {
				c.Elsewhere = []files.View{v}
			} else if found {
				c.State, c.By = files.Held, []files.View{v}
			}
			out.Paths = append(out.Paths, c)
		}
		return out, nil
	}}
}

func repository(t *testing.T) *checkout.Checkout {
	t.Helper()
	return &checkout.Checkout{Root: t.TempDir(), Common: t.TempDir(), Project: "github.com/acme/app", Worktree: "main"}
}

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestADecisionNamesHolderReasonEndAndHowToReachThem(t *testing.T) {
	t.Parallel()
	alpha := files.View{Holder: "alpha", Pattern: "src/", Mode: files.Exclusive, Reason: "a new grammar", Until: noon}
	session, key, beside, reader := alpha, alpha, alpha, alpha
	session.SessionID, key.Holder, beside.Worktree, reader.Mode = "2", "key:0123", "redesign", files.Shared
	for _, c := range []struct {
		name    string
		view    files.View
		guard   guard.Guard
		paths   []string
		verdict guard.Verdict
		want    []string
	}{
		{"free files pass", alpha, guard.Guard{Agent: true}, []string{"main.go"}, guard.Pass, nil},
		{"no files pass without a call", alpha, guard.Guard{}, nil, guard.Pass, nil},
		{"held by a program", alpha, guard.Guard{Agent: true}, []string{"a b.go", "main.go"}, guard.Deny, []string{
			`a b.go: "alpha" holds src/ until 2030-01-02T12:00:00Z: "a new grammar"`,
			`Reach the holder with send_message to "alpha", or wait until the files are released: ` +
				`parley files reserve --wait 10m 'a b.go'`}},
		{"held by a session", session, guard.Guard{Agent: true}, []string{"a b.go"}, guard.Deny, []string{
			`a b.go: "alpha/2" holds src/`, `send_message to "alpha/2"`, "If that is you, set PARLEY_SESSION"}},
		{"held by a key", key, guard.Guard{Agent: true}, []string{"a b.go"}, guard.Deny, []string{
			`a b.go: key:0123 holds src/`, "Wait until they are released"}},
		{"held, and the caller is a person", alpha, guard.Guard{}, []string{"a b.go"}, guard.Deny, []string{
			`a b.go: "alpha"`, `send_message to "alpha"`, "If that is you, set PARLEY_KEY"}},
		{"shared", reader, guard.Guard{Agent: true}, []string{"a b.go"}, guard.Deny, []string{"holds src/ (shared)", "alpha"}},
		{"in another worktree", beside, guard.Guard{Agent: true}, []string{"a b.go"}, guard.Warn, []string{
			`a b.go: in the worktree "redesign" "alpha" holds src/`}},
		{"an odd path", alpha, guard.Guard{Agent: true}, []string{"main.go", "a\x01"}, guard.Warn, []string{
			`"a\x01" is not checked: a path must have no control characters`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.guard.Server = holding(map[string]files.View{"a b.go": c.view}, files.Settings{})
			d := c.guard.Decide(t.Context(), repository(t), c.paths)
			if d.Verdict != c.verdict || len(d.Reason) != len(c.want) {
				t.Fatalf("got %s with %q; want %s with %q", d.Verdict, d.Reason, c.verdict, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(d.Reason[i], want) {
					t.Errorf("line %d is %q; want %q", i, d.Reason[i], want)
				}
			}
		})
	}
}

func TestManyFilesAreAskedInPartsAndNamedInPart(t *testing.T) {
	t.Parallel()
	held, paths := map[string]files.View{}, []string{}
	for i := range 1201 {
		paths = append(paths, fmt.Sprintf("f%04d", i))
		if i%100 == 0 {
			held[paths[i]] = files.View{Holder: "alpha", Pattern: "f*", Until: noon}
		}
	}
	s := holding(held, files.Settings{})
	d := (&guard.Guard{Server: s, Agent: true}).Decide(t.Context(), repository(t), paths)
	if !slices.Equal(s.asked, []int{500, 500, 201}) || len(d.Held) != 13 || len(d.Reason) != 12 ||
		d.Reason[10] != "and 3 more files" {
		t.Errorf("asked %v, held %d, reason %q", s.asked, len(d.Held), d.Reason)
	}
}

func TestWithoutAnAnswerAChangePassesWithAWarningUnlessTheProjectIsStrict(t *testing.T) {
	t.Parallel()
	silent := &server{answer: func(ctx context.Context, _ files.CheckInput) (files.CheckOutput, error) {
		<-ctx.Done()
		return files.CheckOutput{}, ctx.Err()
	}}
	short := &server{answer: func(context.Context, files.CheckInput) (files.CheckOutput, error) {
		return files.CheckOutput{}, nil
	}}
	for name, c := range map[string]struct {
		guard guard.Guard
		want  string
	}{
		"no server is known":      {guard.Guard{Trouble: errors.New("no key: set PARLEY_KEY")}, "no key: set PARLEY_KEY"},
		"the server is silent":    {guard.Guard{Server: silent, Budget: time.Millisecond}, "no answer within 1ms"},
		"the answer is too short": {guard.Guard{Server: short}, "0 of 1 files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, learned := repository(t), &guard.Guard{}
			decide := func(g *guard.Guard) guard.Decision { return g.Decide(t.Context(), repo, []string{"a"}) }
			check := func(what string, want guard.Verdict) {
				t.Helper()
				if d := decide(&c.guard); d.Verdict != want || !strings.Contains(d.Reason[0], c.want) {
					t.Errorf("%s: %s, %q; want %s with %q", what, d.Verdict, d.Reason, want, c.want)
				}
			}
			check("nothing is remembered", guard.Warn)
			learned.Server = holding(nil, files.Settings{Strict: true})
			if d := decide(learned); d.Verdict != guard.Pass || !d.Settings.Strict {
				t.Errorf("got %+v", d)
			}
			check("strict is remembered", guard.Deny)
			origin := repo.Project
			repo.Project = "github.com/acme/other"
			check("it was another project", guard.Warn)
			repo.Project = origin
			learned.Server = holding(nil, files.Settings{})
			decide(learned)
			check("strict was taken back", guard.Warn)
		})
	}
}

func TestNamesThatCannotBeCheckedAreRefusedInAStrictProjectAndTeachNothing(t *testing.T) {
	t.Parallel()
	repo, odd := repository(t), []string{"src/new\nline"}
	g := &guard.Guard{Server: holding(nil, files.Settings{})}
	if d := g.Decide(t.Context(), repo, odd); d.Verdict != guard.Warn {
		t.Errorf("in a project that is not strict: %+v", d)
	}
	g.Server = holding(nil, files.Settings{Strict: true})
	g.Decide(t.Context(), repo, []string{"a"})
	for _, paths := range [][]string{odd, {"a", odd[0]}} {
		d := g.Decide(t.Context(), repo, paths)
		if d.Verdict != guard.Deny || !strings.Contains(strings.Join(d.Reason, "\n"), "is not checked") || !guard.Recall(repo).Strict {
			t.Errorf("%q: %+v, remembered %+v", paths, d, guard.Recall(repo))
		}
	}
}

func TestWhatIsRememberedIsPrivateAndIsForgotten(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	m := guard.Memory{URL: "https://parley.example.org", Data: "/data", Project: repo.Project, Strict: true}
	if err := guard.Remember(repo, m); err != nil {
		t.Fatal(err)
	}
	if got := guard.Recall(repo); got != m {
		t.Errorf("got %+v, want %+v", got, m)
	}
	entries, err := os.ReadDir(repo.Common)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if info, err := os.Stat(filepath.Join(repo.Common, entries[0].Name())); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for range 2 {
		if err := guard.Forget(repo); err != nil {
			t.Fatal(err)
		}
	}
	if got := guard.Recall(repo); got != (guard.Memory{}) {
		t.Errorf("after it was forgotten: %+v", got)
	}
}
