package hubtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
)

// memory maps placeholders to their values: strings, numbers and booleans.
type memory map[string]any

// placeholder stands for a value that changes from run to run: <time> for any time, every other name for the value in
// its first place.
var placeholder = regexp.MustCompile(`<([a-zA-Z][a-zA-Z0-9-]*)>`)

const anyTime = "time"

// whole returns the name of the placeholder that is the whole text, or "".
func whole(text string) string {
	if m := placeholder.FindStringSubmatch(text); m != nil && m[0] == text {
		return m[1]
	}
	return ""
}

// fill returns a value with its placeholders replaced. It is an error if one has no value yet.
func (m memory) fill(v any) (any, error) {
	switch x := v.(type) {
	case string:
		if name := whole(x); name != "" {
			return m.value(name)
		}
		return m.fillText(x, func(s string) string { return s })
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			var err error
			if out[i], err = m.fill(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			var err error
			if out[k], err = m.fill(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func (m memory) fillPath(path string) (string, error) {
	path, query, has := strings.Cut(path, "?")
	path, err := m.fillText(path, url.PathEscape)
	if err != nil || !has {
		return path, err
	}
	query, err = m.fillText(query, url.QueryEscape)
	return path + "?" + query, err
}

func (m memory) fillText(text string, escape func(string) string) (string, error) {
	var failed error
	text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
		v, err := m.value(whole(p))
		if err != nil {
			failed = err
		}
		return escape(fmt.Sprint(v))
	})
	return text, failed
}

func (m memory) value(name string) (any, error) {
	v, ok := m[name]
	if !ok {
		return nil, fmt.Errorf("no earlier response has <%s>", name)
	}
	return v, nil
}

// match returns the differences of a response from the expected one, and sets the placeholders that have no value yet.
// Fields that are not expected may have any value; lists must have equal lengths.
func (m memory) match(at string, want, got any) (wrong []string) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(w)) {
				if v, there := g[k]; there {
					wrong = append(wrong, m.match(at+"."+k, w[k], v)...)
				} else {
					wrong = append(wrong,
						fmt.Sprintf("%s.%s: the page has %s, the server no such field", at, k, m.show(w[k])))
				}
			}
			return wrong
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				wrong = append(wrong, m.match(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])...)
			}
			return wrong
		}
	case string:
		if m.matchText(w, got) {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: the page has %s, the server returned %s", at, m.show(want), asJSON(got))}
}

// matchText reports whether a value equals an expected text with placeholders.
func (m memory) matchText(want string, got any) bool {
	if name := whole(want); name != "" && name != anyTime {
		return m.matchValue(name, got)
	}
	text, ok := got.(string)
	if !ok {
		return false
	}
	pattern, at, names := `(?s)^`, 0, []string{}
	for _, p := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		name := want[p[2]:p[3]]
		pattern += regexp.QuoteMeta(want[at:p[0]])
		if v, known := m[name]; known {
			pattern += regexp.QuoteMeta(fmt.Sprint(v))
		} else {
			pattern += `(.+?)`
			names = append(names, name)
		}
		at = p[1]
	}
	found := regexp.MustCompile(pattern + regexp.QuoteMeta(want[at:]) + `$`).FindStringSubmatch(text)
	if found == nil {
		return false
	}
	for i, name := range names {
		if !m.matchPart(name, found[i+1]) {
			return false
		}
	}
	return true
}

// matchPart reports whether a part of a text equals the value of a placeholder.
func (m memory) matchPart(name, got string) bool {
	if name != anyTime {
		return m.matchValue(name, got)
	}
	_, err := time.Parse(time.RFC3339, got)
	return err == nil
}

// matchValue reports whether a value equals that of a placeholder. A placeholder without a value takes this one, which
// must not be empty, a list or an object.
func (m memory) matchValue(name string, got any) bool {
	if v, known := m[name]; known {
		return v == got
	}
	switch v := got.(type) {
	case json.Number, bool:
	case string:
		if v == "" {
			return false
		}
	default:
		return false
	}
	m[name] = got
	return true
}

// show returns an expected value as JSON, with its placeholders replaced if all have values.
func (m memory) show(want any) string {
	if filled, err := m.fill(want); err == nil {
		want = filled
	}
	return asJSON(want)
}

func asJSON(v any) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(text.String())
}

