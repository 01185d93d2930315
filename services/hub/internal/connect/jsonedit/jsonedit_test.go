package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect/jsonedit"
)

type server struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

var ours = server{"http", "http://h/<&>"}

func mine(v any) bool {
	o, ok := v.(map[string]any)
	return ok && o["url"] == "http://h/<&>"
}

func TestAnEntryIsAddedInTheFormOfTheText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"no text":               {"", "{\n  \"a\": {\n    \"b\": {\n      \"type\": \"http\",\n      \"url\": \"http://h/<&>\"\n    }\n  }\n}\n"},
		"empty":                 {"{}", "{\n  \"a\": {\n    \"b\": {\n      \"type\": \"http\",\n      \"url\": \"http://h/<&>\"\n    }\n  }\n}"},
		"on one line":           {`{"x":1,"a":{"c":2}}`, `{"x":1,"a":{"c":2, "b": {"type":"http","url":"http://h/<&>"}}}`},
		"on one line and empty": {`{"a":{}}`, `{"a":{"b": {"type":"http","url":"http://h/<&>"}}}`},
		"tabs": {"{\n\t\"a\": {\n\t\t\"c\": 1\n\t}\n}\n",
			"{\n\t\"a\": {\n\t\t\"c\": 1,\n\t\t\"b\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"http://h/<&>\"\n\t\t}\n\t}\n}\n"},
		"four spaces, CRLF and a byte order mark": {"\ufeff{\r\n    \"x\": 1\r\n}\r\n",
			"\ufeff{\r\n    \"x\": 1,\r\n    \"a\": {\r\n        \"b\": {\r\n            \"type\": \"http\",\r\n" +
				"            \"url\": \"http://h/<&>\"\r\n        }\r\n    }\r\n}\r\n"},
		"comments stay with what they are about": {"{\n  // first\n  \"x\": 1 // one\n  /* end */\n}",
			"{\n  // first\n  \"x\": 1, // one\n  /* end */\n  \"a\": {\n    \"b\": {\n      \"type\": \"http\",\n" +
				"      \"url\": \"http://h/<&>\"\n    }\n  }\n}"},
		"a trailing comma": {"{\n  \"x\": 1, // one\n}",
			"{\n  \"x\": 1, // one\n  \"a\": {\n    \"b\": {\n      \"type\": \"http\",\n      \"url\": \"http://h/<&>\"\n    }\n  },\n}"},
	} {
		out, pieces, made, err := jsonedit.Set([]byte(c.in), ours, "a", "b")
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, out, c.want)
			continue
		}
		if back, err := jsonedit.Undo(out, pieces); err != nil || string(back) != c.in {
			t.Errorf("%s: undone %q, %v", name, back, err)
		}
		back, err := jsonedit.Remove(out, mine, "a", "b")
		if err == nil {
			back, err = jsonedit.Prune(back, made)
		}
		if err != nil || c.in != "" && string(back) != c.in {
			t.Errorf("%s: removed %q, %v; want %q", name, back, err, c.in)
		}
	}
}

func TestAnElementIsAddedAfterTheOthers(t *testing.T) {
	t.Parallel()
	const in = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true} // keep\n    ]\n  }\n}\n"
	const want = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true}, // keep\n      {\n        \"type\": \"http\",\n" +
		"        \"url\": \"http://h/<&>\"\n      }\n    ],\n    \"Start\": [\n      {\n        \"type\": \"http\",\n" +
		"        \"url\": \"http://h/<&>\"\n      }\n    ]\n  }\n}\n"
	out, first, made, err := jsonedit.Append([]byte(in), ours, "hooks", "Stop")
	if err != nil || len(made) != 0 {
		t.Fatal(made, err)
	}
	out, second, made, err := jsonedit.Append(out, ours, "hooks", "Start")
	if err != nil || string(out) != want || !reflect.DeepEqual(made, [][]string{{"hooks", "Start"}}) {
		t.Fatalf("%v, %v\n%s", made, err, out)
	}
	if back, err := jsonedit.Undo(out, append(first, second...)); err != nil || string(back) != in {
		t.Errorf("undone %s, %v", back, err)
	}
	// Somebody adds to both lists: their elements stay where they are.
	others := strings.ReplaceAll(string(out), "      }\n    ]", "      },\n      {\"late\": true}\n    ]")
	back, err := jsonedit.Remove([]byte(others), mine, "hooks", jsonedit.Any, jsonedit.Any)
	if err == nil {
		back, err = jsonedit.Prune(back, made)
	}
	const rest = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true}, // keep\n      {\"late\": true}\n    ],\n" +
		"    \"Start\": [\n      {\"late\": true}\n    ]\n  }\n}\n"
	if err != nil || string(back) != rest {
		t.Errorf("removed %v\n%s", err, back)
	}
}

