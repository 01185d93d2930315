package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/cli"
)

// question returns a waiting question in the form of the server, with more fields.
func question(id, text string, more object) object {
	q := object{"id": id, "question": text, "options": []string{}, "source": "alpha", "verified": true,
		"priority": "normal", "status": "pending",
		"createdAt": before(time.Hour), "expiresAt": after(23 * time.Hour)}
	maps.Copy(q, more)
	return q
}

// asking serves questions in pages of one, and accepts one answer to each.
func asking(t *testing.T, all ...object) *fake {
	t.Helper()
	return newFake(t, func(r *http.Request, body string) (int, any) {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/questions/"), "/answer"); ok &&
			r.Method == "POST" {
			for _, q := range all {
				if q["id"] == id && q["assurance"] != nil {
					return 403, fault("FORBIDDEN", fmt.Sprint("this question demands the assurance ", q["assurance"]))
				}
				if q["id"] == id && q["status"] == "pending" {
					return 200, q
				}
				if q["id"] == id {
					return 409, fault("FAILED_PRECONDITION", "the question was answered at noon")
				}
			}
			return 404, fault("NOT_FOUND", `no question with id "`+id+`"`)
		}
		status := r.URL.Query().Get("status")
		var of []object
		for _, q := range all {
			if status == "all" || q["status"] == status {
				of = append(of, q)
			}
		}
		page := len(r.URL.Query().Get("cursor"))
		out := object{"questions": []object{}}
		if page < len(of) {
			out["questions"] = of[page : page+1]
		}
		if page+1 < len(of) {
			out["nextCursor"] = strings.Repeat("&", page+1)
		}
		return 200, out
	})
}

func TestQuestionsAreListedOverAllPages(t *testing.T) {
	t.Parallel()
	f := asking(t,
		question("0198c0de-1", "Which store?",
			object{"options": []string{"SQLite", "Firestore"}, "context": "We have both.", "priority": "high"}),
		question("0198c0de-2", "Go \x1b[31mon?\nReally?", object{"source": "", "verified": false}),
		question("0198c0de-3", "Gone?", object{"status": "expired", "expiresAt": before(time.Minute)}),
		question("0198c0de-4", "Done?",
			object{"status": "answered", "response": "yes", "answeredAt": before(time.Minute)}))
	out, errOut, code := inProcess(t, f.at(), "questions")
	want := `0198c0de-1
  alpha asks, 1h00m ago, 22h59m left, high priority:
  | Which store?
  1. SQLite
  2. Firestore
  Context:
  | We have both.

0198c0de-2
  unknown (unverified) asks, 1h00m ago, 22h59m left:
  | Go �[31mon?
  | Really?
`
	if out != want || errOut != "" || code != 0 {
		t.Errorf("got\n%s%s, exit %d; want\n%s", out, errOut, code, want)
	}
	if got := f.calls(); len(got) != 2 || got[0] != "GET /v1/questions?limit=100&status=pending" ||
		!strings.Contains(got[1], "cursor=%26") {
		t.Errorf("got the calls %q", got)
	}
	for status, ids := range map[string][]string{"answered": {"4"}, "expired": {"3"}, "all": {"1", "2", "3", "4"}} {
		out, _, code := inProcess(t, f.at(), "questions", "--status", status)
		for _, id := range []string{"1", "2", "3", "4"} {
			if code != 0 || strings.Contains(out, "0198c0de-"+id+"\n") != slices.Contains(ids, id) {
				t.Errorf("%s: got %q, exit %d; want %v", status, out, code, ids)
			}
		}
	}
}

func TestAnEmptyListHasAMessage(t *testing.T) {
	t.Parallel()
	f := asking(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "No questions are waiting.\n"},
		{[]string{"--status", "answered"}, "No questions were answered.\n"},
		{[]string{"--status", "expired"}, "No questions expired.\n"},
		{[]string{"--status", "all"}, "There are no questions.\n"},
		{[]string{"--json"}, ""},
	} {
		if out, errOut, code := inProcess(t, f.at(), append([]string{"questions"}, c.args...)...); out != c.want ||
			errOut != "" || code != 0 {
			t.Errorf("%v: got %q, %q, exit %d; want %q", c.args, out, errOut, code, c.want)
		}
	}
}

