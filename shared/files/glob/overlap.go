package glob

import "errors"

// Steps is a number of states that decisions may visit. Each decision subtracts the states that it visits.
type Steps int

// ErrSteps is the error of a decision for which the steps did not suffice.
var ErrSteps = errors.New("the patterns are too complex to compare; use fewer wildcards, or fewer patterns at once")

// take subtracts n steps and reports whether that many were left.
func (s *Steps) take(n int) bool {
	*s -= Steps(n)
	return *s >= 0
}

// Overlap reports whether two patterns match a path in common. Both must have been made with the same case. It fails with
// [ErrSteps] if the steps do not suffice.
func Overlap(p, q *Pattern, steps *Steps) (bool, error) {
	for i := range p.alts {
		for j := range q.alts {
			if meet, err := p.alts[i].meets(&q.alts[j], steps); meet || err != nil {
				return meet, err
			}
		}
	}
	return false, nil
}

func (a *alternative) meets(b *alternative, steps *Steps) (bool, error) {
	if !steps.take(1) {
		return false, ErrSteps
	}
	n := min(len(a.prefix), len(b.prefix))
	switch {
	case a.prefix[:n] != b.prefix[:n]:
		return false, nil
	case a.literal && b.literal:
		return len(a.prefix) == len(b.prefix), nil
	case a.literal:
		return b.matches(a.path, steps)
	case b.literal:
		return a.matches(b.path, steps)
	}
	return meetSegments(a.segments, b.segments, steps)
}

// meetSegments decides whether two lists of segments match a path in common. row[j] reports whether a path leads to the
// state before a[i] and b[j]; as every step of the product goes on in a or in b, one pass in their order finds all.
func meetSegments(a, b []segment, steps *Steps) (bool, error) {
	row, below := make([]bool, len(b)+1), make([]bool, len(b)+1)
	row[0] = true
	for i := 0; ; i++ {
		clear(below)
		for j := 0; j <= len(b); j++ {
			if !row[j] {
				continue
			}
			if !steps.take(1) {
				return false, ErrSteps
			}
			inA, inB := i < len(a), j < len(b)
			anyA, anyB := inA && a[i].any, inB && b[j].any
			if anyA || anyB {
				below[j] = below[j] || inA
				if inB {
					row[j+1] = true
				}
				continue
			}
			if inA && inB && !below[j+1] {
				meet, err := a[i].meets(&b[j], steps)
				if err != nil {
					return false, err
				}
				below[j+1] = meet
			}
		}
		if i == len(a) {
			return row[len(b)], nil
		}
		row, below = below, row
	}
}

// meets decides whether two segments, neither of which is **, match a text in common.
func (s *segment) meets(o *segment, steps *Steps) (bool, error) {
	if s.text != "" && o.text != "" {
		return s.text == o.text, nil
	}
	return meetTokens(s.list(), o.list(), steps)
}

func (s *segment) list() []token {
	if s.text != "" {
		return literal(s.text)
	}
	return s.tokens
}

// meetTokens decides whether two lists of tokens match a text in common, as meetSegments does for segments.
func meetTokens(a, b []token, steps *Steps) (bool, error) {
	if !steps.take((len(a) + 1) * (len(b) + 1)) {
		return false, ErrSteps
	}
	row, below := make([]bool, len(b)+1), make([]bool, len(b)+1)
	row[0] = true
	for i := 0; ; i++ {
		clear(below)
		for j := 0; j <= len(b); j++ {
			if !row[j] {
				continue
			}
			inA, inB := i < len(a), j < len(b)
			starA, starB := inA && a[i].kind == star, inB && b[j].kind == star
			if starA || starB {
				below[j] = below[j] || inA
				if inB {
					row[j+1] = true
				}
				continue
			}
			if inA && inB && accept(&a[i], &b[j]) {
				below[j+1] = true
			}
		}
		if i == len(a) {
			return row[len(b)], nil
		}
		row, below = below, row
	}
}
