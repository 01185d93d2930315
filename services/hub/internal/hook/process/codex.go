package process

import (
	"bufio"
	"encoding/json"
	"io"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/regular"
)

// maxFirst is the size of the longest first line of a record of Codex that is read.
const maxFirst = 256 << 10

// headlessCodex reports whether Codex runs without a person before it (`codex exec`), as the first line of the session's own
// record says. It is asked where a session or a turn begins or ends.
func headlessCodex(call hook.Call) bool {
	switch call.Kind {
	case hook.Start, hook.Resume, hook.Prompt, hook.Turn:
	default:
		return false
	}
	f, err := regular.Open(call.Transcript)
	if err != nil {
		return false
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(f, maxFirst), 64<<10).ReadBytes('\n')
	if err != nil {
		return false
	}
	var first struct {
		Type    string `json:"type"`
		Payload struct {
			Source json.RawMessage `json:"source"`
		} `json:"payload"`
	}
	return json.Unmarshal(line, &first) == nil && first.Type == "session_meta" && string(first.Payload.Source) == `"exec"`
}
