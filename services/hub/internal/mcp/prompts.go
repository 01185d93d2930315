package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"parley.internal/shared/op"
)

// quoteLen is the length of the longest argument that a prompt repeats in full, in characters.
const quoteLen = 8_000

// quote returns an argument as a quoted string on one line, so that a model cannot take it for a part of the prompt.
func quote(s string) string {
	runes := []rune(s)
	return fmt.Sprintf("%q", string(runes[:min(len(runes), quoteLen)]))
}

// prompts returns the prompts of the selected toolsets.
func (s Selection) prompts(c *op.Catalogue) []op.Prompt {
	return slices.DeleteFunc(slices.Clone(c.Prompts), func(p op.Prompt) bool {
		return !slices.Contains(s.Sets, p.Toolset)
	})
}

// addPrompts adds prompts to a server. The text of a prompt must be a valid template.
func addPrompts(m *server.MCPServer, prompts []op.Prompt) {
	for _, p := range prompts {
		text := template.Must(template.New(p.Name).Funcs(template.FuncMap{"quote": quote}).Parse(p.Text))
		offered := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Doc}
		for _, a := range p.Arguments {
			offered.Arguments = append(offered.Arguments,
				mcp.PromptArgument{Name: a.Name, Description: a.Doc, Required: a.Required})
		}
		m.AddPrompt(offered, func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return fillPrompt(p, text, req.Params.Arguments)
		})
	}
}

// hidePrompts returns a filter that drops the prompts of toolsets that the caller's key may not use.
func hidePrompts(prompts []op.Prompt) server.PromptFilterFunc {
	return func(ctx context.Context, all []mcp.Prompt) []mcp.Prompt {
		c, ok := ctx.Value(callKey{}).(*call)
		return slices.DeleteFunc(all, func(offered mcp.Prompt) bool {
			i := slices.IndexFunc(prompts, func(p op.Prompt) bool { return p.Name == offered.Name })
			return i >= 0 && (!ok || !c.caller.InToolset(prompts[i].Toolset))
		})
	}
}

// fillPrompt returns the message of a prompt, with the arguments filled in. A required argument must not be blank.
func fillPrompt(p op.Prompt, text *template.Template, args map[string]string) (*mcp.GetPromptResult, error) {
	for _, a := range p.Arguments {
		if a.Required && strings.TrimSpace(args[a.Name]) == "" {
			return nil, fmt.Errorf("the argument %s is required: %s", a.Name, a.Doc)
		}
	}
	var b strings.Builder
	if err := text.Execute(&b, args); err != nil {
		return nil, err
	}
	message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(b.String()))
	return mcp.NewGetPromptResult(p.Doc, []mcp.PromptMessage{message}), nil
}
