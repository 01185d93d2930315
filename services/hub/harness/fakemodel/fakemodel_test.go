package fakemodel_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
)

// post sends a request to the model and returns the status and the whole answer.
func post(t *testing.T, m *fakemodel.Server, path, body string) (int, string) {
	t.Helper()
	res, err := http.Post(m.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// events returns the data of a stream's events.
func events(t *testing.T, stream string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, part := range strings.Split(strings.TrimSpace(stream), "\n\n") {
		name, data, _ := strings.Cut(part, "\ndata: ")
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil || "event: "+e["type"].(string) != name {
			t.Fatalf("%q is no event: %v", part, err)
		}
		out = append(out, e)
	}
	return out
}

const (
	messages = `{"model":"m","stream":true,"system":"be brief","tools":[{"name":"Bash"}],"messages":[` +
		`{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","name":"Bash","input":{"a":1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"denied"}]}]}]}`
	responses = `{"model":"m","stream":true,"instructions":"be brief","tools":[{"type":"function","name":"exec"},` +
		`{"type":"namespace","name":"mcp__parley","tools":[{"name":"look"}]},{"type":"web_search"}],"input":[` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},` +
		`{"type":"function_call","name":"exec","arguments":"{\"a\":1}"},{"type":"function_call_output","output":"denied"}]}`
)

func TestAnAnswerOfMessagesIsStreamedAsItsStepSays(t *testing.T) {
	t.Parallel()
	m := fakemodel.New(fakemodel.Use("Bash", map[string]string{"command": "ls"}), fakemodel.Say("bye"))
	defer m.Close()
	_, stream := post(t, m, "/v1/messages", messages)
	all := events(t, stream)
	if len(all) != 6 || !strings.Contains(stream, `"partial_json":"{\"command\":\"ls\"}"`) ||
		!strings.Contains(stream, `"stop_reason":"tool_use"`) || !strings.Contains(stream, `"input_tokens":1001`) {
		t.Errorf("got %s", stream)
	}
	if _, stream = post(t, m, "/v1/messages", messages); !strings.Contains(stream, `"text":"bye"`) ||
		!strings.Contains(stream, `"stop_reason":"end_turn"`) {
		t.Errorf("got %s", stream)
	}
	_, whole := post(t, m, "/v1/messages", strings.Replace(messages, `"stream":true`, `"stream":false`, 1))
	if !strings.Contains(whole, `"text":"Done."`) || m.Left() != 0 {
		t.Errorf("past the end of the script: got %s", whole)
	}
}

func TestAnAnswerOfResponsesIsStreamedAsItsStepSays(t *testing.T) {
	t.Parallel()
	m := fakemodel.New(fakemodel.Step{Calls: []fakemodel.Call{
		{Tool: "look", Namespace: "mcp__parley"}, {Tool: "apply_patch", Free: "*** Begin Patch"}},
		Usage: &fakemodel.Usage{In: 7, Cached: 3, Out: 2}})
	defer m.Close()
	_, stream := post(t, m, "/v1/responses", responses)
	all := events(t, stream)
	if len(all) != 4 || !strings.Contains(stream, `"namespace":"mcp__parley"`) ||
		!strings.Contains(stream, `"input":"*** Begin Patch"`) || !strings.Contains(stream, `"cached_tokens":3`) {
		t.Errorf("got %s", stream)
	}
}

func TestARequestIsKeptAsTheModelReadsIt(t *testing.T) {
	t.Parallel()
	m := fakemodel.New()
	defer m.Close()
	post(t, m, "/v1/messages", messages)
	post(t, m, "/v1/responses", responses)
	for i, want := range []struct {
		path, text string
		tools      []string
	}{
		{"/v1/messages", "--- system\nbe brief\n--- 0 user\ngo\n--- 1 assistant\n[tool_use Bash {\"a\":1}]\n" +
			"--- 2 user\n[tool_result error] denied\n", []string{"Bash"}},
		{"/v1/responses", "--- instructions\nbe brief\n--- 0 user\ngo\n--- 1 function_call exec {\"a\":1}\n" +
			"--- 2 function_call_output\ndenied\n", []string{"exec", "mcp__parley/look", "web_search"}},
	} {
		r := m.Requests()[i]
		if r.Number != i+1 || r.Path != want.path || r.Text != want.text || r.Model != "m" || !slices.Equal(r.Tools, want.tools) {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
}

func TestARequestWithoutToolsTakesNoStep(t *testing.T) {
	t.Parallel()
	m := fakemodel.New(fakemodel.Say("scripted"))
	defer m.Close()
	_, title := post(t, m, "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"a title?"}]}`)
	if !strings.Contains(title, `"text":"ok"`) || m.Left() != 1 || len(m.Requests()) != 0 {
		t.Errorf("got %s, %d steps left", title, m.Left())
	}
}

func TestAStepWaitsForTheRequestThatItsConditionFits(t *testing.T) {
	t.Parallel()
	m := fakemodel.New(fakemodel.Say("for beta").If("beta"), fakemodel.Say("for all"))
	m.Add(fakemodel.Step{Status: 529})
	defer m.Close()
	if _, text := post(t, m, "/v1/messages", messages); !strings.Contains(text, "for all") {
		t.Errorf("got %s", text)
	}
	if status, text := post(t, m, "/v1/messages", messages); status != 529 || !strings.Contains(text, "scripted error") {
		t.Errorf("got %d %s", status, text)
	}
	if _, text := post(t, m, "/v1/messages", strings.Replace(messages, "go", "beta", 1)); !strings.Contains(text, "for beta") {
		t.Errorf("got %s", text)
	}
	if status, _ := post(t, m, "/v1/responses", "{"); status != http.StatusBadRequest {
		t.Errorf("no JSON: got %d", status)
	}
}

func TestAHeldAnswerWaitsAndARequestCanBeAwaited(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	m := fakemodel.New(fakemodel.Step{Text: "late", Hold: hold})
	defer m.Close()
	go func() {
		if _, err := m.Await(t.Context(), fakemodel.Reads("be brief", "denied")); err != nil {
			t.Error(err)
		}
		close(hold)
	}()
	if _, text := post(t, m, "/v1/messages", messages); !strings.Contains(text, "late") {
		t.Errorf("got %s", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Await(ctx, fakemodel.Reads("nobody says this")); err == nil {
		t.Error("a request that never comes was found")
	}
}