func TestATextThatCannotBeEditedIsAnErrorWithItsLine(t *testing.T) {
	t.Parallel()
	for in, words := range map[string]string{
		"{\n  \"x\": 1\n  \"y\": 2\n}":      "line 3, column 3",
		"{\n  \"x\": [1, 2\n}":              "line 3",
		"[]":                                "no JSON object",
		"{} {}":                             "after top-level value",
		"{\n  \"a\": []\n}":                 "line 2: a is no object",
		"{\n  \"a\": {\n \"b\": {}}\n}":     "line 3: a › b is there already",
		"{\"a\": null}":                     "line 1: a is no object",
		"\xff\xfe{\x00}\x00":                "line 1",
		strings.Repeat(`{"a":[`, 1<<17):     "more objects and lists",
		"{\n // no end\n \"x\": 1 /* never": "line 3",
	} {
		if out, _, _, err := jsonedit.Set([]byte(in), ours, "a", "b"); err == nil || !strings.Contains(err.Error(), words) || out != nil {
			t.Errorf("%.40q: %q, %v; want %q", in, out, err, words)
		}
	}
	if _, _, _, err := jsonedit.Append([]byte(`{"a":{}}`), 1, "a"); err == nil || !strings.Contains(err.Error(), "a is no list") {
		t.Errorf("an object as a list: %v", err)
	}
}

func TestTheLastMemberOfANameCounts(t *testing.T) {
	t.Parallel()
	const in = `{"a":{"x":1},"a":{"y":2}}`
	out, _, _, err := jsonedit.Set([]byte(in), 3, "a", "z")
	if err != nil || string(out) != `{"a":{"x":1},"a":{"y":2, "z": 3}}` {
		t.Errorf("%s, %v", out, err)
	}
	if v, ok, err := jsonedit.Decode(out, "a", "z"); v != 3.0 || !ok || err != nil {
		t.Errorf("%v, %t, %v", v, ok, err)
	}
	if v, ok, err := jsonedit.Decode(out, "a", "x"); ok || err != nil {
		t.Errorf("%v, %t, %v", v, ok, err)
	}
}

func TestOnlyWhatIsEmptyIsPruned(t *testing.T) {
	t.Parallel()
	paths := [][]string{{"a"}, {"a", "b"}, {"c"}, {"d"}, {"e"}, {"missing", "x"}, {}}
	out, err := jsonedit.Prune([]byte(`{"a":{"b":[]},"c":[1],"d":{/* theirs */},"e":null,"f":{}}`), paths)
	if err != nil || string(out) != `{"c":[1],"d":{/* theirs */},"e":null,"f":{}}` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestWhatIsRemovedLeavesTheCommentsBeforeItAndTheEntriesAfterIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{// c\n\"a\":true, \"b\":2}":              "{// c\n \"b\":2}",
		"{\"x\":1, // c\r\n\"a\":true, \"b\":2}":   "{\"x\":1, // c\r\n \"b\":2}",
		"{\n  // c\n  \"a\": true,\n  \"b\": 2\n}": "{\n  // c\n  \"b\": 2\n}",
		"{\"x\":1, // c\n\"a\":true}":              "{\"x\":1 // c\n}",
		"{\"x\":1, // c\n\"a\":true,}":             "{\"x\":1, // c\n}",
		"{// c\n\"a\":true}":                       "{// c\n}",
		"{// c\n\"a\":true /* d */}":               "{// c\n /* d */}",
		"{// c\n\"a\":true, /* d\n*/ \"b\":2}":     "{// c\n /* d\n*/ \"b\":2}",
		"{// c\n/* d */ \"a\":true, \"b\":2}":      "{// c\n/* d */ \"b\":2}",
		"{/* c */ \"a\":true, \"b\":2}":            "{/* c */ \"b\":2}",
		"{\"a\":true, \"b\":2}":                    "{ \"b\":2}",
	} {
		out, err := jsonedit.Remove([]byte(in), func(v any) bool { return v == true }, jsonedit.Any)
		if err != nil || string(out) != want {
			t.Errorf("%q became %q, %v; want %q", in, out, err, want)
		}
		if _, _, err := jsonedit.Decode(out); err != nil {
			t.Errorf("%q became %q: %v", in, out, err)
		}
	}
}

