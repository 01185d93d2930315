package op

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestBadInputIsInvalidAndNamesTheFieldAndTheAllowedValues(t *testing.T) {
	t.Parallel()
	fields := "id, text, color, limit, token, ttl, cost, peek, fallback, numbers, part, stories, labels"
	for name, c := range map[string]struct{ args, path, message string }{
		"a required field is missing": {`{}`, "id", "is required"},
		"an unknown field": {
			`{"id":"a","lmit":3}`, "lmit", "is not a field here; the fields are idempotencyKey, " + fields,
		},
		"another case of a field": {`{"id":"a","Limit":3}`, "Limit", "is not a field here"},
		"an unknown field below": {
			`{"id":"a","part":{"title":"x","wive":1}}`, "part.wive", "the fields are title, wave, share",
		},
		"an unknown field in a list": {
			`{"id":"a","stories":[{"title":"x"},{"title":"y","z":1}]}`, "stories[1].z",
			"the fields are title, wave, share",
		},
		"a wrong type": {
			`{"id":"a","limit":{}}`, "limit", "must be of type integer, not object",
		},
		"a text that is no number": {
			`{"id":"a","limit":"many"}`, "limit", "must be of type integer, not string",
		},
		"a part for a whole": {
			`{"id":"a","limit":4.5}`, "limit", "must be of type integer, not number",
		},
		"a text for a list of objects": {
			`{"id":"a","stories":"x"}`, "stories", "must be of type array, not string",
		},
		"a list for a text":    {`{"id":["a"]}`, "id", "must be of type string, not array"},
		"an object for a text": {`{"id":{"a":1}}`, "id", "must be of type string, not object"},
		"too long": {
			`{"id":"a","text":"abcdef"}`, "text", "must be at most 5 characters, not 6",
		},
		"too long in characters": {
			`{"id":"a","text":"ééééééé"}`, "text", "must be at most 5 characters, not 7",
		},
		"empty":              {`{"id":""}`, "id", "must not be empty"},
		"not of the values":  {`{"id":"a","color":"blue"}`, "color", "must be one of red, green"},
		"too small":          {`{"id":"a","limit":0}`, "limit", "must be at least 1"},
		"negative":           {`{"id":"a","limit":-3}`, "limit", "must be at least 1"},
		"too large":          {`{"id":"a","limit":51}`, "limit", "must be at most 50"},
		"not over the bound": {`{"id":"a","ttl":0}`, "ttl", "must be more than 0"},
		"a negative cost":    {`{"id":"a","cost":-0.01}`, "cost", "must be at least 0"},
		"a pattern":          {`{"id":"a/b"}`, "id", "must match"},
		"a star for an id":   {`{"id":"*"}`, "id", "must match"},
		"too many members": {
			`{"id":"a","fallback":["a","b","c","d"]}`, "fallback", "must have at most 3 members, not 4",
		},
		"a member is too long": {
			`{"id":"a","fallback":["a","b","abcdefghijk"]}`, "fallback[2]", "must be at most 10 characters, not 11",
		},
		"a member of another type": {
			`{"id":"a","fallback":["a","b",{}]}`, "fallback[2]", "must be of type string, not object",
		},
		"a member that is null": {
			`{"id":"a","fallback":["a",null]}`, "fallback[1]", "must be of type string, not null",
		},
		"a member that does not fit":        {`{"id":"a","fallback":["a","b c"]}`, "fallback[1]", "must match"},
		"a required field below is missing": {`{"id":"a","stories":[{"wave":1}]}`, "stories[0].title", "is required"},
		"a number below is too large": {
			`{"id":"a","part":{"title":"x","share":1.5}}`, "part.share", "must be at most 1",
		},
		"a value of a map": {
			`{"id":"a","labels":{"x":{}}}`, "labels.x", "must be of type string, not object",
		},
		"null for what is required": {`{"id":null}`, "id", "must be of type string, not null"},
		"an idempotency key that is too long": {
			`{"id":"a","idempotencyKey":"` + strings.Repeat("k", 101) + `"}`, "idempotencyKey",
			"must be at most 100 characters, not 101",
		},
		"a whole number past every integer": {`{"id":"a","token":1e30}`, "token", "must be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := call(t, c.args)
			got := problems(t, err)
			if m, ok := got[c.path]; len(got) != 1 || !ok || !strings.Contains(m, c.message) {
				t.Errorf("got %q (%v), want %s: %s", got, err, c.path, c.message)
			}
		})
	}
}

func TestLengthsAreInCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ééééé", "日本語です", "😀😀😀😀😀"} {
		if got, _, err := call(t, `{"id":"a","text":"`+text+`"}`); err != nil || got.Text != text {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := call(
		t,
		`{"limit":-1,"color":"blue","text":"too long","fallback":["ok","",""],"part":{"wave":-1},"other":1}`,
	)
	got := problems(t, err)
	for _, path := range []string{
		"id", "limit", "color", "text", "fallback[1]", "fallback[2]", "part.title", "part.wave", "other",
	} {
		if got[path] == "" {
			t.Errorf("nothing is said of %s: %q", path, got)
		}
	}
	if len(got) != 9 {
		t.Errorf("%d problems: %q", len(got), got)
	}
}

