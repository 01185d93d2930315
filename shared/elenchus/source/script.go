package source

import "strings"

type tokenKind int

const (
	tokenWord tokenKind = iota
	tokenString
	tokenMark
)

type scriptToken struct {
	kind tokenKind
	text string // for a string, its content
}

// scriptImports returns the modules that a TypeScript or JavaScript file names in import and export declarations,
// import() and require(), in their order. It skips comments, strings, templates and regular expressions.
func scriptImports(code string) []string {
	tokens := scriptTokens(code)
	at := func(i int) scriptToken {
		if i >= 0 && i < len(tokens) {
			return tokens[i]
		}
		return scriptToken{kind: tokenMark}
	}
	var out []string
	for i, t := range tokens {
		if t.kind != tokenWord || at(i-1) == (scriptToken{tokenMark, "."}) {
			continue
		}
		switch t.text {
		case "import", "export":
			if spec, ok := clause(tokens[i+1:], t.text == "import"); ok {
				out = append(out, spec)
				continue
			}
			if t.text == "export" {
				continue
			}
		case "require":
		default:
			continue
		}
		if at(i+1) == (scriptToken{tokenMark, "("}) && at(i+2).kind == tokenString {
			if after := at(i + 3); after.kind == tokenMark && (after.text == ")" || after.text == ",") {
				out = append(out, at(i+2).text)
			}
		}
	}
	return out
}

// maxClause limits the tokens of a declaration.
const maxClause = 2000

// clause returns the module of a declaration whose tokens after import or export are given. With bare, the declaration
// may consist of the module alone.
func clause(tokens []scriptToken, bare bool) (string, bool) {
	if bare && len(tokens) > 0 && tokens[0].kind == tokenString {
		return tokens[0].text, true
	}
	for i, t := range tokens[:min(len(tokens), maxClause)] {
		switch {
		case t.kind == tokenWord && (t.text == "import" || t.text == "export"):
			return "", false
		case t.kind == tokenWord && t.text == "from" && i+1 < len(tokens) && tokens[i+1].kind == tokenString:
			return tokens[i+1].text, true
		case t.kind == tokenString && i > 0 && tokens[i-1].text != "as" && tokens[i-1].text != "{" &&
			tokens[i-1].text != ",":
			return "", false
		case t.kind == tokenMark && !strings.Contains("{},*", t.text):
			return "", false
		}
	}
	return "", false
}

// scriptLexer reads tokens. It counts the braces in templates, so that the code inside ${} is read as code.
type scriptLexer struct {
	code   string
	at     int
	tokens []scriptToken
	depths []int // open braces in each of the enclosing ${}
	// plain is the end of a line on which a slash did not begin a regular expression. The others on it are not tried, so
	// that a line is read twice at most.
	plain int
	// tried is the number of bytes that were read for expressions that have no end.
	tried int
}

func scriptTokens(code string) []scriptToken {
	l := &scriptLexer{code: code}
	for l.at < len(l.code) {
		l.next()
	}
	return l.tokens
}

func (l *scriptLexer) add(kind tokenKind, text string) {
	l.tokens = append(l.tokens, scriptToken{kind, text})
}

func (l *scriptLexer) next() {
	rest := l.code[l.at:]
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "//"):
		l.skipTo("\n")
	case strings.HasPrefix(rest, "/*"):
		l.at += 2
		l.skipTo("*/")
	case c == '\'' || c == '"':
		l.quoted(c)
	case c == '`':
		l.at++
		l.template(true)
	case c == '/' && l.at >= l.plain && l.mayBeRegexp():
		l.regexp()
	case wordByte(c):
		n := 1
		for n < len(rest) && wordByte(rest[n]) {
			n++
		}
		l.add(tokenWord, rest[:n])
		l.at += n
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		l.at++
	default:
		l.mark(c)
	}
}

func (l *scriptLexer) mark(c byte) {
	l.at++
	if n := len(l.depths); n > 0 {
		switch c {
		case '{':
			l.depths[n-1]++
		case '}':
			if l.depths[n-1]--; l.depths[n-1] < 0 {
				l.depths = l.depths[:n-1]
				l.template(false)
				return
			}
		}
	}
	l.add(tokenMark, string(rune(c)))
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		(c >= 'A' && c <= 'Z')
}

// skipTo moves past the next occurrence of end, or to the end of the code.
func (l *scriptLexer) skipTo(end string) {
	if i := strings.Index(l.code[l.at:], end); i >= 0 {
		l.at += i + len(end)
		return
	}
	l.at = len(l.code)
}

// quoted reads a string. A quote without an end on its line, such as an apostrophe in markup, makes it skip the rest of
// the line.
func (l *scriptLexer) quoted(quote byte) {
	for i := l.at + 1; i < len(l.code); i++ {
		switch l.code[i] {
		case '\\':
			i++
		case quote:
			l.add(tokenString, l.code[l.at+1:i])
			l.at = i + 1
			return
		case '\n':
			l.at = i
			return
		}
	}
	l.at = len(l.code)
}

// template reads a template up to its end or to the next ${. A template without ${ is a string.
func (l *scriptLexer) template(whole bool) {
	from := l.at
	for ; l.at < len(l.code); l.at++ {
		switch {
		case l.code[l.at] == '\\':
			l.at++
		case l.code[l.at] == '`':
			if whole {
				l.add(tokenString, l.code[from:l.at])
			} else {
				l.add(tokenMark, "`")
			}
			l.at++
			return
		case strings.HasPrefix(l.code[l.at:], "${"):
			l.add(tokenMark, "`")
			l.at += 2
			l.depths = append(l.depths, 0)
			return
		}
	}
	l.at = min(l.at, len(l.code))
}

// mayBeRegexp reports whether a slash starts a regular expression here. After a value it is a division.
func (l *scriptLexer) mayBeRegexp() bool {
	if len(l.tokens) == 0 {
		return true
	}
	switch last := l.tokens[len(l.tokens)-1]; last.kind {
	case tokenString:
		return false
	case tokenWord:
		switch last.text {
		case "return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "new", "await", "yield",
			"instanceof":
			return true
		}
		return false
	default:
		return !strings.Contains(")]}`<", last.text)
	}
}

// regexp skips a regular expression, or only the slash if the expression does not end on its line.
func (l *scriptLexer) regexp() {
	class := false
	i := l.at + 1
	for ; i < len(l.code) && l.code[i] != '\n'; i++ {
		switch c := l.code[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			l.add(tokenString, "")
			l.at = i + 1
			return
		}
	}
	l.plain, l.tried = i, l.tried+i-l.at
	l.add(tokenMark, "/")
	l.at++
}
