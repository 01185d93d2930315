package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// resourcePage is the largest number of resources on a page of the list.
const resourcePage = 50

const resourceType = "application/json"

// resourceResult is the result of a request for resources. The front reads it before mcp-go handles the request,
// because a hook of mcp-go cannot fail, and every error of a handler has the same code.
type resourceResult struct {
	list *mcp.ListResourcesResult
	read []mcp.ResourceContents
}

// resources returns the kinds of resources of the selected toolsets.
func (s Selection) resources(c *op.Catalogue) []op.Resource {
	var out []op.Resource
	for _, r := range c.Resources {
		if slices.Contains(s.Sets, r.Toolset) {
			out = append(out, r)
		}
	}
	return out
}

// readResources returns the result of a request for resources, or nil if mcp-go should answer: for any other method,
// and for a URI of no kind.
func (e *Endpoint) readResources(
	ctx context.Context, kinds []op.Resource, m *message, c op.Call,
) (*resourceResult, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	switch m.method {
	case string(mcp.MethodResourcesList):
		list, err := e.listResources(ctx, kinds, c, m.text("cursor"))
		return &resourceResult{list: list}, err
	case string(mcp.MethodResourcesRead):
		uri := m.text("uri")
		for _, r := range kinds {
			id, ok := strings.CutPrefix(uri, r.Scheme)
			if !ok {
				continue
			}
			if !identity.ValidName(id) {
				return nil, fault.New(fault.NotFound, "there is no resource %.200q", uri)
			}
			text, err := e.Catalogue.ReadResource(ctx, &r, c, id)
			if err != nil {
				return nil, err
			}
			contents := mcp.TextResourceContents{URI: uri, MIMEType: resourceType, Text: string(text)}
			return &resourceResult{read: []mcp.ResourceContents{contents}}, nil
		}
	}
	return nil, nil
}

// position is the end of a page of resources: a kind, and the cursor of that kind's list, empty for its beginning.
type position struct {
	Kind   string `json:"k"`
	Cursor string `json:"c"`
}

// listResources returns a page of the resources that the caller may read. The list has one kind after the other; a
// page goes on with the next kind where one ends.
func (e *Endpoint) listResources(
	ctx context.Context, kinds []op.Resource, c op.Call, cursor string,
) (*mcp.ListResourcesResult, error) {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(r op.Resource) bool { return r.MayRead(c.Caller) != nil })
	at, from := position{}, 0
	if cursor != "" {
		text, err := base64.StdEncoding.DecodeString(cursor)
		if err != nil || json.Unmarshal(text, &at) != nil {
			return nil, errCursor
		}
		if from = slices.IndexFunc(kinds, func(r op.Resource) bool { return r.Name == at.Kind }); from < 0 {
			return nil, errCursor
		}
	}
	out := &mcp.ListResourcesResult{Resources: []mcp.Resource{}}
	for i, r := range kinds[from:] {
		page, err := e.Catalogue.ListResources(ctx, &r, c, at.Cursor, resourcePage-len(out.Resources))
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			out.Resources = append(out.Resources, mcp.Resource{
				URI: r.Scheme + item.ID, Name: item.ID, Title: item.Title, Description: r.Title, MIMEType: resourceType,
			})
		}
		at.Cursor = page.Next
		next := position{r.Name, page.Next}
		if page.Next == "" && len(out.Resources) >= resourcePage && from+i+1 < len(kinds) {
			next = position{kinds[from+i+1].Name, ""}
		}
		if next.Cursor != "" || next.Kind != r.Name {
			text, err := json.Marshal(next)
			if err != nil {
				return nil, err
			}
			out.NextCursor = mcp.Cursor(base64.StdEncoding.EncodeToString(text))
			break
		}
	}
	return out, nil
}

var errCursor = fault.Field("cursor", "must be the nextCursor of the previous page of this list")

// addResources makes a server return the resources that the front read, and the templates that the caller may read.
func addResources(m *server.MCPServer, hooks *server.Hooks, kinds []op.Resource) {
	hooks.AddAfterListResources(
		func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
			if c, ok := ctx.Value(callKey{}).(*call); ok && c.resources != nil && c.resources.list != nil {
				res.Resources, res.NextCursor = c.resources.list.Resources, c.resources.list.NextCursor
			}
		})
	hooks.AddAfterListResourceTemplates(
		func(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, res *mcp.ListResourceTemplatesResult) {
			c, ok := ctx.Value(callKey{}).(*call)
			res.ResourceTemplates = slices.DeleteFunc(res.ResourceTemplates, func(t mcp.ResourceTemplate) bool {
				i := slices.IndexFunc(kinds, func(r op.Resource) bool { return r.Name == t.Name })
				return i >= 0 && (!ok || kinds[i].MayRead(c.caller) != nil)
			})
		})
	for _, r := range kinds {
		template := mcp.NewResourceTemplate(r.Scheme+"{id}", r.Name,
			mcp.WithTemplateDescription(r.Doc), mcp.WithTemplateMIMEType(resourceType))
		m.AddResourceTemplate(template,
			func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				c, ok := ctx.Value(callKey{}).(*call)
				if !ok || c.resources == nil || c.resources.read == nil {
					return nil, fmt.Errorf("the front did not read the resource %s", req.Params.URI)
				}
				return c.resources.read, nil
			})
	}
}

// resourceError returns a fault as an error of JSON-RPC, with the code that it has in the era of the request.
func resourceError(r *http.Request, err error) *rpcError {
	f := rest.ErrorOf(err)
	e := &rpcError{mcp.INTERNAL_ERROR, f.Code + ": " + f.Message}
	switch fault.Of(err) {
	case fault.NotFound:
		if e.Code = mcp.RESOURCE_NOT_FOUND; mcp.IsModernProtocol(r.Header.Get(server.HeaderKeyProtocolVersion)) {
			e.Code = mcp.INVALID_PARAMS
		}
	case fault.Invalid, fault.Forbidden:
		e.Code = mcp.INVALID_PARAMS
	}
	return e
}