func TestALongListOfProblemsIsCutAndCounted(t *testing.T) {
	t.Parallel()
	unknown := make([]string, 50)
	for i := range unknown {
		unknown[i] = fmt.Sprintf(`"x%02d":1`, i)
	}
	_, _, err := call(t, `{"id":"a",`+strings.Join(unknown, ",")+`}`)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Problems) != 21 ||
		f.Problems[20].Message != "and 30 more problems" {
		t.Fatalf("got %v", err)
	}
	_, _, err = call(t, `{"id":"a","`+strings.Repeat("long", 100_000)+`":1}`)
	if !errors.As(err, &f) || len(f.Message) > 1000 {
		t.Fatalf("the name of a field is repeated at length: %d bytes", len(f.Message))
	}
}

func TestAMissingInputAndNullAreAnEmptyObject(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "  ", "null", " null\n", "{}"} {
		if got := problems(t, second(call(t, args))); got["id"] != "is required" {
			t.Errorf("%q: %v", args, got)
		}
	}
}

func second(_ sample, _ []string, err error) error { return err }

func TestAnInputThatIsNotOneJSONObjectIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`[]`, `"x"`, `7`, `true`, `{`, `{"id":}`, `{"id":"a"`, `nonsense`,
		`{"id":"a"}{"id":"b"}`, `{"id":"a"} 1`, `{"id":"a"},`, `{"id":"a"}}`, `{"id":"a"}]`,
		`{"id":"a","limit":"5"} x`, `{"id":"a","limit":"5"}}`, `{"id":"a","limit":"5"}]`,
	} {
		_, _, err := call(t, args)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", args, err)
		}
		if err != nil && strings.Contains(err.Error(), "does not fit") {
			t.Errorf("%s: the message does not say what is wrong: %v", args, err)
		}
	}
}

func TestTextThatIsNotUTF8NamesTheField(t *testing.T) {
	t.Parallel()
	for args, path := range map[string]string{
		"{\"id\":\"a\",\"text\":\"\xff\"}":                                          "text",
		`{"id":"a","text":"\ud800"}`:                                                "text",
		`{"id":"a","text":"x\udc00"}`:                                               "text",
		`{"id":"a","text":"\ud800\ud800"}`:                                          "text",
		`{"id":"a","text":"\ud83dx"}`:                                               "text",
		`{"id":"a","text":"\udc00\ud83d"}`:                                          "text",
		"{\"id\":\"a\",\"fallback\":[\"a\",\"b\",\"\xc3\"]}":                        "fallback[2]",
		`{"id":"a","stories":[{"title":"x"},{"title":"\ud800"}]}`:                   "stories[1].title",
		"{\"id\":\"a\",\"part\":{\"title\":\"\xe2\x28\"}}":                          "part.title",
		"{\"id\":\"a\",\"fallback\":\"\xff\"}":                                      "fallback",
		"{\"id\":\"a\",\"labels\":{\"k\":\"\xed\xa0\x80\"}}":                        "labels.k",
		"{\"id\":\"a\",\"idempotencyKey\":\"\xf0\x9f\x98\"}":                        "idempotencyKey",
		`{"id":"a","text":"` + strings.Repeat(`\\`, 3) + `\ud800"}`:                 "text",
		"{\"id\":\"a\",\"unknown\":{\"deep\":[{\"er\":[\"fine\",\"\xff\"]}]}}":      "unknown.deep[0].er[1]",
		"{\"id\":\"a\",\"text\":\"\xff\",\"limit\":-5,\"fallback\":[\"fine one\"]}": "text",
	} {
		got := problems(t, second(call(t, args)))
		if got[path] != "must be valid UTF-8 text" {
			t.Errorf("%q: %q", args, got)
		}
	}
}

func TestEscapesOfWholeCharactersAreText(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"id":"a","text":"\ud83d\ude00"}`: "😀", `{"id":"a","text":"\\ud80"}`: `\ud80`,
		`{"id":"a","text":"\u00e9"}`: "é", `{"id":"a","text":"\u0000"}`: "\x00",
	} {
		if got, _, err := call(t, args); err != nil || got.Text != want {
			t.Errorf("%s: %q, %v", args, got.Text, err)
		}
	}
}

// A field that is given twice must not bypass the check with its second value.
func TestTheCheckedValueIsTheDecodedValue(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"twice, the first out of bounds":         `{"id":"a","part":{"title":"x","wave":-7},"part":{"title":"y"}}`,
		"twice, the first with an unknown field": `{"id":"a","part":{"title":"x","oops":1},"part":{"title":"y"}}`,
		"a map twice":                            `{"id":"a","labels":{"a":"1"},"labels":{"b":"2"}}`,
	} {
		got, _, err := call(t, args)
		if err != nil {
			problems(t, err) // refusing it is as good
			continue
		}
		if got.Part != nil && got.Part.Wave != 0 || len(got.Labels) > 1 {
			t.Errorf("%s: decoded %+v %v", name, got.Part, got.Labels)
		}
	}
}

func TestAWholeNumberMayBeWrittenWithAPoint(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"id":"a","limit":10.0}`, `{"id":"a","limit":1e1}`} {
		if got, _, err := call(t, args); err != nil || got.Limit != 10 {
			t.Errorf("JSON Schema takes %s for an integer: %d, %v", args, got.Limit, err)
		}
	}
}

// Each level costs another pass over the levels below it, so the check must refuse an input long before the 10,000
// levels that encoding/json accepts.
func TestDeepNestingIsNotFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	const levels = 500
	args := `{"id":"a","unknown":` + strings.Repeat(`{"a":`, levels) + "\"\xff\"" + strings.Repeat("}", levels) + `}`
	for path, message := range problems(t, second(call(t, args))) {
		if message != "must be valid UTF-8 text" || len(path) > 200 {
			t.Errorf("the path is %d bytes long: %s", len(path), message)
		}
	}
}
