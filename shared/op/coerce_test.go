package op

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestValuesWithOneReadingAreCoercedAndReported(t *testing.T) {
	t.Parallel()
	no := false
	for name, c := range map[string]struct {
		args string
		want sample
		say  string
	}{
		"a number as text": {
			`{"id":"a","limit":"42"}`, sample{ID: "a", Limit: 42}, "limit was read as the number 42",
		},
		"with spaces": {
			`{"id":"a","limit":" 42 "}`, sample{ID: "a", Limit: 42}, "limit was read as the number 42",
		},
		"a part as text": {
			`{"id":"a","cost":"0.5"}`, sample{ID: "a", Cost: 0.5}, "cost was read as the number 0.5",
		},
		"a truth value as text": {
			`{"id":"a","peek":"false"}`, sample{ID: "a", Peek: &no}, "peek was read as the truth value false",
		},
		"a number for a text":      {`{"id":42}`, sample{ID: "42"}, "id was read as the text 42"},
		"a truth value for a text": {`{"id":true}`, sample{ID: "true"}, "id was read as the text true"},
		"one value for a list": {
			`{"id":"a","fallback":"beta"}`, sample{ID: "a", Fallback: []string{"beta"}},
			"fallback was read as the list [beta]",
		},
		"a list as text": {
			`{"id":"a","fallback":"[\"beta\",\"gamma\"]"}`, sample{ID: "a", Fallback: []string{"beta", "gamma"}},
			"fallback was read as the list [beta gamma]",
		},
		"a list of numbers as text": {
			`{"id":"a","numbers":"[1,2]"}`, sample{ID: "a", Numbers: []int{1, 2}}, "numbers was read as the list [1 2]",
		},
		"a list of objects as text": {
			`{"id":"a","stories":"[{\"title\":\"x\"}]"}`, sample{ID: "a", Stories: []samplePart{{Title: "x"}}},
			"stories was read as the list",
		},
		"numbers in a list": {
			`{"id":"a","fallback":[1]}`, sample{ID: "a", Fallback: []string{"1"}}, "fallback[0] was read as the text 1",
		},
		"texts in a list": {
			`{"id":"a","numbers":[1,"2"]}`, sample{ID: "a", Numbers: []int{1, 2}},
			"numbers[1] was read as the number 2",
		},
		"numbers in a list as text": {
			`{"id":"a","fallback":"[1]"}`, sample{ID: "a", Fallback: []string{"1"}}, "fallback",
		},
		"below": {
			`{"id":"a","part":{"title":7}}`, sample{ID: "a", Part: &samplePart{Title: "7"}},
			"part.title was read as the text 7",
		},
		"below in a list": {
			`{"id":"a","stories":[{"title":"x","wave":"2"}]}`,
			sample{ID: "a", Stories: []samplePart{{Title: "x", Wave: 2}}}, "stories[0].wave was read as the number 2",
		},
		"a value of a map": {
			`{"id":"a","labels":{"n":1}}`, sample{ID: "a", Labels: map[string]string{"n": "1"}},
			"labels.n was read as the text 1",
		},
		"null for a text": {
			`{"id":"a","text":null}`, sample{ID: "a"}, "text was null and was read as left out",
		},
		"null for an object": {
			`{"id":"a","part":null}`, sample{ID: "a"}, "part was null and was read as left out",
		},
		"null below": {
			`{"id":"a","part":{"title":"x","wave":null}}`, sample{ID: "a", Part: &samplePart{Title: "x"}},
			"part.wave was null and was read as left out",
		},
		"null for a list": {
			`{"id":"a","fallback":null}`, sample{ID: "a"}, "fallback was null and was read as left out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, mended, err := call(t, c.args)
			c.want.Color, c.want.Limit = cmp.Or(c.want.Color, "red"), cmp.Or(c.want.Limit, 10) // the defaults
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			if !slices.ContainsFunc(mended, func(s string) bool { return strings.HasPrefix(s, c.say) }) {
				t.Errorf("reported %q", mended)
			}
		})
	}
}

