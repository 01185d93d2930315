package op_test

import (
	"strings"
	"testing"

	"parley.internal/shared/op"
)

func TestTheReferenceListsTheInputsAndCallersOfATool(t *testing.T) {
	t.Parallel()
	page := string(op.NewCatalogue([]op.Op{
		define[described](
			op.Spec{Name: "change", Alias: "ch", Route: "POST /v1/things/{id}", Creates: true, Effect: op.Write,
				Compat: []op.Compat{{Route: "PUT /v1/said/{id}", Set: map[string]any{"text": "hi"}}}},
		),
		define[nested](op.Spec{
			Name:     "erase",
			Route:    "POST /v1/erase",
			Effect:   op.Destroy,
			For:      op.Admins,
			RESTOnly: true,
		}),
		define[struct{}](op.Spec{Name: "tick", Route: "POST /v1/ticks", Effect: op.Consume, For: op.Humans}),
	}).Reference())
	for what, want := range map[string]string{
		"both routes, the alias and what a route fixes": "| [`change`](#change), by itself `ch` | " +
			"`POST /v1/things/{id}`, `PUT /v1/said/{id}` (with `text: hi`) | anyone | writes |",
		"who may call what is REST only": "| [`erase`](#erase) (REST only) | `POST /v1/erase` | " +
			"a human or the scope admin | destroys |",
		"reading that marks":    "| a human | reads and marks |",
		"that nothing is taken": "It takes no input.",
		"a required input":      "| `text` | string | yes | at most 10 characters | what to say |",
		"the limits of a list and its members": "| `tags` | list of string |  | " +
			"at most 3; each at most 5 characters |  |",
		"a range with a fraction":       "| `level` | number |  | 0 to 0.5 |  |",
		"a pattern":                     "not empty; `^[A-Za-z0-9][A-Za-z0-9._:~-]*$`",
		"the fields of a nested object": "| `part.text` | string | yes |",
		"the doc":                       "### erase\n\nDoc of erase.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not give %s: no %q in\n%s", what, want, page)
		}
	}
	if strings.Contains(page, "</") {
		t.Error("the page has HTML")
	}
}

func TestWrapBreaksATextAtItsSpacesOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an empty text":        {"", ""},
		"a line that fits":     {"one two", "one two"},
		"a line that does not": {"one two three", "one two\nthree"},
		"a line to its end":    {"one three four", "one three\nfour"},
		"a word without room":  {"a incomprehensible b", "a\nincomprehensible\nb"},
		"spaces in a row":      {" one   two ", "one two"},
	} {
		if got := op.Wrap(c.text, 9); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
