package hook

import (
	"slices"
	"strings"
)

// starters run other programs, or texts, that their own words name.
var starters = []string{"-", ".", "!", "alias", "bash", "builtin", "busybox", "chroot", "chrt", "command", "coproc", "dash",
	"doas", "enable", "env", "eval", "exec", "fc", "find", "fish", "flock", "hash", "ionice", "ksh", "nice", "nocorrect", "noglob",
	"nohup", "nsenter", "parallel", "pkexec", "script", "setsid", "sh", "source", "ssh", "stdbuf", "su", "sudo", "systemd-run",
	"taskset", "time", "timeout", "trap", "unshare", "watch", "xargs", "zsh"}

// keywords are those of a shell, after which a program's name may come.
var keywords = []string{"[[", "case", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach", "function", "if", "in",
	"repeat", "select", "then", "until", "while"}

// expands are the characters of words that a shell replaces by others, and of those that are no program.
const expands = "*?[]{}~="

// mayStart reports whether a rule to deny may be about a command, though its pattern does not match the text: the program of
// each simple command is known for sure only where a shell takes the words as they stand.
func mayStart(pattern, command string) bool {
	if strings.ContainsAny(command, "\t\r\v\f\"'\\`$()") || strings.TrimSpace(command) == "" {
		return true
	}
	redirects := strings.ContainsAny(command, "<>") // a program may come after the file
	parts := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|\n", r) })
	for _, part := range parts {
		got := strings.Fields(strings.NewReplacer("<", " ", ">", " ").Replace(part))
		for i, word := range got {
			if (i == 0 || redirects) && !isProgram(word) {
				return true
			}
		}
		if inOrder(words(strings.TrimSuffix(pattern, ":*")), got) {
			return true
		}
	}
	return inOrder(words(strings.TrimSuffix(pattern, ":*")), strings.Fields(command))
}

// isProgram reports whether a word names the program that a shell would start for it, and that program no other.
func isProgram(word string) bool {
	name := base(word)
	return !strings.ContainsAny(word, expands) && !slices.Contains(starters, name) && !slices.Contains(keywords, name)
}

// words returns the words of a command without quotes, each program without its directory.
func words(command string) []string {
	all := strings.Fields(strings.NewReplacer(`"`, "", "'", "", "\\", "").Replace(command))
	for i, w := range all {
		all[i] = base(w)
	}
	return all
}

func base(word string) string { return word[strings.LastIndex(word, "/")+1:] }

// inOrder reports whether the words of a pattern are among those of a command, in their order. A word with a * matches the
// words that begin as it does; after the program, a word that a shell expands matches what it may become.
func inOrder(pattern, command []string) bool {
	for n, p := range pattern {
		start, _, wild := strings.Cut(p, "*")
		i := slices.IndexFunc(command, func(w string) bool {
			name := base(w)
			return name == p || wild && strings.HasPrefix(name, start) || n > 0 && mayBecome(w, start, wild)
		})
		if i < 0 {
			return start == "" // the * may stand for nothing
		}
		command = command[i+1:]
	}
	return true
}

// mayBecome reports whether a shell may make of a word one that is a text, or begins with it where that is open.
func mayBecome(word, text string, open bool) bool {
	if strings.ContainsAny(word, "{}") {
		return true
	}
	first := strings.IndexAny(word, "*?[")
	if first < 0 {
		return false
	}
	before, after := base(word[:first]), word[strings.LastIndexAny(word, "*?]")+1:]
	if open {
		return strings.HasPrefix(text, before) || strings.HasPrefix(before, text)
	}
	return strings.HasPrefix(text, before) && strings.HasSuffix(text, base(after))
}
