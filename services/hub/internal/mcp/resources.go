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

// resourcePage is how many resources a list has at most.
const resourcePage = 50

const resourceType = "application/json"

// seen is what the front read for a caller, before mcp-go sees the request: a hook may
// not fail, and a handler's error has one code alone.
type seen struct {
	list *mcp.ListResourcesResult
	read []mcp.ResourceContents
}

// resources are the kinds that the selection serves.
func (s Selection) resources(c *op.Catalogue) []op.Resource {
	var out []op.Resource
	for _, r := range c.Resources {
		if slices.Contains(s.Sets, r.Toolset) {
			out = append(out, r)
		}
	}
	return out
}

// see reads what a resources request asks for. A request of another method, and one for
// what no kind has, is mcp-go's to answer.
func (e *Endpoint) see(ctx context.Context, kinds []op.Resource, m *message, c op.Call) (*seen, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	switch m.method {
	case string(mcp.MethodResourcesList):
		list, err := e.listResources(ctx, kinds, c, m.text("cursor"))
		return &seen{list: list}, err
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
			return &seen{read: []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: resourceType, Text: string(text)}}}, nil
		}
	}
	return nil, nil
}

// place is where a page of resources ended: in which kind, and where in that.
type place struct {
	Kind   string `json:"k"`
	Cursor string `json:"c"`
}

// listResources is a page over all kinds that the caller may see, one kind after the
// other; what one kind cannot fill the next one does.
func (e *Endpoint) listResources(ctx context.Context, kinds []op.Resource, c op.Call, cursor string) (*mcp.ListResourcesResult, error) {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(r op.Resource) bool { return r.MayRead(c.Caller) != nil })
	at, from := place{}, 0
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
			out.Resources = append(out.Resources, mcp.Resource{URI: r.Scheme + item.ID, Name: item.ID, Title: item.Title, Description: r.Title, MIMEType: resourceType})
		}
		at.Cursor = page.Next
		next := place{r.Name, page.Next}
		if page.Next == "" && len(out.Resources) >= resourcePage && from+i+1 < len(kinds) {
			next = place{kinds[from+i+1].Name, ""}
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

var errCursor = fault.Field("cursor", "is none of this list's; use the one that came with the page before")

// offerResources has mcp-go serve what the front has read.
func offerResources(m *server.MCPServer, hooks *server.Hooks, kinds []op.Resource) {
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
		if c, ok := ctx.Value(callKey{}).(*call); ok && c.seen != nil && c.seen.list != nil {
			res.Resources, res.NextCursor = c.seen.list.Resources, c.seen.list.NextCursor
		}
	})
	hooks.AddAfterListResourceTemplates(func(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, res *mcp.ListResourceTemplatesResult) {
		c, ok := ctx.Value(callKey{}).(*call)
		res.ResourceTemplates = slices.DeleteFunc(res.ResourceTemplates, func(t mcp.ResourceTemplate) bool {
			i := slices.IndexFunc(kinds, func(r op.Resource) bool { return r.Name == t.Name })
			return i >= 0 && (!ok || kinds[i].MayRead(c.caller) != nil)
		})
	})
	for _, r := range kinds {
		template := mcp.NewResourceTemplate(r.Scheme+"{id}", r.Name, mcp.WithTemplateDescription(r.Doc), mcp.WithTemplateMIMEType(resourceType))
		m.AddResourceTemplate(template, func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			c, ok := ctx.Value(callKey{}).(*call)
			if !ok || c.seen == nil || c.seen.read == nil {
				return nil, fmt.Errorf("%s was not read", req.Params.URI)
			}
			return c.seen.read, nil
		})
	}
}

// resourceError is a fault as the protocol's error, with the HTTP status that it has in
// the caller's era.
func resourceError(r *http.Request, err error) (status int, e *rpcError) {
	modern := mcp.IsModernProtocol(r.Header.Get(server.HeaderKeyProtocolVersion))
	f := rest.ErrorOf(err)
	e = &rpcError{mcp.INTERNAL_ERROR, f.Code + ": " + f.Message}
	switch fault.Of(err) {
	case fault.NotFound:
		if e.Code = mcp.RESOURCE_NOT_FOUND; modern {
			e.Code = mcp.INVALID_PARAMS
		}
	case fault.Invalid, fault.Forbidden:
		e.Code = mcp.INVALID_PARAMS
	}
	if modern && e.Code == mcp.INVALID_PARAMS {
		return http.StatusBadRequest, e
	}
	return http.StatusOK, e
}
