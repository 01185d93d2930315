//go:build conformance

package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The official conformance suite calls tools, resources and prompts by name and expects these exact answers. They are
// built only with the tag conformance, so that no released server contains them.

const (
	// pixel is a PNG image and wave is a WAV sound, in base64.
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
	wave  = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="

	// pause separates notifications on the stream. It is also needed after the last one: mcp-go 1.2.1 can lose a
	// notification that is sent just before the result.
	pause = 50 * time.Millisecond
)

func init() {
	fixtures = addFixtures
	// Like the released server, this one announces no notifications of changes.
	fixtureOptions = []server.ServerOption{
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithLogging(),
		server.WithCompletions(),
	}
}

func addFixtures(s *server.MCPServer) {
	addContentTools(s)
	addStreamTools(s)
	addSchemaTools(s)
	addInputTools(s)
	addFixtureResources(s)
	addFixturePrompts(s)
}

func addTool(s *server.MCPServer, name, doc string, h server.ToolHandlerFunc) {
	s.AddTool(mcp.NewTool(name, mcp.WithDescription(doc)), h)
}

func say(format string, a ...any) *mcp.CallToolResult {
	return mcp.NewToolResultText(fmt.Sprintf(format, a...))
}

func constant(content ...mcp.Content) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	}
}

func embedded(uri, mimeType, text string) mcp.EmbeddedResource {
	return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text})
}

func addContentTools(s *server.MCPServer) {
	image := mcp.NewImageContent(pixel, "image/png")
	addTool(s, "test_simple_text", "Returns a text", constant(
		mcp.NewTextContent("This is a simple text response for testing.")))
	addTool(s, "test_image_content", "Returns an image", constant(image))
	addTool(s, "test_audio_content", "Returns a sound", constant(mcp.NewAudioContent(wave, "audio/wav")))
	addTool(s, "test_embedded_resource", "Returns a resource", constant(
		embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	addTool(s, "test_multiple_content_types", "Returns a text, an image and a resource", constant(
		mcp.NewTextContent("Multiple content types test:"), image,
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	addTool(s, "test_error_handling", "Always fails",
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
		})
}

// addStreamTools adds the tools that notify while they run.
func addStreamTools(s *server.MCPServer) {
	addTool(s, "test_tool_with_logging", "Logs three times", logTool(s))
	addTool(s, "test_logging_tool", "Logs, if the request asked for logs", logTool(s))
	addTool(s, "test_tool_with_progress", "Reports its progress three times",
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, done := range []int{0, 50, 100} {
				if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
					err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
						"progressToken": r.Params.Meta.ProgressToken, "progress": done, "total": 100,
					})
					if err != nil {
						return nil, err
					}
				}
				time.Sleep(pause)
			}
			return say("Progress reported"), nil
		})
}

func logTool(s *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			err := s.SendLogMessageToClient(ctx,
				mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "conformance", line))
			if err != nil {
				return nil, err
			}
			time.Sleep(pause)
		}
		return say("Logged"), nil
	}
}

func addSchemaTools(s *server.MCPServer) {
	ok := constant(mcp.NewTextContent("ok"))
	s.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Has the wider words of JSON Schema 2020-12",
		json.RawMessage(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"type": "object",
			"$defs": {"address": {"$anchor": "addressDef", "type": "object",
				"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"}, "email": {"type": "string"}},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]},
			"else": {"required": ["email"]},
			"additionalProperties": false}`)), ok)
	s.AddTool(mcp.NewToolWithRawSchema("test_header_parameter", "Mirrors a parameter in a header",
		json.RawMessage(`{"type": "object", "required": ["region"],
			"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}`)), ok)
}

// form returns a request for one required property, whose JSON type is kind.
func form(message, property, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{property: map[string]any{"type": kind}},
		"required":   []string{property},
	}}
}

func question(text string, maxTokens int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: maxTokens, Messages: []mcp.SamplingMessage{
		{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)},
	}}
}

