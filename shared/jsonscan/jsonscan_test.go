package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"parley.internal/shared/jsonscan"
)

func TestTheStructureIsReadAsEncodingJSONReadsIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, ` { } `, `[ ]`, `null`, `"a,]}"`, `-1.5e3`, ` true `,
		`{"a":1,"b":[1,2,{"c":"}"}],"d\"":"\\"}`, ` [ 1 , "x\"," , [ ] , { "a" : [ ] } ] `,
		`{"a":{"a":{"a":[[[]]]}}}`, `{"x\u0069":1, "y" : "z" }`, "[\n1,\r\n2\t]",
	} {
		compare(t, []byte(text))
	}
}

func FuzzStructure(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\""}],"c":null}`, ` [[],{} , "" ]`, `"\\"`, `{"\u0022":0}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if jsonscan.Check(text) == nil {
			compare(t, text)
		}
	})
}

// compare checks every function against encoding/json, at every level.
func compare(t *testing.T, text []byte) {
	t.Helper()
	whole := jsonscan.Whole(text)
	if got := whole.Of(text); !bytes.Equal(got, bytes.TrimSpace(text)) {
		t.Fatalf("%q: the value is %q", text, got)
	}
	values, levels := jsonscan.Size(text, whole)
	wantValues, wantLevels := descend(t, text, whole)
	if values != wantValues || levels != wantLevels {
		t.Fatalf("%q: %d values and %d levels, want %d and %d", text, values, levels, wantValues, wantLevels)
	}
}

func descend(t *testing.T, text []byte, at jsonscan.Span) (values, levels int) {
	t.Helper()
	raw := at.Of(text)
	inside := func(v jsonscan.Span) {
		n, l := descend(t, text, v)
		values, levels = values+n, max(levels, l)
	}
	switch raw[0] {
	case '{':
		want := json.NewDecoder(bytes.NewReader(raw))
		token(t, want)
		n := 0
		for name, v := range jsonscan.Fields(text, at) {
			if got := jsonscan.Name(text, name); got != token(t, want) {
				t.Fatalf("%q: the name %q", raw, got)
			}
			same(t, want, v.Of(text))
			inside(v)
			n++
		}
		if token(t, want) != json.Delim('}') || n != jsonscan.Count(text, at) {
			t.Fatalf("%q: %d fields were read", raw, n)
		}
	case '[':
		want := json.NewDecoder(bytes.NewReader(raw))
		token(t, want)
		n := 0
		for v := range jsonscan.Items(text, at) {
			same(t, want, v.Of(text))
			inside(v)
			n++
		}
		if token(t, want) != json.Delim(']') || n != jsonscan.Count(text, at) {
			t.Fatalf("%q: %d members were read", raw, n)
		}
	default:
		return 1, 0
	}
	return values + 1, levels + 1
}

func token(t *testing.T, d *json.Decoder) json.Token {
	t.Helper()
	tok, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func same(t *testing.T, d *json.Decoder, got []byte) {
	t.Helper()
	var want json.RawMessage
	if err := d.Decode(&want); err != nil || !bytes.Equal(want, got) {
		t.Fatalf("got %q, want %q (%v)", got, want, err)
	}
}

func TestWhatIsNotOneValueIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"a"}`, "{}}", "1 2", "[1,]", strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)} {
		if jsonscan.Check([]byte(text)) == nil {
			t.Errorf("%.40q is accepted", text)
		}
	}
}

func TestMeasuringAllocatesNothing(t *testing.T) {
	text := []byte("[" + strings.Repeat(`{"a":[1,"b"]},`, 20_000) + "0]")
	whole := jsonscan.Whole(text)
	if n := testing.AllocsPerRun(5, func() {
		if err := jsonscan.Check(text); err != nil {
			t.Fatal(err)
		}
		jsonscan.Count(text, whole)
		jsonscan.Size(text, whole)
	}); n > 10 {
		t.Errorf("measuring %d bytes makes %v allocations", len(text), n)
	}
}
