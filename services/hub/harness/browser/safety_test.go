package browser_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/keys"
)

var hostile = []string{
	`<img src=x onerror="alert(1)">`, `<script>alert(2)</script>`, `</script><script>alert(3)</script>`, `javascript:alert(4)`,
	`"><svg onload=alert(5)>`, `<a href="javascript:alert(6)">x</a><iframe srcdoc="<script>parent.alert(7)</script>">`, `&lt;b&gt; {{.}} ${alert(8)}`,
}

// made counts what no text may make of the page.
const made = `document.querySelectorAll('img, svg, iframe, body script, main a:not([href^="/q"]), [onerror], [onload]').length`

func TestWhatAgentsWroteIsTextAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	all := strings.Join(hostile, "\n")
	id := w.ask(args{"question": all, "options": hostile[:5], "context": all})
	b := w.signedIn(w.hub.URL, id)
	b.sees("#state", "Waiting for your answer")
	if got := b.text("#title"); got != all {
		t.Errorf("the question reads %q", got)
	}
	if got := b.text("#parts dd"); got != all {
		t.Errorf("the context reads %q", got)
	}
	if got := eval[[]string](b, "[...document.querySelectorAll('.choice')].map(c => c.textContent)"); !slices.Equal(got, hostile[:5]) {
		t.Errorf("the options read %q", got)
	}
	b.click(".choice:nth-child(2)")
	b.click("#send")
	b.sees("#standing", hostile[1])
	if n := eval[int](b, made); n != 0 {
		t.Errorf("the texts made %d elements", n)
	}
	w.ask(args{"question": all})
	b.open(w.hub.URL + "/q")
	b.sees("#questions", hostile[0])
	if n := eval[int](b, made); n != 0 {
		t.Errorf("the texts made %d elements of the list", n)
	}
	// A key that is bound to no program names its source as it likes.
	var task struct{ TaskID string }
	anyone := w.hub.Key("u", keys.CreateInput{})
	must(t, w.hub.REST(anyone, "POST", "/v1/tasks", args{"title": hostile[1], "target": "user", "source": hostile[0], "instructions": all}).Into(&task))
	b.open(w.hub.URL + "/q/" + task.TaskID)
	b.sees("#source", hostile[0])
	b.sees("#verified", "(not verified)")
	b.sees("#parts dd", all)
	if n := eval[int](b, made); n != 0 {
		t.Errorf("the texts made %d elements of the task", n)
	}
}

func TestAScriptThatGotIntoThePageDoesNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "q"})
	d := newDoor(t, w.hub, func(r *http.Response) error {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		bad := `<script>window.ran = 1</script><p onclick="window.ran = 2" id="bad">bad</p><style>#kind{color:red}</style></body>`
		text = bytes.Replace(text, []byte("</body>"), []byte(bad), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", fmt.Sprint(len(text)))
		return nil
	})
	b := w.signedIn(d.URL, id)
	b.sees("#state", "Waiting for your answer")
	b.click("#bad")
	if ran := eval[bool](b, "'ran' in window"); ran {
		t.Error("an injected script ran")
	}
	if trouble := b.takeTrouble(); len(trouble) < 3 {
		t.Errorf("the browser refused %q, want a script, a handler and a style", trouble)
	}
	for _, sink := range []string{"document.body.innerHTML = '<b>x</b>'", "document.createElement('script').text = 'x'", "document.write('x')",
		"trustedTypes.createPolicy('default', {createHTML: x => x})"} {
		if went := eval[bool](b, fmt.Sprintf("(() => { try { %s; return true } catch { return false } })()", sink)); went {
			t.Errorf("%s: went through", sink)
		}
	}
	b.takeTrouble()
}

// foreign is a page of another origin that tries to answer in the name of who opens it.
const foreign = `<!doctype html><title>foreign</title><iframe name="f"></iframe>
<form method="post" enctype="text/plain" target="f" action="%[1]s"><input name='{"response":"forged","x":"' value='"}'></form>
<script>
const body = JSON.stringify({response: 'forged'}), said = [];
const tries = [
	() => fetch(%[1]q, {method: 'POST', mode: 'no-cors', credentials: 'include', body}),
	() => fetch(%[1]q, {method: 'POST', credentials: 'include', body}),
	() => fetch(%[1]q, {method: 'POST', credentials: 'include', body, headers: {'Content-Type': 'application/json', Authorization: 'Bearer null'}}),
	() => fetch(%[2]q, {credentials: 'include'}),
];
onload = async () => {
	document.querySelector('iframe').onload = async () => {
		for (const go of tries) said.push(await go().then(r => r.type, () => 'refused'));
		document.body.append(JSON.stringify(said));
		document.title = 'done';
	};
	document.forms[0].submit();
};
</script>`

func TestAForeignPageChangesAndReadsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "q", "options": []string{"Yes"}})
	b := w.signedIn(w.hub.URL, id)
	b.sees("#state", "Waiting for your answer")
	at := w.hub.URL + "/v1/questions/" + id + "/answer"
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, foreign, at, w.hub.URL+"/v1/tasks/"+id)
	}))
	t.Cleanup(other.Close)
	b.open(other.URL) // the same site, so that a cookie would be sent
	b.holds("document.title === 'done'")
	var said []string
	must(t, json.Unmarshal([]byte(eval[string](b, "document.body.lastChild.textContent")), &said))
	if want := []string{"opaque", "refused", "refused", "refused"}; !slices.Equal(said, want) {
		t.Errorf("the calls came to %q, want %q", said, want)
	}
	if got := b.answers(at); !slices.Contains(got, "401") || slices.Contains(got, "200") {
		t.Errorf("the route answered %q, want 401", got) // and 204 to who asks whether it may
	}
	if s := w.answer(id); s.Status != "pending" {
		t.Errorf("a foreign page answered: %+v", s)
	}
	if a := w.hub.Raw("POST", "/v1/questions/"+id+"/answer", args{"response": "r"}); a.Status != 401 || len(a.Header.Values("Set-Cookie")) > 0 {
		t.Errorf("without a bearer: got %s with %v, want 401 and no cookie", a, a.Header)
	}
	b.open(w.hub.URL + "/q/" + id)
	b.click(".choice")
	b.click("#send")
	b.sees("#standing", "Yes")
	if cookies := eval[string](b, "document.cookie"); cookies != "" {
		t.Errorf("there are the cookies %q", cookies)
	}
}

func TestNoOtherPageFramesThisOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!doctype html><title>framing</title><iframe src="%s/q" onload="document.title = 'done'"></iframe>`, w.hub.URL)
	}))
	t.Cleanup(other.Close)
	b := newTab(t)
	b.open(other.URL)
	b.holds("document.title === 'done'")
	if trouble := strings.Join(b.takeTrouble(), " "); !strings.Contains(trouble, "fram") {
		t.Errorf("the browser refused %q, want the frame", trouble)
	}
}
