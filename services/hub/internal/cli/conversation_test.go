package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/store/emulator"
)

// pasted returns the blocks of a section of a page that a person pastes into a shell.
func pasted(t *testing.T, page, section string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(rest, -1) {
		all = append(all, m[1])
	}
	return all
}

// paster is somebody who pastes commands into a shell, in the clone.
type paster struct {
	t          *testing.T
	shell, dir string
}

// start runs commands and returns where their output will be, and a function that waits for their end.
func (s paster) start(commands string) (*output, func()) {
	s.t.Helper()
	out := &output{more: make(chan struct{}, 1)}
	cmd := exec.CommandContext(s.t.Context(), s.shell)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, strings.NewReader(commands), out, out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "PARLEY_KEYRING=off", "NO_PROXY=*"}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return out, func() {
		s.t.Helper()
		if err := cmd.Wait(); err != nil {
			s.t.Fatalf("%v:\n%s\nprinted:\n%s", err, commands, out)
		}
	}
}

func (s paster) run(commands string) string {
	s.t.Helper()
	out, wait := s.start(commands)
	wait()
	return out.String()
}

// calls runs calls by curl, which all must succeed.
func (s paster) calls(commands string) string {
	s.t.Helper()
	out := s.run(commands)
	if made, good := strings.Count(commands, "\nas $"), strings.Count(out, `{"success":true`); made == 0 || made != good {
		s.t.Fatalf("of %d calls %d succeeded:\n%s\nprinted:\n%s", made, good, commands, out)
	}
	return out
}

func TestTheFirstConversationOfThePagesCanBePastedIntoEveryShell(t *testing.T) {
	t.Parallel()
	talk, answers := pasted(t, "api.md", "A first conversation"), pasted(t, "console.md", "Answer a question")
	if len(talk) != 3 || len(answers) != 1 {
		t.Fatalf("the pages have %d and %d blocks", len(talk), len(answers))
	}
	setup, _, _ := strings.Cut(talk[0], "\n\n")
	for _, shell := range []string{"bash", "zsh", "sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{shell, "curl"} {
				if _, err := exec.LookPath(program); err != nil {
					emulator.Skip(t, program+" is missing; install it")
				}
			}
			s := paster{t, shell, t.TempDir()}
			if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(binary, filepath.Join(s.dir, "bin", "parley")); err != nil {
				t.Fatal(err)
			}
			serve(t, nil, local(filepath.Join(s.dir, ".parley"))...)

			said := s.calls(talk[0])
			ids := strings.NewReplacer("TASK_ID", id(t, said, "taskId"), "MESSAGE_ID", id(t, said, "messageId"))
			if done := s.calls(setup + "\n" + ids.Replace(talk[1])); !strings.Contains(done, `"claimToken":1`) {
				t.Errorf("the claim has another token:\n%s", done)
			}

			asked, wait := s.start(setup + "\n" + talk[2])
			var list string
			for end := time.Now().Add(patience); !strings.Contains(list, "Ship it?"); {
				if time.Now().After(end) {
					t.Fatalf("the question is not listed: %s", list)
				}
				list = s.run("bin/parley questions --json")
			}
			s.run(strings.ReplaceAll(answers[0], " ID ", " "+id(t, list, "(?:questionId|id)")+" "))
			if wait(); !strings.Contains(asked.String(), `"response":"yes"`) {
				t.Errorf("the agent gets another answer:\n%s", asked)
			}
		})
	}
}

// id returns the first value of a field in JSON.
func id(t *testing.T, text, field string) string {
	t.Helper()
	m := regexp.MustCompile(`"` + field + `":\s*"([^"]+)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no %s in:\n%s", field, text)
	}
	return m[1]
}
