package launcher

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

var claude = Client{
	Name: "claude", Program: "claude", Advice: "Install Claude Code or ensure it is in your PATH.", Limits: true,
	SignIn: []string{"ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "CLAUDE_CONFIG_DIR",
		"CLAUDE_CODE_DISABLE_*", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"},
	headless:    claudeHeadless,
	interactive: claudeInteractive,
	outcome:     claudeOutcome,
}

// claudeCommon returns the options of both kinds of starts, after writing the MCP entry. No other MCP server is used: the
// person's own entry for Parley would speak with the person's key.
func claudeCommon(w Work) ([]string, error) {
	entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{ServerName: map[string]any{"type": "http",
		"url": w.URL, "headers": map[string]string{"Authorization": "Bearer ${" + w.KeyVariable + "}"}}}})
	if err != nil {
		return nil, err
	}
	file, err := write(w.Private, mcpFile, string(entry)+"\n")
	if err != nil {
		return nil, err
	}
	args := []string{"--mcp-config", file, "--strict-mcp-config", "--allowedTools", "mcp__" + ServerName}
	if w.Model != "" {
		args = append(args, "--model", w.Model)
	}
	if w.Plan {
		args = append(args, "--permission-mode", "plan")
	}
	return args, nil
}

func claudeHeadless(w Work) ([]string, error) {
	common, err := claudeCommon(w)
	args := append([]string{"-p"}, common...)
	if w.Record {
		args = append(args, "--output-format", "json")
	}
	if w.Session != "" {
		args = append(args, "--resume", w.Session)
	}
	if w.Turns != 0 {
		args = append(args, "--max-turns", strconv.Itoa(w.Turns))
	}
	if w.Dollars != 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(w.Dollars, 'f', -1, 64))
	}
	return append(args, w.Options...), err
}

// claudeInteractive asks for each permission unless the operator chose a mode: in a terminal Claude Code otherwise
// decides by itself about permissions.
func claudeInteractive(w Work) ([]string, error) {
	common, err := claudeCommon(w)
	chosen := w.Plan || slices.ContainsFunc(w.Options, func(o string) bool {
		return strings.HasPrefix(o, "--permission-mode") || strings.HasPrefix(o, "--dangerously-skip-permissions")
	})
	if !chosen {
		common = append(common, "--permission-mode", "default")
	}
	return append(append(common, w.Options...), "--", w.Prompt), err
}

// claudeOutcome reads the object that Claude Code writes with --output-format json. Its sums are those of the session.
func claudeOutcome(output []byte) Outcome {
	for _, line := range bytes.Split(output, []byte("\n")) {
		var r struct {
			Type, Subtype, Result string
			Errors                []string
			IsError               bool    `json:"is_error"`
			Session               string  `json:"session_id"`
			Cost                  float64 `json:"total_cost_usd"`
			ModelUsage            map[string]struct {
				In      int64 `json:"inputTokens"`
				Out     int64 `json:"outputTokens"`
				Read    int64 `json:"cacheReadInputTokens"`
				Created int64 `json:"cacheCreationInputTokens"`
			} `json:"modelUsage"`
		}
		if json.Unmarshal(line, &r) != nil || r.Type != "result" {
			continue
		}
		o := Outcome{Told: true, Text: r.Result, Session: r.Session, Failed: r.IsError, Sum: Usage{Dollars: r.Cost}}
		for _, u := range r.ModelUsage {
			o.Sum.In += u.In + u.Read + u.Created
			o.Sum.Out += u.Out
		}
		if o.Failed {
			o.Reason = strings.Join(r.Errors, "; ")
			if o.Reason == "" {
				o.Reason = r.Result
			}
		}
		return o
	}
	return Outcome{}
}