func TestJSONHasOneLineForEachQuestion(t *testing.T) {
	t.Parallel()
	all := []object{question("1", "one\ntwo \u009b\x7f\u202e\U000e0041 漢", object{"later": "kept"}),
		question("2", "\x1b", nil)}
	out, errOut, code := inProcess(t, asking(t, all...).at(), "questions", "--json")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 2 || errOut != "" || code != 0 {
		t.Fatalf("got %q, %q, exit %d; want two lines", out, errOut, code)
	}
	for i, l := range lines {
		var got object
		if err := json.Unmarshal([]byte(l), &got); err != nil || got["question"] != all[i]["question"] ||
			got["later"] != all[i]["later"] || !isPrintable(l) {
			t.Errorf("got %q, %v; want the question %v, printable", l, err, all[i])
		}
	}
}

func TestAnAnswerIsSent(t *testing.T) {
	t.Parallel()
	options := object{"options": []string{"SQLite", "Fire \x1bstore"}}
	all := []object{question("0198c0de-1", "a", options), question("0198c0de-12", "b", options),
		question("0198ffff-1", "c", options)}
	for name, c := range map[string]struct {
		args     []string
		in       string
		id, text string
	}{
		"a word": {[]string{"0198ffff-1", "yes"}, "", "0198ffff-1", "yes"},
		"words": {[]string{"0198ffff-1", "yes,", "go", "on"}, "", "0198ffff-1",
			"yes, go on"},
		"a number is a text": {[]string{"0198ffff-1", "2"}, "", "0198ffff-1", "2"},
		"an option": {[]string{"0198ffff-1", "--option", "2"}, "", "0198ffff-1",
			"Fire \x1bstore"},
		"a prefix":                          {[]string{"0198f", "yes"}, "", "0198ffff-1", "yes"},
		"an option with a prefix":           {[]string{"--option=1", "0198f"}, "", "0198ffff-1", "SQLite"},
		"an id that is a prefix of another": {[]string{"0198c0de-1", "yes"}, "", "0198c0de-1", "yes"},
		"standard input":                    {[]string{"0198ffff-1", "-"}, "one\ntwo\r\n\n", "0198ffff-1", "one\ntwo"},
		"a dash among words":                {[]string{"0198ffff-1", "a", "-"}, "not read", "0198ffff-1", "a -"},
		"a text that looks like a flag": {[]string{"0198ffff-1", "--", "--option", "2"}, "", "0198ffff-1",
			"--option 2"},
		"other letters": {[]string{"0198ffff-1", "ünï"}, "", "0198ffff-1", "ünï"},
	} {
		f := asking(t, all...)
		var out, errOut bytes.Buffer
		env := f.at()
		code := cli.Run(t.Context(), append([]string{"answer"}, c.args...), func(n string) string {
			return env[n]
		}, strings.NewReader(c.in), &out, &errOut)
		body, err := json.Marshal(map[string]string{"response": c.text})
		if err != nil {
			t.Fatal(err)
		}
		calls := f.calls()
		if out.String() != "answered "+c.id+"\n" || errOut.Len() > 0 || code != 0 ||
			calls[len(calls)-1] != "POST /v1/questions/"+c.id+"/answer "+string(body) {
			t.Errorf("%s: got %q, %q, exit %d after %q; want the answer %s to %s", name, out.String(), errOut.String(),
				code, calls, body, c.id)
		}
	}
}

