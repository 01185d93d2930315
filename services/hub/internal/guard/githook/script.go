package githook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// The marks around the guard's lines, and the line that a hook of the guard's own has after its first.
const (
	begin = "# >>> parley guard: these lines refuse files that others hold; `parley guard uninstall` removes them >>>\n"
	end   = "# <<< parley guard <<<\n"
	shell = "#!/bin/sh\n"
	own   = "# Made by `parley guard install`.\n"
)

// saved is the suffix of the name of an earlier hook, which the new one calls.
const saved = ".before-parley"

// lines returns the guard's lines of a hook, which call a program by its path or, where that is empty, by PATH. They
// work in any POSIX shell, with any options set.
func lines(hook, program string) string {
	run, before, after := `"$parley_guard" guard run `+hook+` "$@"`, "", ""
	if hook == "pre-push" { // its input is for the guard and for the hook
		before = "parley_input=$(cat)\n"
		run = `printf '%s\n' "$parley_input" | ` + run
		after = "if [ -n \"$parley_input\" ]; then exec <<PARLEY_INPUT\n$parley_input\nPARLEY_INPUT\nelse exec </dev/null; fi\n"
	}
	body := before +
		"parley_guard=" + quoted(program) + "\n" +
		`[ -n "$parley_guard" ] && [ -x "$parley_guard" ] || parley_guard=$(command -v parley) || parley_guard=` + "\n" +
		"parley_code=127\n" +
		`if [ -n "$parley_guard" ]; then parley_code=0; ` + run + " || parley_code=$?; fi\n" +
		"case $parley_code in\n" +
		"0) ;;\n" +
		"3) exit 1 ;;\n" +
		"*) echo 'parley guard: nothing was checked, because parley failed or is not installed;" +
		" `parley guard uninstall` removes this' >&2\n" +
		`	if grep -q '"strict": *true' "$(git rev-parse --git-common-dir)/parley-guard.json" 2>/dev/null; then` + "\n" +
		"		echo 'parley guard: refused, because the project is strict' >&2; exit 1\n" +
		"	fi ;;\n" +
		"esac\n" + after
	return begin + sum + digest(body) + "\n" + body + end
}

// sum begins the line that tells whether somebody has changed those below it, whichever version wrote them.
const sum = "# The sum of these lines: "

func digest(body string) string {
	d := sha256.Sum256([]byte(body))
	return hex.EncodeToString(d[:8])
}

// fresh returns a hook of the guard's own.
func fresh(hook, program string) []byte {
	return []byte(shell + own + lines(hook, program))
}

// caller returns a hook of the guard's own that calls the hook that was there before.
func caller(hook, program string) []byte {
	before := `"$(dirname "$0")/` + hook + saved + `"`
	return append(fresh(hook, program), []byte("[ -x "+before+" ] || exit 0\nexec "+before+" \"$@\"\n")...)
}

// insert returns a shell script with the guard's lines after its first line.
func insert(script []byte, hook, program string) []byte {
	first := bytes.IndexByte(script, '\n') + 1
	return slices.Concat(script[:first], []byte(lines(hook, program)), script[first:])
}

// cut returns a script without the guard's lines. found is false if it has none, and whole if a mark is missing or there
// is more than one pair of them.
func cut(script []byte) (rest []byte, found, whole bool) {
	from, to := bytes.Index(script, []byte(begin)), bytes.Index(script, []byte(end))
	marks := bytes.Count(script, []byte(begin)) + bytes.Count(script, []byte(end))
	switch {
	case marks == 0:
		return script, false, true
	case marks != 2 || from < 0 || to < from:
		return script, true, false
	}
	return slices.Concat(script[:from], script[to+len(end):]), true, true
}

// unchanged reports whether the guard's lines of a script are those that were written. Lines without a sum are of a version
// before it, and count as unchanged.
func unchanged(script []byte) bool {
	_, there, _ := strings.Cut(string(script), begin)
	there, _, _ = strings.Cut(there, end)
	there, summed := strings.CutPrefix(there, sum)
	want, body, _ := strings.Cut(there, "\n")
	return !summed || want == digest(body)
}

// ours reports whether a script without the guard's lines is a hook of the guard's own.
func ours(rest []byte) bool { return bytes.HasPrefix(rest, []byte(shell+own)) }

// tail returns the text that follows the head of a hook of the guard's own, without the guard's lines.
func tail(hook string, calls bool) []byte {
	var script []byte
	if calls {
		script, _, _ = cut(caller(hook, ""))
	} else {
		script, _, _ = cut(fresh(hook, ""))
	}
	return script
}

// shellScript reports whether a hook is a script of a shell that can run the guard's lines.
func shellScript(script []byte) bool {
	line, _, more := bytes.Cut(script, []byte("\n"))
	if !more || !bytes.HasPrefix(line, []byte("#!")) || bytes.HasSuffix(line, []byte("\r")) {
		return false
	}
	words := strings.Fields(string(line[2:]))
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
	}
	return len(words) > 0 && slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(words[0]))
}

// quoted returns a text as a word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
