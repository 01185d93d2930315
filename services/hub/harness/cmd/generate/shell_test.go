package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/store/emulator"
)

// block is a fenced block of a page.
type block struct {
	page, language, text string
	line                 int // the first one
}

// blocksOf returns the fenced blocks of a page.
func blocksOf(page, text string) (all []block) {
	open := false
	for i, line := range strings.Split(text, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			all, open = append(all, block{page: page, language: language, line: i + 2}), true
		case fence:
			open = false
		case open:
			all[len(all)-1].text += line + "\n"
		}
	}
	return all
}

var (
	// prompt is the beginning of a command in a block of console, which names who types it.
	prompt = regexp.MustCompile(`^[a-z]+ \$ (.+)$`)
	// place stands for a value in a block of console.
	place = regexp.MustCompile(`<[a-z-]+>`)
)

// commands returns the text of a block that a person pastes: all of a block without a language, which is for a shell,
// and the commands of a block of console, whose places have a value, without their output.
func (b block) commands() string {
	switch b.language {
	case "", "sh":
		return b.text
	case "console":
		var all []string
		for line := range strings.Lines(b.text) {
			if m := prompt.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
				all = append(all, place.ReplaceAllString(m[1], "ID"))
			}
		}
		return strings.Join(all, "\n")
	}
	return ""
}

// shellBlocks returns the blocks of all hand-written pages that a person pastes into a shell.
func shellBlocks(t *testing.T) (all []block) {
	t.Helper()
	found, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, file{"infra/README.md", []byte(read(t, "infra/README.md"))})
	for _, p := range found {
		for _, b := range blocksOf(p.name, string(p.text)) {
			if b.commands() != "" {
				all = append(all, b)
			}
		}
	}
	consoles := slices.ContainsFunc(all, func(b block) bool { return b.language == "console" })
	if len(all) < 30 || !consoles {
		t.Fatalf("the pages have %d blocks for a shell, some with output: %v; these are too few", len(all), consoles)
	}
	return all
}

// parse has a shell read commands, without running them.
func parse(ctx context.Context, shell, commands string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-n")
	cmd.Stdin, cmd.Env = strings.NewReader(commands), []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("%s: %v: %s", shell, err, out)
	}
	return nil
}

func TestEveryShellBlockIsReadByEveryShell(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				emulator.Skip(t, shell+" is missing; install the package "+shell+", as make setup does")
			}
			if err := parse(t.Context(), shell, "if true; then echo 'open"); err == nil {
				t.Fatalf("%s accepts a text that is no command", shell)
			}
			for _, b := range shellBlocks(t) {
				if err := parse(t.Context(), shell, b.commands()); err != nil {
					t.Errorf("%s, line %d: %v", b.page, b.line, err)
				}
			}
		})
	}
}

// unclear matches text that a shell reads otherwise than a person: a comment, which is a list of arguments for an
// interactive zsh, and a place in angle brackets, which redirects.
var unclear = regexp.MustCompile(`(?m)(?:^|\s)#|<[a-z][a-z ]*>`)

func TestNoShellBlockHasACommentOrAPlaceInBrackets(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]bool{"make lock  # once": true, "# first\nmake lock": true, "git clone <this one>": true,
		"echo $#": false, "curl https://a.example/q#x": false, "cat <file": false} {
		if unclear.MatchString(text) != wrong {
			t.Errorf("%q: found to be unclear: %v", text, !wrong)
		}
	}
	for _, b := range shellBlocks(t) {
		if found := unclear.FindString(b.commands()); found != "" {
			t.Errorf("%s, line %d: %q: say it in the text around the block", b.page, b.line, found)
		}
	}
}

// Blocks that are for no shell have a language, so that none is left out by mistake.
func TestTheLanguagesOfBlocksAreKnown(t *testing.T) {
	t.Parallel()
	found, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"", "sh", "console", "http", "json", "js", "markdown", "text", "ini", "nginx", "hcl", "yaml", "python", "ts", "go"}
	for _, p := range found {
		for _, b := range blocksOf(p.name, string(p.text)) {
			if !slices.Contains(known, b.language) {
				t.Errorf("%s, line %d: the language %q is not known; a block for a shell has none", p.name, b.line, b.language)
			}
		}
	}
}