func TestAnInvalidAnswerIsNotSent(t *testing.T) {
	t.Parallel()
	two := object{"options": []string{"SQLite", "Fire\x1bstore"}}
	all := []object{question("0198c0de-1", "Which\nstore?", two), question("0198c0de-2", "b", nil),
		question("0198aaaa-1", "c", object{"status": "answered", "options": []string{"x"}})}
	for name, c := range map[string]struct {
		args  []string
		in    string
		words string
	}{
		"no text": {[]string{"0198c0de-1"}, "",
			"give either the answer after the id or --option N"},
		"a text and an option":      {[]string{"0198c0de-1", "yes", "--option", "1"}, "", "give either"},
		"no id":                     {nil, "", "requires at least 1 arg(s)"},
		"an empty text":             {[]string{"0198c0de-1", "", " "}, "", "the answer is empty"},
		"an empty input":            {[]string{"0198c0de-1", "-"}, "\n", "the answer is empty"},
		"an input that is not text": {[]string{"0198c0de-1", "-"}, "\xff", "the answer is not UTF-8 text"},
		"a short prefix":            {[]string{"019", "yes"}, "", "at least 4 characters"},
		"the prefix of two": {[]string{"0198c0", "yes"}, "",
			"2 waiting questions have ids that begin with \"0198c0\"; give more characters:\n" +
				"  0198c0de-1  Which store?\n" +
				"  0198c0de-2  b\n"},
		"an option too high": {[]string{"0198c0de-1", "--option", "3"}, "",
			"there is no option 3; the options are:\n  1. SQLite\n  2. Fire�store\n"},
		"the option 0": {[]string{"0198c0de-1", "--option", "0"}, "",
			"there is no option 0; the options are:"},
		"a negative option": {[]string{"0198c0de-1", "--option", "-1"}, "",
			"there is no option -1; the options are:"},
		"an option of a question without options": {[]string{"0198c0de-2", "--option", "1"}, "", "has no options"},
		"an option of an unknown question": {[]string{"0198bbbb", "--option", "1"}, "",
			`no question with the id "0198bbbb"`},
	} {
		f := asking(t, all...)
		var out, errOut bytes.Buffer
		env := f.at()
		code := cli.Run(t.Context(), append([]string{"answer"}, c.args...), func(n string) string {
			return env[n]
		}, strings.NewReader(c.in), &out, &errOut)
		if out.Len() > 0 || code != codeOf(errOut.String()) || !strings.HasPrefix(errOut.String(), "parley: ") ||
			!strings.Contains(errOut.String(), c.words) {
			t.Errorf("%s: got %q, %q, exit %d; want %q and 1", name, out.String(), errOut.String(), code, c.words)
		}
		for _, call := range f.calls() {
			if strings.HasPrefix(call, "POST") {
				t.Errorf("%s: was sent: %s", name, call)
			}
		}
	}
}

func TestTheServersRefusalOfAnAnswerIsShown(t *testing.T) {
	t.Parallel()
	f := asking(t, question("0198aaaa-1", "c", object{"status": "answered", "response": "x", "options": []string{"x"}}),
		question("0198dddd-1", "d", object{"assurance": "device"}), question("0198eeee-1", "e", object{"assurance": "passkey"}))
	for name, c := range map[string]struct {
		args  []string
		words string
	}{
		"a second answer":             {[]string{"0198aaaa-1", "yes"}, "parley: the question was answered at noon, with \"x\"\n"},
		"a second answer by a prefix": {[]string{"0198aaaa", "yes"}, "parley: the question was answered at noon, with \"x\"\n"},
		"a second answer by an option": {[]string{"0198aaaa-1", "--option", "1"},
			"parley: the question was answered at noon, with \"x\"\n"},
		"a question for a device": {[]string{"0198dddd", "yes"}, "parley: this question is answered from a paired device " +
			"only: open " + f.URL + "/q/0198dddd-1 there; the browser that first opens a link of `parley link` is paired, " +
			"and a paired one pairs others\n"},
		"a question for a passkey": {[]string{"0198eeee", "yes"}, "parley: this question is answered with a passkey only, in the " +
			"console: open " + f.URL + "/q/0198eeee-1 in a browser, and sign in with your passkey\n"},
		"no such question": {[]string{"0198/../bbbb", "yes"},
			"; `parley questions` lists the waiting ones\n"},
	} {
		out, errOut, code := inProcess(t, f.at(), append([]string{"answer"}, c.args...)...)
		if out != "" || code != 1 || !strings.HasSuffix(errOut, c.words) {
			t.Errorf("%s: got %q, %q, exit %d; want %q and 1", name, out, errOut, code, c.words)
		}
	}
	calls := f.calls()
	if last := calls[len(calls)-1]; !slices.ContainsFunc(calls, func(c string) bool {
		return strings.HasPrefix(c, "POST /v1/questions/0198%2F..%2Fbbbb/answer ")
	}) {
		t.Errorf("got the call %q, want the id escaped", last)
	}
}
