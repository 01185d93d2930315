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

// quoteLen is how much of an argument a prompt repeats, in characters.
const quoteLen = 8_000

// quote marks an argument as another's words, which cannot pass for the prompt's own.
func quote(s string) string {
	runes := []rune(s)
	return fmt.Sprintf("%q", string(runes[:min(len(runes), quoteLen)]))
}

// prompts are those whose tools the selection serves.
func (s Selection) prompts(c *op.Catalogue) []op.Prompt {
	return slices.DeleteFunc(slices.Clone(c.Prompts), func(p op.Prompt) bool { return !slices.Contains(s.Sets, p.Toolset) })
}

// offerPrompts offers prompts to MCP clients.
func offerPrompts(m *server.MCPServer, prompts []op.Prompt) {
	for _, p := range prompts {
		text := template.Must(template.New(p.Name).Funcs(template.FuncMap{"quote": quote}).Parse(p.Text))
		offered := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Doc}
		for _, a := range p.Arguments {
			offered.Arguments = append(offered.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.Doc, Required: a.Required})
		}
		m.AddPrompt(offered, func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return fillPrompt(p, text, req.Params.Arguments)
		})
	}
}

// hidePrompts leaves out the prompts whose tools the caller's key does not reach.
func hidePrompts(prompts []op.Prompt) server.PromptFilterFunc {
	return func(ctx context.Context, all []mcp.Prompt) []mcp.Prompt {
		c, ok := ctx.Value(callKey{}).(*call)
		return slices.DeleteFunc(all, func(offered mcp.Prompt) bool {
			i := slices.IndexFunc(prompts, func(p op.Prompt) bool { return p.Name == offered.Name })
			return i >= 0 && (!ok || !c.caller.InToolset(prompts[i].Toolset))
		})
	}
}

// fillPrompt is a prompt's text for the arguments.
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
