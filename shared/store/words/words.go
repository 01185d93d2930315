package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxWord is the number of characters by which words are told apart; the rest of a longer one is not looked at.
const MaxWord = 40

// Word is a word of a text: its form for comparisons, and the place of its bytes.
type Word struct {
	Form     string
	From, To int
}

// Of returns the words of a text in their order, at most limit. Several words may have the same place, that of a character
// that stands for them.
func Of(text string, limit int) []Word {
	var out []Word
	start := -1
	end := func(at int) {
		if start < 0 {
			return
		}
		if form := Fold(text[start:at]); form != "" {
			out = append(out, Word{form, start, at})
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case len(out) == limit:
			return out
		case compound(r):
			end(i)
			for _, w := range Of(norm.NFKC.String(string(r)), limit-len(out)) {
				out = append(out, Word{w.Form, i, i + utf8.RuneLen(r)})
			}
		case single(r):
			end(i)
			if len(out) == limit {
				return out
			}
			start = i
			end(i + utf8.RuneLen(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		case unicode.IsMark(r) && len(out) > 0 && out[len(out)-1].To == i: // it belongs to a character that is a word
			out[len(out)-1].To += utf8.RuneLen(r)
		default:
			end(i)
		}
	}
	if len(out) < limit {
		end(len(text))
	}
	return out
}

// single reports whether a character is a word by itself.
func single(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// compound reports whether a character stands for several or for another one that is a word by itself, as ㌲ and ㊗ do. Its
// words are those of the characters that it stands for.
func compound(r rune) bool {
	square := r >= 0x3200 && r <= 0x33ff || r >= 0x1f200 && r <= 0x1f2ff
	if !square && !single(r) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	return plain != string(r) && (square || utf8.RuneCountInString(plain) > 1)
}

// Fold returns the form in which a word is compared: in lower case, without accents, at most [MaxWord] characters. It is
// empty if the word has neither letters nor digits.
func Fold(word string) string {
	if plain(word) {
		return word
	}
	var b strings.Builder
	n := 0
	// A capital may have a compatible form only after its case is changed, and the other way round.
	for _, r := range norm.NFKD.String(strings.ToLower(norm.NFKD.String(word))) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		if n++; n > MaxWord {
			break
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// plain reports whether a word is folded already, as most words are.
func plain(word string) bool {
	if len(word) > MaxWord {
		return false
	}
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Forms returns the forms of words.
func Forms(of []Word) []string {
	out := make([]string, len(of))
	for i, w := range of {
		out[i] = w.Form
	}
	return out
}