func TestATranscriptIsComparedWithAResponseByItsFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want, got string
		same      bool
	}{
		"another field may have any value":          {`{"a": 1}`, `{"a": 1, "b": 2}`, true},
		"an expected field must exist":              {`{"a": 1, "b": null}`, `{"a": 1}`, false},
		"nested fields are compared":                {`{"a": {"b": {"c": 1}}}`, `{"a": {"b": {"c": 2}}}`, false},
		"another text differs":                      {`"a"`, `"b"`, false},
		"another number differs":                    {`1`, `2`, false},
		"large numbers are told apart":              {`9007199254740993`, `9007199254740992`, false},
		"another boolean differs":                   {`true`, `false`, false},
		"null is null":                              {`null`, `null`, true},
		"null equals nothing else":                  {`null`, `0`, false},
		"a text is no number":                       {`"1"`, `1`, false},
		"an object is no list":                      {`{}`, `[]`, false},
		"a list is no object":                       {`[]`, `{}`, false},
		"a list is compared in full":                {`[1]`, `[1, 2]`, false},
		"a list has no more than there is":          {`[1, 2]`, `[1]`, false},
		"a list has an order":                       {`[1, 2]`, `[2, 1]`, false},
		"an empty list is empty":                    {`[]`, `[1]`, false},
		"an object in a list may have other fields": {`[{"a": 1}]`, `[{"a": 1, "b": 2}]`, true},
		"a placeholder is any text":                 {`"<id>"`, `"x"`, true},
		"a placeholder is a number too":             {`"<id>"`, `7`, true},
		"a placeholder is not empty":                {`"<id>"`, `""`, false},
		"a placeholder is not null":                 {`"<id>"`, `null`, false},
		"a placeholder is no object":                {`["<id>", "<id>"]`, `[{}, {}]`, false},
		"a placeholder stands for one value":        {`["<id>", "<id>"]`, `["x", "x"]`, true},
		"a placeholder has no second value":         {`["<id>", "<id>"]`, `["x", "y"]`, false},
		"a placeholder keeps its type":              {`["<id>", "<id>"]`, `["1", 1]`, false},
		"placeholders may stand for the same value": {`["<a>", "<b>"]`, `["x", "x"]`, true},
		"a placeholder within a text":               {`["<id>", "<id>.parser"]`, `["x", "x.parser"]`, true},
		"a placeholder in a text keeps its value":   {`["<id>", "<id>.parser"]`, `["x", "y.parser"]`, false},
		"a placeholder is set within a text":        {`["it is <id>.", "<id>"]`, `["it is x.", "x"]`, true},
		"a placeholder takes its part alone":        {`["it is <id>.", "<id>"]`, `["it is x.", "x."]`, false},
		"a placeholder twice in a text":             {`"<id> and <id>"`, `"x and y"`, false},
		"the rest of a text is compared":            {`"by <id>!"`, `"by x?"`, false},
		"the rest of a text is no pattern":          {`"a.c <id>"`, `"abc x"`, false},
		"a time is any time": {`["<time>", "<time>"]`,
			`["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.6Z"]`, true},
		"a time is no other text": {`"<time>"`, `"soon"`, false},
		"a time is no number":     {`"<time>"`, `1767323045`, false},
		"a time within a text": {`"until <time>; wait"`, `"until 2026-01-02T03:04:05Z; wait"`,
			true},
		"no time within a text": {`"until <time>; wait"`, `"until soon; wait"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := mustParse(t, c.want), mustParse(t, c.got)
			if wrong := (memory{}).match("$", want, got); (len(wrong) == 0) != c.same {
				t.Errorf("%s and %s: got the differences %q", c.want, c.got, wrong)
			}
		})
	}
}

func TestEveryDifferenceFromATranscriptIsReportedAtItsField(t *testing.T) {
	t.Parallel()
	got := memory{"id": "x"}.match("$",
		mustParse(t, `{"a": [{"b": 1}], "c": 2, "d": "<id>", "e": "<time>"}`),
		mustParse(t, `{"a": [{"b": 3}], "d": "y", "e": "soon"}`))
	want := []string{"$.a[0].b: the page has 1, the server returned 3", "$.c: the page has 2, the server no such field",
		`$.d: the page has "x", the server returned "y"`, `$.e: the page has "<time>", the server returned "soon"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARequestOfATranscriptHasTheValuesOfEarlierResponses(t *testing.T) {
	t.Parallel()
	page := "```http\nalpha > POST /things\n{}\n< 201\n{\"id\": \"<id>\", \"n\": \"<token>\"}\n" +
		"beta > PATCH /things/<id>?of=<id>\n{\"token\": \"<token>\", \"why\": [\"of <id>\"]}\n< 200\n```\n"
	transcript, err := parseTranscript(page)
	if err != nil {
		t.Fatal(err)
	}
	var requests []string
	err = play(transcript, func(actor, method, path string, body any) hubtest.Answer {
		requests = append(requests, strings.Join([]string{actor, method, path, asJSON(body)}, " "))
		return hubtest.Answer{Status: 201 - (len(requests) - 1), Body: []byte(`{"id": "a/b c", "n": 7}`)}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"alpha POST /things {}", `beta PATCH /things/a%2Fb%20c?of=a%2Fb+c {"token":7,"why":["of a/b c"]}`}
	if !slices.Equal(requests, want) {
		t.Errorf("sent %q, want %q", requests, want)
	}
}

func TestAnActorOfATranscriptCallsWithTheKeyOfAnEarlierResponse(t *testing.T) {
	t.Parallel()
	page := "```http\nbeta > GET /a\n< 200\n{\"key\": \"<beta-key>\"}\nbeta > GET /b\n< 200\nalpha > GET /c\n< 200\n```\n"
	transcript, err := parseTranscript(page)
	if err != nil {
		t.Fatal(err)
	}
	var actors []string
	err = play(transcript, func(actor, _, _ string, _ any) hubtest.Answer {
		actors = append(actors, actor)
		return hubtest.Answer{Status: 200, Body: []byte(`{"key": "parley_x"}`)}
	})
	if want := []string{"beta", "parley_x", "alpha"}; err != nil || !slices.Equal(actors, want) {
		t.Errorf("called as %q, want %q, %v", actors, want, err)
	}
}

func TestATranscriptStopsAtTheFirstDifference(t *testing.T) {
	t.Parallel()
	const block = "```http\nalpha > GET /a\n< 200\n{\"n\": 1}\nalpha > GET /b/<id>\n< 200\n```"
	for name, c := range map[string]struct{ page, want string }{
		"another status": {strings.Replace(block, "< 200", "< 409", 1),
			"line 2, alpha > GET /a: the page has 409"},
		"another value": {strings.Replace(block, "1", "2", 1),
			"$.n: the page has 2, the server returned 1"},
		"a placeholder without a value": {block, "line 5, alpha > GET /b/<id>: no earlier response has <id>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transcript, err := parseTranscript(c.page)
			if err != nil {
				t.Fatal(err)
			}
			err = play(transcript, func(string, string, string, any) hubtest.Answer {
				return hubtest.Answer{Status: 200, Body: []byte(`{"n": 1}`)}
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestAnInvalidTranscriptIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, want string }{
		"no answer":            {"text\n```http\nalpha > GET /a\n```", "line 3"},
		"an answer to nothing": {"```http\n< 200\n```", "line 2"},
		"two answers":          {"```http\nalpha > GET /a\n< 200\n< 200\n```", "line 4"},
		"two requests":         {"```http\nalpha > GET /a\nalpha > GET /a\n< 200\n```", "line 3"},
		"no actor":             {"```http\n> GET /a\n< 200\n```", "line 2"},
		"an empty block":       {"```http\n```", "line 2"},
		"no JSON":              {"```http\nalpha > GET /a\n< 200\n{\"a\": }\n```", "below line 3"},
		"two values":           {"```http\nalpha > GET /a\n< 200\n{} {}\n```", "below line 3"},
		"no end":               {"```http\nalpha > GET /a\n< 200\n", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := parseTranscript(c.page); err == nil || !strings.Contains(err.Error(), c.want+":") {
				t.Errorf("got %v and %v, want an error at %s", got, err, c.want)
			}
		})
	}
	if got, err := parseTranscript("text\n```sh\nalpha > GET /a\n```\n"); err != nil || len(got) != 0 {
		t.Errorf("a page without blocks of http: got %v and %v", got, err)
	}
}

func mustParse(t *testing.T, text string) any {
	t.Helper()
	v, err := parseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