// accepted returns the contents of the form that the user accepted under id, or nil.
func accepted(r mcp.MultiRoundTripParams, id string) map[string]any {
	answer := server.ElicitationResponse(r.InputResponses, id)
	if answer == nil || answer.Action != mcp.ElicitationResponseActionAccept {
		return nil
	}
	content, _ := answer.Content.(map[string]any)
	return content
}

// addInputTools adds the tools that answer "input_required". Only clients of 2026-07-28 can use them: an older client
// expects a request from the server, and a stateless server has no connection to send it on.
func addInputTools(s *server.MCPServer) {
	addTool(s, "test_input_required_result_elicitation", "Asks for a name", greet)
	addTool(s, "test_streaming_elicitation", "Asks for a name", greet)
	addTool(s, "test_input_required_result_sampling", "Asks the client's model",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.SamplingResponse(r.Params.InputResponses, "capital_question")
			if answer == nil {
				q := question("What is the capital of France?", 100)
				return ask("").Sample("capital_question", q).ToolResult(), nil
			}
			return say("The model says: %v", answer.Content), nil
		})
	addTool(s, "test_input_required_result_list_roots", "Asks for the client's roots",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.RootsResponse(r.Params.InputResponses, "client_roots")
			if answer == nil {
				return ask("").Roots("client_roots").ToolResult(), nil
			}
			return say("Roots: %v", answer.Roots), nil
		})
	addTool(s, "test_input_required_result_multiple_inputs", "Asks for three things at once", manyInputs)
	addTool(s, "test_input_required_result_multi_round", "Asks twice", twoRounds)
	addTool(s, "test_input_required_result_request_state", "Keeps its state at the client", confirm)
	addTool(s, "test_input_required_result_tampered_state", "Trusts only the state that it sealed", confirm)
	addTool(s, "test_input_required_result_capabilities", "Asks only for what the client can do", capable)
	addTool(s, "test_missing_capability", "Needs a client that can sample", needsSampling)
}

func ask(state string) *server.InputRequestBuilder { return server.NewInputRequestBuilder(state) }

func greet(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, ok := accepted(r.Params.MultiRoundTripParams, "user_name")["name"].(string)
	if !ok {
		return ask("").Elicit("user_name", form("What is your name?", "name", "string")).ToolResult(), nil
	}
	return say("Hello, %s!", name), nil
}

func manyInputs(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := r.Params.InputResponses
	name := accepted(r.Params.MultiRoundTripParams, "user_name")
	greeting, roots := server.SamplingResponse(in, "greeting"), server.RootsResponse(in, "client_roots")
	if name == nil || greeting == nil || roots == nil {
		return ask(seal("many")).
			Elicit("user_name", form("What is your name?", "name", "string")).
			Sample("greeting", question("Generate a greeting", 50)).
			Roots("client_roots").ToolResult(), nil
	}
	if _, err := unseal(r.Params.RequestState); err != nil {
		return nil, err
	}
	return say("%v %v %v", name["name"], greeting.Content, roots.Roots), nil
}

