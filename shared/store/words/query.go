package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley.internal/shared/fault"
)

// The limits of a query.
const (
	// MaxQuery is the length of a query in characters, MaxTerms the number of its terms, and MaxPhrase that of the words
	// of a term.
	MaxQuery, MaxTerms, MaxPhrase = 400, 12, 24
	// MinPrefix is the number of characters that precede a star.
	MinPrefix = 2
)

// Term is a part of a query: a word, or several that follow each other.
type Term struct {
	Words []string
	// Prefix means that the last word is the beginning of one.
	Prefix bool
}

// Parse returns the terms of a query, which a text must all have: words, phrases in quotation marks, and beginnings of
// words before a star. All other characters separate words; a term that falls apart, such as "follow-up", is a phrase.
// A query that has no word, is too long, or has a mark out of place is Invalid for the field q.
func Parse(query string) ([]Term, error) {
	if !utf8.ValidString(query) || utf8.RuneCountInString(query) > MaxQuery {
		return nil, fault.Field("q", "must have at most %d characters", MaxQuery)
	}
	var terms []Term
	for rest := strings.TrimLeftFunc(query, unicode.IsSpace); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		var t Term
		var err error
		if t, rest, err = next(rest); err != nil {
			return nil, err
		}
		if len(t.Words) > 0 && !slices.ContainsFunc(terms, t.equal) {
			terms = append(terms, t)
		}
		if len(terms) > MaxTerms {
			return nil, fault.Field("q", "must have at most %d words and phrases", MaxTerms)
		}
	}
	if len(terms) == 0 {
		return nil, fault.Field("q", "has no word to search for; give at least one letter or digit")
	}
	return terms, nil
}

// next returns the first term of a text that begins with one, and the rest.
func next(text string) (t Term, rest string, err error) {
	if inside, quoted := strings.CutPrefix(text, `"`); quoted {
		phrase, rest, closed := strings.Cut(inside, `"`)
		if !closed {
			return t, "", fault.Field("q", `has a quotation mark without its second one; write "two words"`)
		}
		return term(phrase, false), rest, checkPhrase(phrase)
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		end = len(text)
	}
	word, rest := text[:end], text[end:]
	if err := checkPhrase(word); err != nil {
		return t, "", err
	}
	word, prefix := strings.CutSuffix(word, "*")
	switch t = term(word, prefix); {
	case strings.Contains(word, "*") || prefix && len(t.Words) == 0:
		return t, "", fault.Field("q", "has a star that does not end a word; write the beginning of a word and then *")
	case prefix && utf8.RuneCountInString(t.Words[len(t.Words)-1]) < MinPrefix && !single([]rune(t.Words[len(t.Words)-1])[0]):
		return t, "", fault.Field("q", "has a star after fewer than %d characters; give more of the word", MinPrefix)
	}
	return t, rest, nil
}

func checkPhrase(text string) error {
	if len(Of(text, MaxPhrase+1)) > MaxPhrase {
		return fault.Field("q", "has a phrase of more than %d words; give fewer", MaxPhrase)
	}
	return nil
}

func term(text string, prefix bool) Term {
	t := Term{Words: Forms(Of(text, MaxPhrase)), Prefix: prefix}
	if prefix && len(t.Words) > 0 { // a character that is a word is no beginning of another one
		t.Prefix = !single([]rune(t.Words[len(t.Words)-1])[0])
	}
	return t
}

func (t Term) equal(o Term) bool { return t.Prefix == o.Prefix && slices.Equal(t.Words, o.Words) }

// at reports whether the term is at the beginning of the words.
func (t Term) at(forms []string) bool {
	if len(forms) < len(t.Words) {
		return false
	}
	for i, w := range t.Words {
		last := t.Prefix && i == len(t.Words)-1
		if forms[i] != w && !(last && strings.HasPrefix(forms[i], w)) {
			return false
		}
	}
	return true
}

// In reports whether the words have the term.
func (t Term) In(forms []string) bool {
	for i := range forms {
		if t.at(forms[i:]) {
			return true
		}
	}
	return false
}

// All reports whether each of the terms is in one of the texts, which are given as the forms of their words.
func All(terms []Term, texts ...[]string) bool {
	for _, t := range terms {
		if !slices.ContainsFunc(texts, t.In) {
			return false
		}
	}
	return true
}
