package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxRules is the largest number of patterns to allow, or to deny, and maxPattern the length of one in characters. The
// server shows no more of them.
const (
	MaxRules   = 50
	maxPattern = 200
)

var rulePattern = regexp.MustCompile(`^([A-Za-z0-9_*.:-]+)(?:\((.+)\))?$`)

// CheckRules returns an error for patterns that could never match, or that are too many or too long to be shown.
func CheckRules(rules []string) error {
	if len(rules) > MaxRules {
		return fmt.Errorf("at most %d patterns are kept, not %d: join some with *", MaxRules, len(rules))
	}
	for _, rule := range rules {
		switch {
		case utf8.RuneCountInString(rule) > maxPattern:
			return fmt.Errorf("%.40q… has more than %d characters: shorten it with *", rule, maxPattern)
		case clean(rule) != rule || !rulePattern.MatchString(rule):
			return fmt.Errorf("%q is no pattern: write TOOL or TOOL(PATTERN), such as 'Bash(git status*)' or 'Write(docs/*)'", rule)
		}
	}
	return nil
}

// Rule decides by patterns of the form TOOL or TOOL(PATTERN), where * stands for any text and :* at the end for the end of the
// command or further words. The pattern of a command is compared with its text; that of a file with the path in the
// client's directory and the absolute one, of the file that a link leads to as well. Denying wins. To allow, the pattern must
// match everything that is asked for, and a command that a shell would take apart is allowed by TOOL alone. Where a rule
// to deny may be about a command and its text does not tell, the person is asked.
func Rule(c Call, allow, deny []string) Ruling {
	for _, p := range deny {
		if matches(c, p, false) {
			return Denied
		}
	}
	if c.Unsandboxed || slices.ContainsFunc(deny, func(p string) bool { return unsure(c, p) }) {
		return Ask
	}
	for _, p := range allow {
		if matches(c, p, true) {
			return Allowed
		}
	}
	return Ask
}

// about returns the pattern of a rule about a call's tool, empty for all of the tool.
func about(c Call, rule string) (pattern string, ok bool) {
	m := rulePattern.FindStringSubmatch(strings.TrimSpace(rule))
	if m == nil || c.Tool == "" || !like(m[1], c.Tool) {
		return "", false
	}
	return m[2], true
}

func matches(c Call, rule string, every bool) bool {
	pattern, ok := about(c, rule)
	if !ok || pattern == "" {
		return ok
	}
	if len(c.Exact) == 0 {
		return false
	}
	for _, subject := range c.Exact {
		hit := false
		switch {
		case !c.Shell:
			hit = ofFile(c.Dir, pattern, subject, every)
		case every:
			hit = !strings.ContainsAny(subject, ";&|<>`$(){}\\\n\r") && ofCommand(pattern, subject)
		default:
			hit = ofCommand(pattern, subject)
			for _, part := range strings.FieldsFunc(subject, func(r rune) bool { return strings.ContainsRune(";&|\n`(){}", r) }) {
				hit = hit || ofCommand(pattern, part) || ofCommand(pattern, strings.Join(words(part), " "))
			}
		}
		if hit != every {
			return hit
		}
	}
	return every
}

// ofCommand reports whether a pattern matches a command. That of a program with any words, such as "rm *", matches it
// without words too.
func ofCommand(pattern, command string) bool {
	command = strings.TrimSpace(command)
	if program, ok := strings.CutSuffix(pattern, ":*"); ok {
		return like(program, command) || like(program+" *", command)
	}
	return like(pattern, command) || like(pattern, command+" ")
}

// ofFile reports whether a pattern matches a path that a call names, and where every is set also the file that links on
// the way lead to.
func ofFile(dir, pattern, path string, every bool) bool {
	path = absolute(dir, path)
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		pattern = filepath.ToSlash(home) + "/" + rest
	}
	pattern = strings.TrimPrefix(pattern, "./")
	hits := func(dir, path string) bool {
		rel, err := filepath.Rel(dir, path)
		return like(pattern, filepath.ToSlash(path)) || err == nil && filepath.IsLocal(rel) && like(pattern, filepath.ToSlash(rel))
	}
	realDir, known := resolved(dir)
	real, ends := resolved(path)
	direct, linked := hits(dir, path), hits(realDir, real)
	if every {
		return direct && linked && known && ends
	}
	return direct || linked
}

// unsure reports whether a rule to deny may be about a call, though its pattern does not match.
func unsure(c Call, rule string) bool {
	pattern, ok := about(c, rule)
	switch {
	case !ok || pattern == "":
		return false
	case len(c.Exact) == 0:
		return true
	case c.Shell:
		return slices.ContainsFunc(c.Exact, func(command string) bool { return mayStart(pattern, command) })
	}
	return slices.ContainsFunc(c.Exact, func(path string) bool {
		_, ends := resolved(absolute(c.Dir, path))
		return !ends
	})
}

// like reports whether a text matches a pattern in which * stands for any text.
func like(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
