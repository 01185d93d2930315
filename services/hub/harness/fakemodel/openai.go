package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// readResponses reads a request of the Responses API.
func readResponses(body []byte, r *Request) (stream bool, err error) {
	var in struct {
		Model, Instructions string
		Stream              bool
		Tools               []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
		Input []struct {
			Type, Role, Name, Arguments string
			Content, Output, Input      json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return false, err
	}
	r.Model = in.Model
	for _, tool := range in.Tools {
		for _, inner := range tool.Tools {
			r.Tools = append(r.Tools, tool.Name+"/"+inner.Name)
		}
		if len(tool.Tools) == 0 {
			name := tool.Name
			if name == "" {
				name = tool.Type
			}
			r.Tools = append(r.Tools, name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- instructions\n%s\n", in.Instructions)
	for i, m := range in.Input {
		switch {
		case m.Type == "message" || m.Role != "":
			fmt.Fprintf(&b, "--- %d %s\n%s\n", i, m.Role, texts(m.Content))
		case strings.HasSuffix(m.Type, "_output"):
			fmt.Fprintf(&b, "--- %d %s\n%s\n", i, m.Type, texts(m.Output))
		default:
			fmt.Fprintf(&b, "--- %d %s %s %s%s\n", i, m.Type, m.Name, m.Arguments, texts(m.Input))
		}
	}
	r.Text = b.String()
	return in.Stream, nil
}

// texts returns content as text: a string, or a list of parts.
func texts(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct{ Type, Text string }
	if json.Unmarshal(raw, &list) != nil {
		return string(raw)
	}
	parts := make([]string, 0, len(list))
	for _, c := range list {
		if c.Text == "" {
			c.Text = "[" + c.Type + "]"
		}
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n· ")
}

// writeResponses writes an answer of the Responses API.
func writeResponses(w io.Writer, a answer) error {
	items := []map[string]any{{"type": "message", "id": fmt.Sprintf("msg_%d", a.number), "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "text": a.step.Text}}}}
	if len(a.step.Calls) > 0 {
		items = nil
	}
	for i, call := range a.step.Calls {
		item, err := responseCall(call, fmt.Sprintf("%d_%d", a.number, i))
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	u, id := a.step.usage(a.number), fmt.Sprintf("resp_%d", a.number)
	done := map[string]any{"id": id, "object": "response", "status": "completed", "model": a.model, "output": items,
		"usage": map[string]any{"input_tokens": u.In, "output_tokens": u.Out, "total_tokens": u.In + u.Out,
			"input_tokens_details":  map[string]any{"cached_tokens": u.Cached},
			"output_tokens_details": map[string]any{"reasoning_tokens": 0}}}
	if !a.stream {
		return json.NewEncoder(w).Encode(done)
	}
	if err := event(w, "response.created", map[string]any{"response": map[string]any{"id": id}}); err != nil {
		return err
	}
	for i, item := range items {
		if err := event(w, "response.output_item.done", map[string]any{"output_index": i, "item": item}); err != nil {
			return err
		}
	}
	return event(w, "response.completed", map[string]any{"response": done})
}

// responseCall returns the item of an answer that asks for a call.
func responseCall(call Call, id string) (map[string]any, error) {
	if call.Free != "" {
		return map[string]any{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": "call_" + id, "name": call.Tool,
			"input": call.Free}, nil
	}
	input, err := call.input()
	item := map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": call.Tool,
		"arguments": input}
	if call.Namespace != "" {
		item["namespace"] = call.Namespace
	}
	return item, err
}
