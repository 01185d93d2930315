package glob

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

type kind int

const (
	one   kind = iota // one character
	class             // one character of a class
	any1              // any character
	star              // any characters, also none
)

type token struct {
	kind kind
	char rune
	// set holds the first and the last character of each range of a class.
	set []rune
}

// accept reports whether two tokens, neither of them a star, match a character in common.
func accept(a, b *token) bool {
	switch {
	case a.kind == any1 || b.kind == any1:
		return true
	case a.kind == one && b.kind == one:
		return a.char == b.char
	case a.kind == one:
		return within(b.set, a.char, a.char)
	case b.kind == one:
		return within(a.set, b.char, b.char)
	}
	for i := 0; i < len(a.set); i += 2 {
		if within(b.set, a.set[i], a.set[i+1]) {
			return true
		}
	}
	return false
}

// within reports whether a set has a character from lo to hi.
func within(set []rune, lo, hi rune) bool {
	for i := 0; i < len(set); i += 2 {
		if lo <= set[i+1] && set[i] <= hi {
			return true
		}
	}
	return false
}

// compileSegment returns the segment of a text without braces and slashes.
func compileSegment(text string, withoutCase bool) (segment, error) {
	if !strings.ContainsAny(text, "*?[") {
		return segment{text: fold(text, withoutCase)}, nil
	}
	var s segment
	for i := 0; i < len(text); {
		switch text[i] {
		case '*':
			if n := len(s.tokens); n == 0 || s.tokens[n-1].kind != star {
				s.tokens = append(s.tokens, token{kind: star})
			}
			i++
		case '?':
			s.tokens = append(s.tokens, token{kind: any1})
			i++
		case '[':
			end, err := endOfClass(text[i:])
			if err != nil {
				return s, err
			}
			t, err := compileClass(text[i+1:i+end-1], withoutCase)
			if err != nil {
				return s, err
			}
			s.tokens = append(s.tokens, t)
			i += end
		default:
			next := strings.IndexAny(text[i:], "*?[")
			if next < 0 {
				next = len(text) - i
			}
			s.tokens = append(s.tokens, literal(fold(text[i:i+next], withoutCase))...)
			i += next
		}
	}
	if !slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind != one }) {
		for _, t := range s.tokens {
			s.text += string(t.char)
		}
	}
	return s, nil
}

// literal returns the tokens of a folded text.
func literal(text string) []token {
	tokens := make([]token, 0, len(text))
	for _, r := range text {
		tokens = append(tokens, token{kind: one, char: r})
	}
	return tokens
}

// endOfClass returns the length of the class that a text begins with.
func endOfClass(text string) (int, error) {
	i := 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i++
	}
	if i < len(text) && text[i] == ']' {
		i++
	}
	end := strings.IndexByte(text[min(i, len(text)):], ']')
	if end < 0 || strings.ContainsRune(text[:i+end], '/') {
		return 0, errors.New(`has a "[" without its "]" in the same segment; write [[] for the character itself`)
	}
	return i + end + 1, nil
}

// compileClass returns the token of the text within brackets.
func compileClass(text string, withoutCase bool) (token, error) {
	var b strings.Builder
	b.WriteByte('[')
	body := text
	if body[0] == '!' || body[0] == '^' {
		b.WriteByte('^')
		body = body[1:]
	}
	chars := []rune(body)
	for i := 0; i < len(chars); i++ {
		lo, hi := chars[i], chars[i]
		if i+2 < len(chars) && chars[i+1] == '-' {
			hi = chars[i+2]
			i += 2
		}
		if lo > hi {
			return token{}, fmt.Errorf("has the range %c-%c, whose end is before its begin", lo, hi)
		}
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, lo, hi)
	}
	b.WriteByte(']')
	flags := syntax.ClassNL
	if withoutCase {
		flags |= syntax.FoldCase
	}
	set, err := setOf(b.String(), flags)
	if err != nil {
		return token{}, fmt.Errorf("has the class [%s], which matches nothing", text)
	}
	if len(set) == 2 && set[0] == set[1] {
		return token{kind: one, char: set[0]}, nil
	}
	if first := canonical(set[0]); withoutCase && !slices.ContainsFunc(set, func(r rune) bool { return canonical(r) != first }) &&
		len(set) <= 2*maxOrbit && singles(set) {
		return token{kind: one, char: first}, nil
	}
	return token{kind: class, set: set}, nil
}

// maxOrbit is the largest number of characters that differ in case only.
const maxOrbit = 4

// singles reports whether every range of a set is one character.
func singles(set []rune) bool {
	for i := 0; i < len(set); i += 2 {
		if set[i] != set[i+1] {
			return false
		}
	}
	return true
}

// setOf returns the ranges of a class, without the slash. It fails if there are none.
func setOf(expr string, flags syntax.Flags) ([]rune, error) {
	re, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	var found []rune
	switch re.Op {
	case syntax.OpCharClass:
		found = re.Rune
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		found = []rune{0, unicode.MaxRune}
	case syntax.OpLiteral:
		r := re.Rune[0]
		found = []rune{r, r}
		for f := unicode.SimpleFold(r); re.Flags&syntax.FoldCase != 0 && f != r; f = unicode.SimpleFold(f) {
			found = append(found, f, f)
		}
	}
	var set []rune
	for i := 0; i < len(found); i += 2 {
		lo, hi := found[i], found[i+1]
		if lo <= '/' && '/' <= hi {
			if lo < '/' {
				set = append(set, lo, '/'-1)
			}
			if lo = '/' + 1; lo > hi {
				continue
			}
		}
		set = append(set, lo, hi)
	}
	if len(set) == 0 {
		return nil, errors.New("nothing")
	}
	return set, nil
}

// fold returns the form of a text in which texts that differ in case only are equal.
func fold(text string, withoutCase bool) string {
	if !withoutCase {
		return text
	}
	return strings.Map(canonical, text)
}

// canonical returns the first of the characters that differ from r in case only.
func canonical(r rune) rune {
	if r < 0x80 {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	first := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		first = min(first, f)
	}
	return first
}
