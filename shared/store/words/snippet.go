package words

import "strings"

// Open and Close enclose a match in a snippet. They do not occur in it otherwise.
const Open, Close = "⟦", "⟧"

// The numbers of words that a snippet has before its first match and in all, and of those of a text that are searched for
// matches.
const (
	before, around = 8, 32
	searched       = 100_000
)

var unmarked = strings.NewReplacer(Open, "[", Close, "]")

// Snippet returns the part of a text around its first match, on one line, with all matches between [Open] and [Close]. Of
// a text without a match it is the beginning, and matched is false.
func Snippet(text string, terms []Term) (snippet string, matched bool) {
	all := Of(text, searched)
	if len(all) == 0 {
		return "", false
	}
	forms := Forms(all)
	marked, first := make([]bool, len(all)), -1
	for i := range all {
		for _, t := range terms {
			if !t.at(forms[i:]) {
				continue
			}
			if first < 0 {
				first = i
			}
			for j := range t.Words {
				marked[i+j] = true
			}
		}
	}
	for i := 1; i < len(all); i++ { // a place is marked as a whole
		marked[i] = marked[i] || marked[i-1] && all[i].From == all[i-1].From
	}
	for i := len(all) - 1; i > 0; i-- {
		marked[i-1] = marked[i-1] || marked[i] && all[i].From == all[i-1].From
	}
	from := max(0, first-before)
	to := min(len(all), from+around)
	return render(text, all, marked, from, to), first >= 0
}

// render returns the words from one to another with the text between them.
func render(text string, all []Word, marked []bool, from, to int) string {
	var b strings.Builder
	if from > 0 {
		b.WriteString("… ")
	}
	at := all[from].From
	if from == 0 {
		at = 0
	}
	plainText := func(end int) {
		if end <= at {
			return
		}
		b.WriteString(unmarked.Replace(text[at:end]))
		at = end
	}
	for i := from; i < to; i++ {
		if marked[i] && (i == from || !marked[i-1]) {
			plainText(all[i].From)
			b.WriteString(Open)
		}
		plainText(all[i].To)
		if marked[i] && (i == to-1 || !marked[i+1]) {
			b.WriteString(Close)
		}
	}
	if to == len(all) {
		plainText(len(text))
	}
	line := strings.Join(strings.Fields(b.String()), " ")
	if to < len(all) {
		line += " …"
	}
	return line
}
