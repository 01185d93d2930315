package fakemodel

import "fmt"

// Quiet are the variables that keep a client from calling anything but the model: no updates, no telemetry. A test adds
// HOME, a directory of its own, and PATH.
func Quiet() []string {
	return []string{"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1"}
}

// ClaudeEnv returns the variables with which Claude Code calls this server.
func (s *Server) ClaudeEnv() []string {
	return append(Quiet(), "ANTHROPIC_BASE_URL="+s.URL, "ANTHROPIC_API_KEY=fake")
}

// CodexConfig returns the beginning of a config.toml with which Codex calls this server. It needs no sign-in.
func (s *Server) CodexConfig() string {
	return fmt.Sprintf(`model = "gpt-5.2-codex"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = %q
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, s.URL+"/v1")
}
