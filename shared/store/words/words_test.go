package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley.internal/shared/fault"
)

func TestATextFallsIntoWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Review the parser_test.go, twice!": "review the parser test go twice",
		"Größe und CAFÉ, cafe\u0301":        "große und cafe cafe",
		"İstanbul ﬁle ２０２６":                 "istanbul file 2026",
		"日本語のkeyです":                         "日 本 語 の key て す",
		" - … ":                             "",
		strings.Repeat("x", 50):             strings.Repeat("x", MaxWord),
	} {
		got := Of(text, 100)
		if s := strings.Join(Forms(got), " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
		for _, w := range got {
			if Fold(text[w.From:w.To]) != w.Form || Fold(w.Form) != w.Form {
				t.Errorf("%q is not the word %q", text[w.From:w.To], w.Form)
			}
		}
	}
	for limit, want := range map[int]string{0: "", 1: "a", 2: "a 日", 3: "a 日 本", 9: "a 日 本 b"} {
		if got := strings.Join(Forms(Of("a 日本 b", limit)), " "); got != want {
			t.Errorf("the first %d words are %q", limit, got)
		}
	}
}

func TestAQueryHasTerms(t *testing.T) {
	t.Parallel()
	word := func(w ...string) Term { return Term{Words: w} }
	for query, want := range map[string][]Term{
		"parser":               {word("parser")},
		" Fix  the\tfix ":      {word("fix"), word("the")},
		`"fix the parser" now`: {word("fix", "the", "parser"), word("now")},
		"follow-up":            {word("follow", "up")},
		"pars*":                {{Words: []string{"pars"}, Prefix: true}},
		"follow-up*":           {{Words: []string{"follow", "up"}, Prefix: true}},
		`a"b c"d`:              {word("a"), word("b", "c"), word("d")},
		"OR - NOT AND title:x": {word("or"), word("not"), word("and"), word("title", "x")},
		`"" x`:                 {word("x")},
		"検索*":                  {word("検", "索")},
		`"a*b"`:                {word("a", "b")},
	} {
		got, err := Parse(query)
		if err != nil || !slices.EqualFunc(got, want, Term.equal) {
			t.Errorf("%s: %+v, %v; want %+v", query, got, err, want)
		}
	}
}

func TestABadQueryIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                   "no word to search for",
		" - ":                                "no word to search for",
		`"open`:                              "without its second one",
		"*":                                  "a star that does not end a word",
		"a*b":                                "a star that does not end a word",
		"x*":                                 "fewer than 2 characters",
		strings.Repeat("x", 401):             "at most 400 characters",
		"\xff":                               "at most 400 characters",
		"a b c d e f g h i j k l m":          "at most 12 words and phrases",
		`"` + strings.Repeat("a ", 25) + `"`: "more than 24 words",
		strings.Repeat("a-", 25):             "more than 24 words",
	} {
		_, err := Parse(query)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", query, err, want)
		}
	}
}

func TestTheTermsOfAQueryMatchInAnyOfTheTexts(t *testing.T) {
	t.Parallel()
	title, body := Forms(Of("Fix the parser", 100)), Forms(Of("It fails on quoted words.", 100))
	for query, want := range map[string]bool{
		"parser": true, "fix words": true, `"fix the"`: true, `"the fix"`: false, `"parser it"`: false, "pars*": true,
		"pars": false, `"fails on" quo*`: true, "fails-on-quot*": true, "parser lexer": false, "words-quoted": false,
	} {
		terms, err := Parse(query)
		if err != nil || All(terms, title, body) != want {
			t.Errorf("%s: %v, %v", query, !want, err)
		}
	}
}

func TestASnippetShowsTheMatches(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 20) + "the\nneedle and  needles " + strings.Repeat("after ", 60)
	for _, c := range []struct{ text, query, want string }{
		{"Fix the Parser!", "parser", "Fix the ⟦Parser⟧!"},
		{"fix the parser", `"the parser"`, "fix ⟦the parser⟧"},
		{"an ⟦odd⟧ text", "text", "an [odd] ⟦text⟧"},
		{"a b c", "none", "a b c"},
		{"", "x", ""},
		{"a ㌲ b", "ラ", "a ⟦㌲⟧ b"},
		{"a ㌲ b", "ファラット", "a ⟦㌲⟧ b"},
		{"a ㌲ b", "b", "a ㌲ ⟦b⟧"},
		{strings.Repeat("㌲", 7), "ト", "⟦" + strings.Repeat("㌲", 7) + "⟧ …"},
		{"ハ\u3099 x", "ハ", "⟦ハ\u3099⟧ x"},
		{long, "need*", "… " + strings.Repeat("before ", 7) + "the ⟦needle⟧ and ⟦needles⟧ " +
			strings.TrimSpace(strings.Repeat("after ", 21)) + " …"},
	} {
		terms, err := Parse(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got, matched := Snippet(c.text, terms); got != c.want || matched != strings.Contains(c.want, Open) {
			t.Errorf("%s: %q, %v", c.query, got, matched)
		}
	}
}

func TestACharacterThatStandsForOthersHasTheirWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"㌲": "フ ァ ラ ッ ト", "x㌲y": "x フ ァ ラ ッ ト y", "5㎏": "5 kg", "㍻": "平 成", "㊗": "祝", "(㈱)": "株", "ヿ": "コ ト",
		"ハ\u3099a": "ハ a", "フ\u3099ァラット\u3099x": "フ ァ ラ ッ ト x", "\U0001f200": "ほ か",
	} {
		if got := strings.Join(Forms(Of(text, 100)), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := Of("a㌲", 3); len(got) != 3 || got[2] != (Word{"ァ", 1, 4}) {
		t.Errorf("at most three: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a b", `"a b" c*`, "検索 \"x", "a-b*", "ﷺ*", "ẞ\u0301 \x00", "ファラット\u3099", "㌲*", "㍻ \U0001f200"} {
		f.Add(s, "a b c 検索 x ㌲")
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		terms, err := Parse(query)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		if len(terms) == 0 || len(terms) > MaxTerms {
			t.Fatalf("%d terms", len(terms))
		}
		for _, term := range terms {
			if len(term.Words) == 0 || len(term.Words) > MaxPhrase {
				t.Fatalf("%+v", term)
			}
			for _, w := range term.Words {
				if again := Of(w, 2); len(again) != 1 || again[0].Form != w {
					t.Fatalf("%q is not one word: %+v", w, again)
				}
			}
		}
		if !All(terms, Forms(Of(query, 1000))) && !strings.Contains(query, `"`) {
			t.Fatalf("%q does not match itself: %+v", query, terms)
		}
		forms := Forms(Of(text, 1000))
		snippet, matched := Snippet(text, terms)
		if any := slices.ContainsFunc(terms, func(x Term) bool { return x.In(forms) }); any != matched && len(forms) < 1000 {
			t.Fatalf("the snippet of a match: %v, %v", any, matched)
		}
		if utf8.ValidString(text) && !utf8.ValidString(snippet) || strings.Count(snippet, Open) != strings.Count(snippet, Close) {
			t.Fatalf("%q", snippet)
		}
	})
}
