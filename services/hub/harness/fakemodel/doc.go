// Package fakemodel serves the model APIs that agents' clients call, without a model: Anthropic's Messages and OpenAI's
// Responses, both streamed, on one server of 127.0.0.1. A script has the answers of the model, and each request is
// kept, so that a test can check the input of the model: the prompt, the results of tools, the additions of a hook.
//
// Claude Code finds it through ANTHROPIC_BASE_URL (see [Server.ClaudeEnv]) and Codex through a provider in its
// configuration (see [Server.CodexConfig]). No promise of Parley may live here.
package fakemodel
