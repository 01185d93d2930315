package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// readMessages reads a request of the Messages API.
func readMessages(body []byte, r *Request) (stream bool, err error) {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return false, err
	}
	r.Model = in.Model
	for _, tool := range in.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- system\n%s\n", blocks(in.System))
	for i, m := range in.Messages {
		fmt.Fprintf(&b, "--- %d %s\n%s\n", i, m.Role, blocks(m.Content))
	}
	r.Text = b.String()
	return in.Stream, nil
}

// blocks returns content as text: a string, or a list of blocks.
func blocks(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct {
		Type, Text, Name string
		Input, Content   json.RawMessage
		IsError          bool `json:"is_error"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return string(raw)
	}
	parts := make([]string, 0, len(list))
	for _, c := range list {
		switch {
		case c.Type == "text":
			parts = append(parts, c.Text)
		case c.Type == "tool_use":
			parts = append(parts, fmt.Sprintf("[tool_use %s %s]", c.Name, c.Input))
		case c.Type == "tool_result" && c.IsError:
			parts = append(parts, "[tool_result error] "+blocks(c.Content))
		case c.Type == "tool_result":
			parts = append(parts, "[tool_result] "+blocks(c.Content))
		default:
			parts = append(parts, "["+c.Type+"]")
		}
	}
	return strings.Join(parts, "\n· ")
}

// writeMessages writes an answer of the Messages API.
func writeMessages(w io.Writer, a answer) error {
	content, stop := []map[string]any{{"type": "text", "text": a.step.Text}}, "end_turn"
	if len(a.step.Calls) > 0 {
		content, stop = nil, "tool_use"
	}
	for i, call := range a.step.Calls {
		content = append(content, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", a.number, i),
			"name": call.Tool, "input": call.Input})
	}
	u := a.step.usage(a.number)
	usage := map[string]any{"input_tokens": u.In, "cache_creation_input_tokens": 0, "cache_read_input_tokens": u.Cached,
		"output_tokens": u.Out}
	message := map[string]any{"id": fmt.Sprintf("msg_%d", a.number), "type": "message", "role": "assistant",
		"model": a.model, "content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage}
	if !a.stream {
		return json.NewEncoder(w).Encode(message)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	if err := event(w, "message_start", map[string]any{"message": message}); err != nil {
		return err
	}
	for i, block := range content {
		if err := writeBlock(w, i, block, a.step); err != nil {
			return err
		}
	}
	err := event(w, "message_delta", map[string]any{"usage": map[string]any{"output_tokens": u.Out},
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}})
	if err != nil {
		return err
	}
	return event(w, "message_stop", map[string]any{})
}

// writeBlock writes one block of an answer as a stream: its beginning without content, the content, its end.
func writeBlock(w io.Writer, i int, block map[string]any, step Step) error {
	delta := map[string]any{"type": "text_delta", "text": step.Text}
	begin := map[string]any{"type": "text", "text": ""}
	if len(step.Calls) > 0 {
		input, err := step.Calls[i].input()
		if err != nil {
			return err
		}
		delta = map[string]any{"type": "input_json_delta", "partial_json": input}
		begin = map[string]any{"type": "tool_use", "id": block["id"], "name": block["name"], "input": map[string]any{}}
	}
	if err := event(w, "content_block_start", map[string]any{"index": i, "content_block": begin}); err != nil {
		return err
	}
	if err := event(w, "content_block_delta", map[string]any{"index": i, "delta": delta}); err != nil {
		return err
	}
	return event(w, "content_block_stop", map[string]any{"index": i})
}
