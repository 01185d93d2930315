package files

import (
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
)

func TestALineKeepsTheBranchBesideItsWorktree(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"", "main", "a ␞ b", "feature/ünïcode"} {
		r := Reservation{Token: 1, Mode: Exclusive, Pattern: "src/", Worktree: "fix", Branch: branch, Since: domaintest.Start,
			Until: domaintest.Start, Holder: Holder{Program: "alpha"}}
		got := domaintest.Must(readLine(r.line()))(t)
		if got.Worktree != "fix" || got.Branch != strings.ReplaceAll(branch, "␞", " ") {
			t.Errorf("%q: the worktree %q, the branch %q", branch, got.Worktree, got.Branch)
		}
		if branch == "" && strings.Contains(r.line(), onBranch) {
			t.Error("a line without a branch differs from those of before")
		}
	}
}

func TestAWarningNamesTheBranchOfTheOtherWorktree(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		ctx, in := t.Context(), ReserveInput{Project: "github.com/acme/app", Paths: []string{"src/"}, Worktree: "main", Branch: "trunk"}
		domaintest.Must(d.Reserve(ctx, domaintest.Bound("u", "alpha"), in))(t)
		in.Worktree, in.Branch = "fix", "mend"
		out := domaintest.Must(d.Reserve(ctx, domaintest.Bound("u", "beta"), in))(t)
		if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], `the worktree "main" (branch "trunk")`) {
			t.Errorf("the warnings are %q", out.Warnings)
		}
		if told := strings.Join(d.notices.all(), "\n"); !strings.Contains(told, `the worktree "fix" (branch "mend")`) {
			t.Errorf("the other holder is told %q", told)
		}
	})
}

func TestAReasonNamesTheFirstFilesAndWhatToDo(t *testing.T) {
	t.Parallel()
	v := View{Holder: "alpha", SessionID: "2", Pattern: "src/", Mode: Exclusive, Until: domaintest.Start}
	var held []Checked
	for range maxLines + 3 {
		held = append(held, Checked{Path: "src/it's.go", State: Held, By: []View{v}})
	}
	j := Judge(held, []string{"strange"})
	if j.Verdict != Deny || len(j.Reason) != maxLines+2 || j.Reason[maxLines] != "and 3 more files" ||
		!strings.HasSuffix(j.Reason[maxLines+1], `'src/it'\''s.go'`) || !strings.Contains(j.Reason[0], `"alpha/2" holds src/`) {
		t.Errorf("%s: %q", j.Verdict, j.Reason)
	}
	if j := Judge([]Checked{{Path: "a", State: Free}}, nil); j.Verdict != Pass || j.Reason != nil {
		t.Errorf("a free file: %+v", j)
	}
}
