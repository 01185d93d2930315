package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/regular"
)

// The bounds for reading a client's own record of the session: the first line of Codex's, and the end of Claude Code's.
const (
	maxFirst = 256 << 10
	maxTail  = 64 << 10
)

// describe adds what the client's own record, or its environment, says of the client: its version, and whether Codex runs
// without a person before it (`codex exec`). It is asked where a session or a turn begins or ends.
func describe(call *hook.Call, env func(string) string) {
	switch call.Kind {
	case hook.Start, hook.Resume, hook.Prompt, hook.Turn:
	default:
		return
	}
	switch call.Client {
	case "claude":
		if call.Version = claudeVariable(env("AI_AGENT")); call.Version == "" {
			call.Version = claudeRecord(call.Transcript)
		}
	case "codex":
		exec, version := codexRecord(call.Transcript)
		call.Headless, call.Version = call.Headless || exec, version
	}
}

// version returns a text that looks like a version, else nothing.
func version(text string) string {
	if text == "" || len(text) > 40 || text[0] < '0' || text[0] > '9' {
		return ""
	}
	for _, r := range text {
		if !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-", r) {
			return ""
		}
	}
	return text
}

// claudeVariable returns the version of Claude Code in the variable that it gives to its hooks, such as
// claude-code_2-1-330_harness.
func claudeVariable(text string) string {
	rest, ok := strings.CutPrefix(text, "claude-code_")
	if !ok {
		return ""
	}
	number, _, _ := strings.Cut(rest, "_")
	return version(strings.ReplaceAll(number, "-", "."))
}

// claudeRecord returns the version in the last line of Claude Code's record that has one. There is no record yet where a session
// begins.
func claudeRecord(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxTail), maxTail))
	if err != nil {
		return ""
	}
	lines := bytes.Split(tail, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if !bytes.Contains(lines[i], []byte(`"version"`)) {
			continue
		}
		var line struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(lines[i], &line) == nil && version(line.Version) != "" {
			return line.Version
		}
	}
	return ""
}

// codexRecord returns what the first line of Codex's record says: whether it was `codex exec` that began the session, and the
// version that did.
func codexRecord(path string) (exec bool, v string) {
	f, err := regular.Open(path)
	if err != nil {
		return false, ""
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(f, maxFirst), 64<<10).ReadBytes('\n')
	if err != nil {
		return false, ""
	}
	var first struct {
		Type    string `json:"type"`
		Payload struct {
			Source  json.RawMessage `json:"source"`
			Version json.RawMessage `json:"cli_version"`
		} `json:"payload"`
	}
	if json.Unmarshal(line, &first) != nil || first.Type != "session_meta" {
		return false, ""
	}
	_ = json.Unmarshal(first.Payload.Version, &v) // a value that is no text is none
	return string(first.Payload.Source) == `"exec"`, version(v)
}
