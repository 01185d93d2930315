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
	`<img src=x onerror="alert(1)">`, `<script>alert(2)</script>`, `</script><script>alert(3)</script>`,
	`javascript:alert(4)`,
	`"><svg onload=alert(5)>`, `<a href="javascript:alert(6)">x</a><iframe srcdoc="<script>parent.alert(7)</script>">`,
	`&lt;b&gt; {{.}} ${alert(8)}`,
}

// countInjected is the number of elements that a text of an agent could only have injected.
const countInjected = `document.querySelectorAll(
	'img, main svg, iframe, body script, main a:not([href^="/"], #sign-in a), [onerror], [onload]').length`

func TestTextsOfAgentsAreShownAsPlainText(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	all := strings.Join(hostile, "\n")
	id := u.Ask(args{"question": all, "options": hostile[:5], "context": all})
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#state", "Waiting for your answer")
	if got := b.text("#title"); got != all {
		t.Errorf("the question reads %q", got)
	}
	if got := b.text("#parts dd"); got != all {
		t.Errorf("the context reads %q", got)
	}
	options := eval[[]string](b, "[...document.querySelectorAll('.choice')].map(c => c.textContent)")
	if !slices.Equal(options, hostile[:5]) {
		t.Errorf("the options read %q", options)
	}
	b.click(".choice:nth-child(2)")
	b.click("#send")
	b.sees("#standing", hostile[1])
	if n := eval[int](b, countInjected); n != 0 {
		t.Errorf("the texts made %d elements", n)
	}
	u.Ask(args{"question": all})
	b.open(u.Hub.URL + "/q")
	b.sees("#questions", hostile[0])
	if n := eval[int](b, countInjected); n != 0 {
		t.Errorf("the texts made %d elements of the list", n)
	}
	// A key that is bound to no program may name any source.
	var task struct{ TaskID string }
	anyone := u.Hub.Key("u", keys.CreateInput{})
	hubtest.Must(t, u.Hub.REST(anyone, "POST", "/v1/tasks",
		args{"title": hostile[1], "target": "user", "source": hostile[0], "instructions": all}).Into(&task))
	b.open(u.Hub.URL + "/q/" + task.TaskID + "#link=" + u.ConsoleCode())
	b.sees("#source", hostile[0])
	b.sees("#verified", "(not verified)")
	b.sees("#parts dd", all)
	if n := eval[int](b, countInjected); n != 0 {
		t.Errorf("the texts made %d elements of the task", n)
	}
}

func TestAnInjectedScriptDoesNotRun(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "q"})
	p := newProxy(t, u.Hub, func(r *http.Response) error {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		const bad = `<script>window.ran = 1</script><p onclick="window.ran = 2" id="bad">bad</p>` +
			`<style>#kind{color:red}</style></body>`
		text = bytes.Replace(text, []byte("</body>"), []byte(bad), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", fmt.Sprint(len(text)))
		return nil
	})
	b := u.signedIn(p.URL, id)
	b.sees("#state", "Waiting for your answer")
	b.click("#bad")
	if ran := eval[bool](b, "'ran' in window"); ran {
		t.Error("an injected script ran")
	}
	if problems := b.takeProblems(); len(problems) < 3 {
		t.Errorf("the browser refused %q, want a script, a handler and a style", problems)
	}
	for _, sink := range []string{
		"document.body.innerHTML = '<b>x</b>'",
		"document.createElement('script').text = 'x'",
		"document.write('x')",
		"trustedTypes.createPolicy('default', {createHTML: x => x})"} {
		if eval[bool](b, fmt.Sprintf("(() => { try { %s; return true } catch { return false } })()", sink)) {
			t.Errorf("%s: went through", sink)
		}
	}
	b.takeProblems()
}

// foreignPage is a page of another origin that tries to answer in the name of the person who opens it. Its
// parameters are the URLs of the answer and of the task.
const foreignPage = `<!doctype html><title>foreign</title><iframe name="f"></iframe>
<form method="post" enctype="text/plain" target="f" action="%[1]s">
<input name='{"response":"forged","x":"' value='"}'></form>
<script>
const body = JSON.stringify({response: 'forged'}), said = [];
const tries = [
	() => fetch(%[1]q, {method: 'POST', mode: 'no-cors', credentials: 'include', body}),
	() => fetch(%[1]q, {method: 'POST', credentials: 'include', body}),
	() => fetch(%[1]q, {method: 'POST', credentials: 'include', body,
		headers: {'Content-Type': 'application/json', Authorization: 'Bearer null'}}),
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
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "q", "options": []string{"Yes"}})
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#state", "Waiting for your answer")
	at := u.Hub.URL + "/v1/questions/" + id + "/answer"
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, foreignPage, at, u.Hub.URL+"/v1/tasks/"+id)
	}))
	t.Cleanup(other.Close)
	b.open(other.URL) // the site is the same, so that the browser would send a cookie
	b.holds("document.title === 'done'")
	var said []string
	hubtest.Must(t, json.Unmarshal([]byte(eval[string](b, "document.body.lastChild.textContent")), &said))
	if want := []string{"opaque", "refused", "refused", "refused"}; !slices.Equal(said, want) {
		t.Errorf("the calls came to %q, want %q", said, want)
	}
	if got := b.answers(at); !slices.Contains(got, "401") || slices.Contains(got, "200") {
		t.Errorf("the route answered %q, want 401", got) // besides 204 to the preflight requests
	}
	if s := u.answer(id); s.Status != "pending" {
		t.Errorf("a foreign page answered: %+v", s)
	}
	if a := u.Hub.Raw("POST", "/v1/questions/"+id+"/answer", args{"response": "r"}); a.Status != 401 ||
		len(a.Header.Values("Set-Cookie")) > 0 {
		t.Errorf("without a bearer: got %s with %v, want 401 and no cookie", a, a.Header)
	}
	b.open(u.Hub.URL + "/q/" + id)
	b.click(".choice")
	b.click("#send")
	b.sees("#standing", "Yes")
	if cookies := eval[string](b, "document.cookie"); cookies != "" {
		t.Errorf("there are the cookies %q", cookies)
	}
}

func TestNoOtherPageCanFrameThePage(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!doctype html><title>framing</title>
<iframe src="%s/q" onload="document.title = 'done'"></iframe>`, u.Hub.URL)
	}))
	t.Cleanup(other.Close)
	b := newTab(t)
	b.open(other.URL)
	b.holds("document.title === 'done'")
	if problems := strings.Join(b.takeProblems(), " "); !strings.Contains(problems, "fram") {
		t.Errorf("the browser refused %q, want the frame", problems)
	}
}
