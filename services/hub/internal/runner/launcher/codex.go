package launcher

import (
	"bytes"
	"encoding/json"
	"fmt"
)

var codex = Client{
	Name: "codex", Program: "codex", Advice: "Install Codex or ensure it is in your PATH.",
	SignIn:      []string{"OPENAI_*", "CODEX_HOME", "CODEX_API_KEY"},
	headless:    codexHeadless,
	interactive: codexInteractive,
	outcome:     codexOutcome,
}

// codexEntry returns the options that name the MCP server, which take the place of the person's own entry of that name.
// Codex adds the person's other servers. It otherwise keeps a copy of its environment, and the key with it, in a file.
func codexEntry(w Work) []string {
	args := []string{"-c", fmt.Sprintf("mcp_servers.%s={url=%s,bearer_token_env_var=%s,enabled=true}", ServerName,
		quoteTOML(w.URL), quoteTOML(w.KeyVariable)), "-c", "features.shell_snapshot=false"}
	if w.Model != "" {
		args = append(args, "-m", w.Model)
	}
	if w.Plan {
		args = append(args, "-s", "read-only")
	}
	return args
}

// quoteTOML quotes a text as JSON does, which TOML reads alike.
func quoteTOML(text string) string {
	quoted, _ := json.Marshal(text) // a string can be marshalled
	return string(quoted)
}

func codexHeadless(w Work) ([]string, error) {
	// The directory is the operator's choice, whether it is a repository or not.
	args := append([]string{"exec", "--skip-git-repo-check"}, codexEntry(w)...)
	if w.Record {
		args = append(args, "--json")
	}
	args = append(args, w.Options...)
	if w.Session != "" {
		args = append(args, "resume", w.Session)
	}
	return append(args, "-"), nil
}

// codexInteractive avoids the server that terminals share, because that has the environment of the terminal that started
// it, and with it another agent's key.
func codexInteractive(w Work) ([]string, error) {
	args := append([]string{"--no-daemon"}, codexEntry(w)...)
	return append(append(args, w.Options...), "--", w.Prompt), nil
}

// codexOutcome reads the events that Codex writes with --json. Its sums are those of the session.
func codexOutcome(output []byte) Outcome {
	var o Outcome
	for _, line := range bytes.Split(output, []byte("\n")) {
		var e struct {
			Type    string
			Thread  string `json:"thread_id"`
			Message string
			Item    struct{ Type, Text string }
			Error   struct{ Message string }
			Usage   struct {
				In  int64 `json:"input_tokens"`
				Out int64 `json:"output_tokens"`
			}
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch {
		case e.Type == "thread.started":
			o.Session = e.Thread
		case e.Type == "item.completed" && e.Item.Type == "agent_message":
			o.Text = e.Item.Text
		case e.Type == "turn.completed":
			o.Told, o.Failed, o.Reason = true, false, ""
			o.Sum = Usage{In: e.Usage.In, Out: e.Usage.Out}
		case e.Type == "turn.failed":
			o.Told, o.Failed, o.Reason = true, true, e.Error.Message
		case e.Type == "error":
			o.Failed, o.Reason = true, e.Message
		}
	}
	if !o.Told && o.Reason == "" {
		o.Failed = false
	}
	return o
}
