package files

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
)

// spam returns n files of one directory.
func spam(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("gen/%02d.go", i))
	}
	return out
}

func TestManyChangedFilesHideNoneFromItsHolder(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha.1", "gen/", "secret.go")
		d.takes("gamma.1", "own.go")
		edit := Edit{Project: app, Paths: append(spam(60), "secret.go", "own.go"), SessionID: "beta.2"}
		lines := domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
		if len(lines) != maxChangedLines+1 || lines[maxChangedLines] != "and 42 more held files" ||
			!strings.Contains(strings.Join(lines, "\n"), "secret.go was changed") {
			t.Errorf("the editor gets %q", lines)
		}
		told := map[string]string{}
		for _, text := range d.notices.all() {
			who, text, _ := strings.Cut(text, ": ")
			who, _, _ = strings.Cut(who, "/")
			told[who] += text + "\n"
		}
		if got := told["alpha"]; strings.Count(got, "\n") != 1 || !strings.Contains(got, "So were 60 more of your files: ") ||
			!strings.Contains(got, "secret.go") || !strings.Contains(got, "gen/59.go") || strings.Contains(got, `worktree ""`) {
			t.Errorf("the holder is told %q", got)
		}
		if got := told["gamma"]; !strings.HasPrefix(got, "own.go of "+app+", which you hold with own.go, was changed while") {
			t.Errorf("the other holder is told %q", got)
		}
		if got := told["beta"]; strings.Count(got, "\n") != 2 || !strings.Contains(got, "So were 60 more of its files: ") {
			t.Errorf("the editor is told %q", got)
		}
		if lines := domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t); lines != nil {
			t.Errorf("again %q", lines)
		}
		edit.Paths = append(edit.Paths, "gen/new.go")
		if lines := domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t); len(lines) != 1 ||
			!strings.HasPrefix(lines[0], "gen/new.go was changed") {
			t.Errorf("of a new file %q", lines)
		}
	})
}

func TestACallRecordsAsManyChangedFilesAsATransactionHasRoomFor(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for i := range maxBy {
			who := fmt.Sprintf("p%d.1", i)
			in := ReserveInput{Project: app, Paths: []string{"gen/"}, Mode: Shared, SessionID: who}
			domaintest.Must(d.Reserve(t.Context(), callerOf(who), in))(t)
		}
		edit := Edit{Project: app, SessionID: "beta.2"}
		for i := range 100 {
			edit.Paths = append(edit.Paths, fmt.Sprintf("gen/%d.go", i))
		}
		for _, want := range []int{100, 10, 0} {
			lines := domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
			if got := len(lines); got != min(want, maxChangedLines+1) && want != 10 || want == 10 && got != 10 {
				t.Errorf("%d lines, with %d files untold: %q", got, want, lines)
			}
		}
		if n := len(d.notices.all()); n != 4*maxBy {
			t.Errorf("%d messages", n)
		}
	})
}

func TestTheNamesOfChangedFilesInAMessageAreBounded(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha.1", "**")
		edit := Edit{Project: app, Branch: "fix", SessionID: "beta.2"}
		for i := range 100 {
			edit.Paths = append(edit.Paths, fmt.Sprintf("%02d%s", i, strings.Repeat("x", 200)))
		}
		domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
		for _, text := range d.notices.all() {
			if len(text) > maxNames+1000 || !strings.Contains(text, "So were 99 more of ") || !strings.Contains(text, " and 90 more.") {
				t.Errorf("%d bytes: %q", len(text), text)
			}
			if strings.HasPrefix(text, "alpha") && !strings.Contains(text, `was changed on the branch "fix" while`) {
				t.Errorf("the holder is told %q", text)
			}
		}
	})
}

func TestTheChangedFilesOfOneCallAreOneIncidentOfEachHolder(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "gen/", "secret.go")
		edit := Edit{Project: app, Paths: []string{"secret.go"}, SessionID: "beta.2"}
		domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
		d.Pass(time.Minute)
		edit.Paths = spam(60)
		domaintest.Must(d.Service.Changed(t.Context(), beta, edit))(t)
		got := domaintest.Must(d.List(t.Context(), ann, ListInput{Recent: true}))(t).Recent
		if len(got) != 2 || got[0].Files != 60 || len(got[0].Paths) != 60 || got[0].Path != "gen/00.go" ||
			got[1].Path != "secret.go" || got[1].Files != 1 || got[1].Paths != nil {
			t.Errorf("recent are %+v", got)
		}
	})
}
