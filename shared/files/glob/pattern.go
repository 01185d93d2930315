package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The bounds of a pattern. The last two are those of its texts with every {a,b} written out.
const (
	MaxLength       = 300
	maxAlternatives = 32
	maxExpanded     = 2000
)

// Pattern is a pattern, or one path. Its methods may be called concurrently.
type Pattern struct {
	text string
	alts []alternative
}

// alternative is a pattern without braces.
type alternative struct {
	// prefix is the text that every path of the alternative begins with. It is the only path where literal is set.
	prefix  string
	literal bool
	// path holds the segments of the only path, or segments those of the pattern.
	path     []string
	segments []segment
}

// segment matches one segment of a path, or with any set any number of them.
type segment struct {
	any    bool
	text   string // set where it matches this text alone
	tokens []token
}

// String returns the pattern in its normal form, by which equal texts are recognized.
func (p *Pattern) String() string { return p.text }

// Parse returns the pattern of a text. Without case it matches paths in any case. An error names the mistake in the
// text.
func Parse(text string, withoutCase bool) (*Pattern, error) {
	text, err := check(text)
	if err != nil {
		return nil, err
	}
	texts, err := expand(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, t := range texts {
		if t == "" {
			return nil, errors.New("must not have an alternative that is empty as a whole pattern; write ** for all files")
		}
		if err := relative(t); err != nil {
			return nil, err
		}
		parts, below, err := split(t)
		if err != nil {
			return nil, err
		}
		if len(texts) == 1 {
			p.text = join(parts, below)
		}
		a, err := compile(parts, below, withoutCase)
		if err != nil {
			return nil, err
		}
		p.alts = append(p.alts, a)
	}
	if p.text == "" {
		p.text = text
	}
	return p, nil
}

// Path returns the pattern that matches one path, in which no character is special. An error names the mistake in the
// path.
func Path(text string, withoutCase bool) (*Pattern, error) {
	text, err := check(text)
	if err != nil {
		return nil, err
	}
	parts, below, err := split(text)
	if err != nil {
		return nil, err
	}
	if below || len(parts) == 0 {
		return nil, errors.New("must name a file, not a directory")
	}
	path := strings.Join(parts, "/")
	return &Pattern{path, []alternative{exactly(fold(path, withoutCase))}}, nil
}

// Quote returns the pattern that matches one path.
func Quote(path string) string {
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune("*?[{}", r) {
			b.WriteString("[" + string(r) + "]")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// check returns a text in Unicode NFC with slashes.
func check(text string) (string, error) {
	if text == "" {
		return "", errors.New("must not be empty")
	}
	if !utf8.ValidString(text) {
		return "", errors.New("must be valid UTF-8")
	}
	text = strings.ReplaceAll(norm.NFC.String(text), `\`, "/")
	if n := utf8.RuneCountInString(text); n > MaxLength {
		return "", fmt.Errorf("must be at most %d characters, not %d", MaxLength, n)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", errors.New("must have no control characters")
	}
	return text, relative(text)
}

// relative returns an error if a text is an absolute path, or becomes one when the segments "." before it are left out.
func relative(text string) error {
	absolute := strings.HasPrefix(text, "/")
	for strings.HasPrefix(text, "./") {
		text = strings.TrimLeft(text[1:], "/")
	}
	drive := len(text) > 2 && 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z' && text[1] == ':' && text[2] == '/'
	if drive || absolute {
		return errors.New("must be relative to the root of the repository, not absolute")
	}
	return nil
}

// split returns the segments of a text, and whether it ends in a slash. Empty segments and "." are left out.
func split(text string) (parts []string, below bool, err error) {
	all := strings.Split(text, "/")
	for _, part := range all {
		switch part {
		case "", ".":
		case "..":
			return nil, false, errors.New(`must not contain ".."`)
		default:
			parts = append(parts, part)
		}
	}
	last := all[len(all)-1]
	return parts, last == "" || last == ".", nil
}

func join(parts []string, below bool) string {
	switch text := strings.Join(parts, "/"); {
	case text == "":
		return "**"
	case below:
		return text + "/"
	default:
		return text
	}
}

// compile returns the alternative of the segments of a text without braces.
func compile(parts []string, below, withoutCase bool) (alternative, error) {
	a := alternative{literal: !below}
	for _, part := range parts {
		if part == "**" {
			a.literal = false
			if n := len(a.segments); n == 0 || !a.segments[n-1].any {
				a.segments = append(a.segments, segment{any: true})
			}
			continue
		}
		s, err := compileSegment(part, withoutCase)
		if err != nil {
			return a, err
		}
		a.literal = a.literal && s.text != ""
		a.segments = append(a.segments, s)
	}
	if below {
		if n := len(a.segments); n == 0 || !a.segments[n-1].any {
			a.segments = append(a.segments, segment{any: true})
		}
		a.segments = append(a.segments, segment{tokens: []token{{kind: star}}})
	}
	a.prefix = prefixOf(a.segments)
	if a.literal {
		return exactly(a.prefix), nil
	}
	return a, nil
}

// exactly returns the alternative of one path.
func exactly(path string) alternative {
	return alternative{prefix: path, literal: true, path: strings.Split(path, "/")}
}

// prefixOf returns the text that all paths of the segments begin with. It has no slash before a segment that may match
// none.
func prefixOf(segments []segment) string {
	var b strings.Builder
	for i, s := range segments {
		if s.any {
			break
		}
		if i > 0 {
			b.WriteByte('/')
		}
		if s.text != "" {
			b.WriteString(s.text)
			continue
		}
		for _, t := range s.tokens {
			if t.kind != one {
				break
			}
			b.WriteRune(t.char)
		}
		break
	}
	return b.String()
}