func twoRounds(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.RequestState == "" {
		return ask(seal("1")).Elicit("step1", form("Step 1: What is your name?", "name", "string")).ToolResult(), nil
	}
	round, err := unseal(r.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if round == "1" {
		return ask(seal("2")).Elicit("step2",
			form("Step 2: What is your favorite color?", "color", "string")).ToolResult(), nil
	}
	return say("Your color is %v", accepted(r.Params.MultiRoundTripParams, "step2")["color"]), nil
}

func confirm(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.RequestState == "" {
		return ask(seal("confirm")).Elicit("confirm", form("Please confirm", "ok", "boolean")).ToolResult(), nil
	}
	if _, err := unseal(r.Params.RequestState); err != nil {
		return nil, err
	}
	return say("state-ok"), nil
}

func capable(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	can := clientCapabilities(ctx)
	request := ask("")
	if can.Elicitation != nil {
		request.Elicit("user_name", form("What is your name?", "name", "string"))
	}
	if can.Sampling != nil {
		request.Sample("greeting", question("Generate a greeting", 50))
	}
	if can.Roots != nil {
		request.Roots("client_roots")
	}
	if can.Elicitation == nil && can.Sampling == nil && can.Roots == nil {
		return say("Nothing to ask"), nil
	}
	return request.ToolResult(), nil
}

func needsSampling(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if clientCapabilities(ctx).Sampling == nil {
		return nil, mcp.MissingRequiredClientCapabilityError{Capability: "sampling"}
	}
	return say("The client can sample"), nil
}

func clientCapabilities(ctx context.Context) mcp.ClientCapabilities {
	info := server.RequestProtocolInfoFromContext(ctx)
	if info == nil || info.ClientCapabilities == nil {
		return mcp.ClientCapabilities{}
	}
	return *info.ClientCapabilities
}

// stateKey signs the state that passes through the client. A key per process is enough for a fixture, because the
// suite talks to one instance.
var stateKey = []byte(rand.Text())

func seal(state string) string {
	mac := hmac.New(sha256.New, stateKey)
	mac.Write([]byte(state))
	return state + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func unseal(sealed string) (string, error) {
	state, _, _ := strings.Cut(sealed, ".")
	if !hmac.Equal([]byte(seal(state)), []byte(sealed)) {
		return "", errors.New("requestState must be one that this server issued")
	}
	return state, nil
}

func addFixtureResources(s *server.MCPServer) {
	add := func(uri, name, mimeType string, contents mcp.ResourceContents) {
		s.AddResource(mcp.NewResource(uri, name, mcp.WithResourceDescription(name), mcp.WithMIMEType(mimeType)),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{contents}, nil
			})
	}
	add("test://static-text", "A text that stays the same", "text/plain", mcp.TextResourceContents{
		URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."})
	add("test://static-binary", "An image that stays the same", "image/png", mcp.BlobResourceContents{
		URI: "test://static-binary", MIMEType: "image/png", Blob: pixel})

	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "A text for an id",
		mcp.WithTemplateDescription("A text for an id"), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return []mcp.ResourceContents{mcp.TextResourceContents{
				URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}, err
		})
}

func addFixturePrompts(s *server.MCPServer) {
	user := func(content mcp.Content) mcp.PromptMessage { return mcp.NewPromptMessage(mcp.RoleUser, content) }
	add := func(name string, messages func(map[string]string) []mcp.PromptMessage, args ...string) {
		options := []mcp.PromptOption{mcp.WithPromptDescription(name)}
		for _, arg := range args {
			options = append(options, mcp.WithArgument(arg, mcp.ArgumentDescription(arg), mcp.RequiredArgument()))
		}
		s.AddPrompt(mcp.NewPrompt(name, options...),
			func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return mcp.NewGetPromptResult(name, messages(r.Params.Arguments)), nil
			})
	}
	add("test_simple_prompt", func(map[string]string) []mcp.PromptMessage {
		return []mcp.PromptMessage{user(mcp.NewTextContent("This is a simple prompt for testing."))}
	})
	add("test_prompt_with_arguments", func(a map[string]string) []mcp.PromptMessage {
		return []mcp.PromptMessage{user(mcp.NewTextContent(
			fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])))}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(a map[string]string) []mcp.PromptMessage {
		return []mcp.PromptMessage{
			user(embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing.")),
			user(mcp.NewTextContent("Please process the embedded resource above.")),
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcp.PromptMessage {
		return []mcp.PromptMessage{user(mcp.NewImageContent(pixel, "image/png")),
			user(mcp.NewTextContent("Please analyze the image above."))}
	})
	s.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("Asks for its context")),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			given, ok := accepted(r.Params.MultiRoundTripParams, "user_context")["context"].(string)
			if !ok {
				return ask("").Elicit("user_context",
					form("What context should the prompt use?", "context", "string")).PromptResult(), nil
			}
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{user(mcp.NewTextContent(given))}), nil
		})
}
