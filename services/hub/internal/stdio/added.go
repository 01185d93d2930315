package stdio

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxMessage is the largest body that a server takes, in bytes.
	maxMessage = 1 << 20
	// maxPerCall is how many files it takes at once.
	maxPerCall = 50
	// contextExpand is the intervention that lists the new files.
	contextExpand = "CONTEXT_EXPAND"
)

// batches parts files so that each part fits into a call.
func (s *supply) batches(files []file) [][]file {
	var out [][]file
	left := 0
	for _, f := range files {
		size := len(encoded(f)) + 1
		if last := len(out) - 1; last >= 0 && size <= left && len(out[last]) < maxPerCall {
			out[last] = append(out[last], f)
		} else {
			out, left = append(out, []file{f}), s.room
		}
		left -= size
	}
	return out
}

// add sends files, and says what they want in their turn.
func (s *supply) add(files []file) (wanted []string, err error) {
	said, err := s.call(toolAdd, map[string]any{"sessionId": s.id, "files": files})
	if err != nil {
		return nil, err
	}
	var out struct {
		Added        int             `json:"added"`
		FilesWanted  []string        `json:"filesWanted"`
		Intervention json.RawMessage `json:"intervention"`
	}
	if err := json.Unmarshal(said, &out); err != nil {
		return nil, fmt.Errorf("%s answered what cannot be read: %w", toolAdd, err)
	}
	s.added += out.Added
	if len(out.Intervention) > 0 {
		s.intervention = out.Intervention
	}
	return out.FilesWanted, nil
}

// compose is a call of the bridge's own, in the era of the client's, by an id that no
// client has.
func (s *supply) compose(tool string, args any) *request {
	params := map[string]any{"name": tool, "arguments": args}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(s.req.params, &p) == nil && p.Meta != nil {
		delete(p.Meta, "progressToken") // it is the client's call that it speaks of
		params["_meta"] = p.Meta
	}
	q := &request{method: string(mcp.MethodToolsCall), id: encoded("parley-stdio-" + rand.Text()), params: encoded(params), version: s.req.version}
	q.text = encoded(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": q.id, "method": q.method, "params": json.RawMessage(q.params)})
	return q
}

// call calls a tool of the server once, and is what it came to.
func (s *supply) call(tool string, args any) (json.RawMessage, error) {
	q := s.compose(tool, args)
	var line []byte
	q.own = func(answer []byte) { line = answer }
	q.ctx, q.cancel = context.WithCancel(s.ctx)
	defer q.cancel()
	if t := s.try(q); t != nil {
		return nil, fmt.Errorf("%s: %s", tool, t.text)
	}
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("%s answered what cannot be read: %w", tool, err)
	}
	switch {
	case m.Error != nil:
		return nil, fmt.Errorf("%s: %s", tool, m.Error.Message)
	case m.Result.IsError && len(m.Result.Content) > 0:
		return nil, fmt.Errorf("%s: %s", tool, m.Result.Content[0].Text)
	case m.Result.IsError || len(m.Result.StructuredContent) == 0:
		return nil, errors.New(tool + " answered nothing to go on")
	}
	return m.Result.StructuredContent, nil
}

// answer is a tool's answer in parts, so that what is not changed stays as it is.
type answer struct {
	message, result, said map[string]json.RawMessage

	session string
	wanted  []string
}

// readAnswer reads the answer of a verification's tool; ok is false for a fault, and
// for what is none.
func readAnswer(line []byte) (a answer, ok bool) {
	var told struct {
		SessionID   string   `json:"sessionId"`
		FilesWanted []string `json:"filesWanted"`
	}
	if json.Unmarshal(line, &a.message) != nil || json.Unmarshal(a.message["result"], &a.result) != nil || string(a.result["isError"]) == "true" ||
		json.Unmarshal(a.result["structuredContent"], &a.said) != nil || json.Unmarshal(a.result["structuredContent"], &told) != nil {
		return a, false
	}
	a.session, a.wanted = told.SessionID, told.FilesWanted
	return a, a.session != ""
}

// with is the line of the answer after files were given.
func (a *answer) with(s *supply, tool string) ([]byte, error) {
	before := a.result["structuredContent"]
	a.said["filesWanted"] = encoded(s.wanting())
	edit := a.started
	if tool == toolRound {
		edit = a.expanded
	}
	if err := edit(s); err != nil {
		return nil, err
	}
	after := encoded(a.said)
	var content []map[string]json.RawMessage
	if err := json.Unmarshal(a.result["content"], &content); err != nil {
		return nil, fmt.Errorf("the answer's content cannot be read: %w", err)
	}
	for _, c := range content {
		var text string
		if json.Unmarshal(c["text"], &text) == nil && sameJSON(json.RawMessage(text), before) {
			c["text"] = encoded(string(after))
		}
	}
	a.result["content"], a.result["structuredContent"] = encoded(content), after
	a.message["result"] = encoded(a.result)
	return encoded(a.message), nil
}

// started counts what a new verification has got since.
func (a *answer) started(s *supply) error {
	var c map[string]json.RawMessage
	var n int
	if err := json.Unmarshal(a.said["context"], &c); err != nil || json.Unmarshal(c["filesCollected"], &n) != nil {
		return errors.New("the answer does not say how many files it collected")
	}
	c["filesCollected"] = encoded(n + s.added)
	a.said["context"] = encoded(c)
	return nil
}

// expanded adds what a round discovered since.
func (a *answer) expanded(s *supply) error {
	if s.added == 0 {
		return nil // others have given them meanwhile
	}
	var files []string
	if err := json.Unmarshal(a.said["newFilesDiscovered"], &files); err != nil {
		return fmt.Errorf("the answer's newFilesDiscovered cannot be read: %w", err)
	}
	for _, p := range s.given {
		if !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	a.said["newFilesDiscovered"], a.said["contextExpanded"] = encoded(files), encoded(true)
	if s.intervention != nil {
		a.said["intervention"] = s.intervention
	}
	var word map[string]json.RawMessage
	if json.Unmarshal(a.said["intervention"], &word) == nil && sameJSON(word["type"], encoded(contextExpand)) {
		word["newContextFiles"] = encoded(files)
		a.said["intervention"] = encoded(word)
	}
	return nil
}

// encoded is v as JSON, with <, > and & as they are: agents read it.
func encoded(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // it holds texts, numbers and JSON that was read
	}
	return bytes.TrimSuffix([]byte(b.String()), []byte("\n"))
}