func TestValidValuesAreNotReportedAsCoerced(t *testing.T) {
	t.Parallel()
	_, mended, err := call(t, `{"id":"42","limit":3,"peek":true,"fallback":["beta"],"part":{"title":"x"},"cost":1}`)
	if err != nil || len(mended) != 0 {
		t.Fatalf("%q, %v", mended, err)
	}
}

// A number in the place of a text is taken digit by digit: the version 1.10 differs from 1.1, and an id may have more
// digits than a float64 can represent.
func TestANumberForATextKeepsItsDigits(t *testing.T) {
	t.Parallel()
	for _, digits := range []string{"1.10", "2.0", "1e2", "-0", "12345678901234567890"} {
		got, mended, err := call(t, `{"id":"a","labels":{"x":`+digits+`}}`)
		if err != nil || got.Labels["x"] != digits || len(mended) != 1 {
			t.Errorf("%s was read as %q, %q, %v", digits, got.Labels["x"], mended, err)
		}
	}
}

func TestSeveralCoercionsAreAllReportedInOrder(t *testing.T) {
	t.Parallel()
	_, mended, err := call(t, `{"id":1,"limit":"3","text":null}`)
	if err != nil || len(mended) != 3 || !slices.IsSorted(mended) {
		t.Fatalf("%q, %v", mended, err)
	}
}

func TestAmbiguousValuesAreNotCoerced(t *testing.T) {
	t.Parallel()
	for args, path := range map[string]string{
		`{"id":"a","limit":"4.5"}`:        "limit",
		`{"id":"a","limit":"yes"}`:        "limit",
		`{"id":"a","limit":""}`:           "limit",
		`{"id":"a","limit":" "}`:          "limit",
		`{"id":"a","limit":"0x10"}`:       "limit",
		`{"id":"a","limit":"1_000"}`:      "limit",
		`{"id":"a","limit":"+5"}`:         "limit",
		`{"id":"a","limit":"042"}`:        "limit",
		`{"id":"a","limit":"42 tasks"}`:   "limit",
		`{"id":"a","limit":true}`:         "limit",
		`{"id":"a","limit":[3]}`:          "limit",
		`{"id":"a","cost":"Inf"}`:         "cost",
		`{"id":"a","cost":"NaN"}`:         "cost",
		`{"id":"a","peek":"yes"}`:         "peek",
		`{"id":"a","peek":"True"}`:        "peek",
		`{"id":"a","peek":1}`:             "peek",
		`{"id":"a","peek":0}`:             "peek",
		`{"id":"a","fallback":""}`:        "fallback",
		`{"id":"a","fallback":{"a":1}}`:   "fallback",
		`{"id":"a","numbers":"1,2"}`:      "numbers",
		`{"id":"a","part":"{\"title\"}"}`: "part",
		`{"id":"a","labels":"x"}`:         "labels",
		`{"id":"a","token":"9e99"}`:       "token",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, second(call(t, args))); got[path] == "" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestCoercedValuesAreStillBounded(t *testing.T) {
	t.Parallel()
	for args, path := range map[string]string{
		`{"id":"a","limit":"51"}`:                       "limit",
		`{"id":"a","ttl":"0"}`:                          "ttl",
		`{"id":"a","text":123456}`:                      "text",
		`{"id":"a","fallback":"[\"a\",\"b c\"]"}`:       "fallback[1]",
		`{"id":"a","fallback":"eleven-long"}`:           "fallback[0]",
		`{"id":"a","fallback":"[1,2,3,4]"}`:             "fallback",
		`{"id":"a","fallback":"[\"unclosed\""}`:         "fallback",
		`{"id":"a","fallback":"[\"a\"]]"}`:              "fallback",
		`{"id":"a","stories":"[{\"titel\":\"oops\"}]"}`: "stories[0].titel",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, second(call(t, args))); got[path] == "" {
				t.Errorf("%q", got)
			}
		})
	}
}
