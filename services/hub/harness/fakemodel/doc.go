// Package fakemodel serves the model APIs that agents' clients call, without a model: Anthropic's Messages and OpenAI's
// Responses, both streamed, on one server of 127.0.0.1. A script says what the model answers, and each request is kept,
// so that a test can assert on what the model would have read: the prompt, the results of tools, what a hook added.
//
// Claude Code finds it through ANTHROPIC_BASE_URL (see [Server.ClaudeEnv]) and Codex through a provider in its
// configuration (see [Server.CodexConfig]). No promise of Parley may live here.
package fakemodel
