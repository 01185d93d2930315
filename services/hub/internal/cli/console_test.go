package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exchange is a command of a page with its output: the rest of the line, or all lines, in place of an ellipsis.
type exchange struct {
	line           int
	actor, command string
	want           []string
}

var prompt = regexp.MustCompile(`^([a-z]+) \$ (.+)$`)

// consoleOf returns the commands in the fenced blocks of console of a page.
func consoleOf(page string) (out []exchange) {
	inside := false
	for i, line := range strings.Split(page, "\n") {
		m := prompt.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && m != nil:
			out = append(out, exchange{line: i + 1, actor: m[1], command: m[2]})
		case inside:
			last := &out[len(out)-1]
			last.want = append(last.want, line)
		}
	}
	return out
}

// column matches the space between the columns of a table, whose widths depend on texts that a page leaves out.
var column = regexp.MustCompile(` {2,}`)

// matches reports whether a text is as a page says.
func (e exchange) matches(text string) bool {
	want := regexp.QuoteMeta(column.ReplaceAllString(strings.Join(e.want, "\n"), "  "))
	pattern := regexp.MustCompile(`^` + strings.ReplaceAll(want, "…", ".*") + `$`)
	return pattern.MatchString(column.ReplaceAllString(strings.TrimSuffix(text, "\n"), "  "))
}

func TestTheCommandsOfThePageAboutFilesPrintWhatItSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	all := consoleOf(string(page))
	if len(all) < 10 {
		t.Fatalf("the page has %d commands", len(all))
	}
	r := newRepository(t)
	for _, dir := range []string{r.a, r.b} {
		if err := os.MkdirAll(filepath.Join(dir, "src", "parse"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + filepath.Dir(binary) + string(filepath.ListSeparator) + os.Getenv("PATH")
	for _, e := range all {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", e.command)
		switch cmd.Dir, cmd.Env = r.a, append(r.alpha, path); e.actor {
		case "alpha":
		case "beta":
			cmd.Dir, cmd.Env = r.b, append(r.beta, path)
		default:
			t.Fatalf("line %d: there is no %s", e.line, e.actor)
		}
		text, err := cmd.CombinedOutput()
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			text = fmt.Appendf(text, "exit %d\n", failed.ExitCode())
		} else if err != nil {
			t.Fatal(err)
		}
		if !e.matches(string(text)) {
			t.Errorf("line %d: %s\nprinted:\n%s\nwant:\n%s", e.line, e.command, text, strings.Join(e.want, "\n"))
		}
	}
}