// FuzzRemove removes elements of any list, whose others stay.
func FuzzRemove(f *testing.F) {
	for _, s := range []string{"", "true", "true,", "// c\ntrue, 2", "1, // c\r\ntrue", "1 // c\n,true//\n,", "/**/true/*\n*/,//\n[true]//"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		text := slices.Concat([]byte("{\"l\":["), in, []byte("\n]}"))
		before, _, err := jsonedit.Decode(text, "l")
		list, ok := before.([]any)
		if err != nil || !ok {
			return
		}
		ours := func(v any) bool { return v == true }
		want := slices.DeleteFunc(slices.Clone(list), ours)
		out, err := jsonedit.Remove(text, ours, "l", jsonedit.Any)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if after, _, err := jsonedit.Decode(out, "l"); err != nil || !reflect.DeepEqual(after, any(want)) {
			t.Fatalf("%q became %q = %v, %v; want %v", text, out, after, err, want)
		}
	})
}

func TestAWrongRecordIsNotUndone(t *testing.T) {
	t.Parallel()
	for _, p := range []jsonedit.Insertion{{Offset: 3, Length: 1}, {Length: 4}, {Offset: -1, Length: 1}, {Length: -1},
		{Offset: 1 << 62, Length: 1 << 62}} {
		if out, err := jsonedit.Undo([]byte("{ }"), []jsonedit.Insertion{p}); err == nil {
			t.Errorf("%v: %s", p, out)
		}
	}
}

// FuzzSet adds entries to any text and takes them out again.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"", "{}", "{ }", "{\n}", `{"a":{"c":[]}}`, "{\"a\": {} // x\n}", "{\"a\":[1,],}",
		"{/**/}", "{\"a\":{\"c\":[1//\n]}}",
		"\ufeff{\r\n}", "{\"a\":{\"c\":[ /* x */ ]},}", "{\n//\r\n}", "{\"a\":{\"c\":[/*/*/1/**/,/***/]}}", "{\"x\":1 //\r\n , }"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before, _, err := jsonedit.Decode(in)
		if err != nil {
			return
		}
		text, pieces, made := in, []jsonedit.Insertion(nil), [][]string(nil)
		for _, at := range [][]string{{"a", "b"}, {"a", "c"}} {
			edit := jsonedit.Set
			if at[1] == "c" {
				edit = jsonedit.Append
			}
			out, more, containers, err := edit(text, ours, at...)
			if err != nil {
				continue
			}
			text, pieces, made = out, append(pieces, more...), append(made, containers...)
		}
		if len(pieces) == 0 {
			return
		}
		if _, _, err := jsonedit.Decode(text); err != nil {
			t.Fatalf("%q became %q: %v", in, text, err)
		}
		if back, err := jsonedit.Undo(text, pieces); err != nil || !bytes.Equal(back, in) {
			t.Fatalf("%q became %q and then %q, %v", in, text, back, err)
		}
		back, err := jsonedit.Remove(text, mine, "a", "b")
		if err == nil {
			back, err = jsonedit.Remove(back, mine, "a", "c", jsonedit.Any)
		}
		if err == nil {
			back, err = jsonedit.Prune(back, made)
		}
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := jsonedit.Decode(back)
		if before == nil {
			before = map[string]any{}
		}
		if err != nil || !reflect.DeepEqual(before, after) {
			a, _ := json.Marshal(after)
			t.Fatalf("%q became %q and then %q = %s, %v", in, text, back, a, err)
		}
		if squeeze(in) != squeeze(back) && !jsonedit.Blank(in) {
			t.Fatalf("%q became %q and then %q", in, text, back)
		}
	})
}

// squeeze drops white space.
func squeeze(text []byte) string { return strings.Join(strings.Fields(string(text)), "") }
