package supply

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley.internal/services/hub/internal/stdio"
)

// contextExpand is the type of the intervention that lists new files.
const contextExpand = "CONTEXT_EXPAND"

// result is the structured content of a tool in parts, so that unchanged parts keep their exact form.
type result struct {
	parts   map[string]json.RawMessage
	session string
	wanted  []string
}

// readResult parses structured content. ok is false if it names no verification.
func readResult(content json.RawMessage) (r result, ok bool) {
	var known struct {
		SessionID   string   `json:"sessionId"`
		FilesWanted []string `json:"filesWanted"`
	}
	if json.Unmarshal(content, &r.parts) != nil || json.Unmarshal(content, &known) != nil {
		return r, false
	}
	r.session, r.wanted = known.SessionID, known.FilesWanted
	return r, r.session != ""
}

// noted returns the content with a note for the agent.
func (r *result) noted(note string) json.RawMessage {
	r.parts["note"] = stdio.Encode(note)
	return stdio.Encode(r.parts)
}

// with returns the content with the sent files included.
func (r *result) with(v *supply, tool string) (json.RawMessage, error) {
	r.parts["filesWanted"] = stdio.Encode(v.stillWanted())
	change := r.countFiles
	if tool == toolRound {
		change = r.listFiles
	}
	if err := change(v); err != nil {
		return nil, err
	}
	return stdio.Encode(r.parts), nil
}

// countFiles adds the sent files to the number of collected files in the result of a start.
func (r *result) countFiles(v *supply) error {
	var c map[string]json.RawMessage
	var n int
	if err := json.Unmarshal(r.parts["context"], &c); err != nil || json.Unmarshal(c["filesCollected"], &n) != nil {
		return errors.New("the answer has no context.filesCollected")
	}
	c["filesCollected"] = stdio.Encode(n + v.added)
	r.parts["context"] = stdio.Encode(c)
	return nil
}

// listFiles adds the sent files to the discovered files in the result of a round.
func (r *result) listFiles(v *supply) error {
	if v.added == 0 {
		return nil // the server already had the files, from another bridge
	}
	var files []string
	if err := json.Unmarshal(r.parts["newFilesDiscovered"], &files); err != nil {
		return fmt.Errorf("the answer's newFilesDiscovered cannot be read: %w", err)
	}
	for _, p := range v.sent {
		if !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	r.parts["newFilesDiscovered"], r.parts["contextExpanded"] = stdio.Encode(files), stdio.Encode(true)
	if v.intervention != nil {
		r.parts["intervention"] = v.intervention
	}
	var intervention map[string]json.RawMessage
	var kind string
	if json.Unmarshal(r.parts["intervention"], &intervention) == nil &&
		json.Unmarshal(intervention["type"], &kind) == nil && kind == contextExpand {
		intervention["newContextFiles"] = stdio.Encode(files)
		r.parts["intervention"] = stdio.Encode(intervention)
	}
	return nil
}
