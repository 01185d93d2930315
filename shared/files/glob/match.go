package glob

import "unicode/utf8"

// matches decides whether an alternative matches one path, given as its segments. It gives the result of the product of
// the two, without its memory: where a ** or a * could match more or less, only the last one has to be tried again.
func (a *alternative) matches(path []string, steps *Steps) (bool, error) {
	i, j := 0, 0
	again, mark := -1, 0
	for j < len(path) {
		if !steps.take(1) {
			return false, ErrSteps
		}
		if i < len(a.segments) && a.segments[i].any {
			again, mark = i, j
			i++
			continue
		}
		if i < len(a.segments) {
			match, err := a.segments[i].matches(path[j], steps)
			if err != nil {
				return false, err
			}
			if match {
				i, j = i+1, j+1
				continue
			}
		}
		if again < 0 {
			return false, nil
		}
		mark++
		i, j = again+1, mark
	}
	for i < len(a.segments) && a.segments[i].any {
		i++
	}
	return i == len(a.segments), nil
}

// matches decides whether a segment that is not ** matches a text.
func (s *segment) matches(text string, steps *Steps) (bool, error) {
	if s.text != "" {
		return s.text == text, nil
	}
	i, j := 0, 0
	again, mark := -1, 0
	for j < len(text) {
		if !steps.take(1) {
			return false, ErrSteps
		}
		if i < len(s.tokens) && s.tokens[i].kind == star {
			again, mark = i, j
			if i++; i == len(s.tokens) {
				return true, nil
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[j:])
		if i < len(s.tokens) && s.tokens[i].has(r) {
			i, j = i+1, j+size
			continue
		}
		if again < 0 {
			return false, nil
		}
		_, size = utf8.DecodeRuneInString(text[mark:])
		mark += size
		i, j = again+1, mark
	}
	for i < len(s.tokens) && s.tokens[i].kind == star {
		i++
	}
	return i == len(s.tokens), nil
}

// has reports whether a token that is no star matches a character.
func (t *token) has(r rune) bool {
	switch t.kind {
	case one:
		return t.char == r
	case class:
		return within(t.set, r, r)
	}
	return true
}
