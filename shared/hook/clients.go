package hook

import (
	"context"
	"time"

	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// ClientsInput is the input of list_clients.
type ClientsInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=50"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// ClientsOutput is the output of list_clients.
type ClientsOutput struct {
	Clients    []Client `json:"clients"`
	NextCursor string   `json:"nextCursor,omitempty"`
}

// Client is the client of a session, as its hooks describe it.
type Client struct {
	SessionID string `json:"sessionId"`
	Program   string `json:"program"`
	Client    string `json:"client"`
	Version   string `json:"version,omitempty"`
	Host      string `json:"host,omitempty"`
	Directory string `json:"directory,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Worktree  string `json:"worktree,omitempty"`
	Project   string `json:"project,omitempty"`
	Model     string `json:"model,omitempty"`
	Headless  bool   `json:"headless" jsonschema:"no person is at its terminal"`
	// Permissions are missing where the client has not told any.
	Permissions *wire.Permissions `json:"permissions,omitempty" jsonschema:"by whom and by which rules its permission requests are answered"`
	SeenAt      time.Time         `json:"seenAt" jsonschema:"when its hooks last told something new"`
}

// Clients returns the clients of a user's sessions, the one that was seen last first, also of those that have ended.
func (s *Service) Clients(ctx context.Context, c identity.Caller, in ClientsInput) (ClientsOutput, error) {
	out := ClientsOutput{Clients: []Client{}}
	page, err := links.Query(ctx, s.DB.User(c.User),
		store.Query{Order: []string{"seenAt desc"}, Limit: in.Limit, Cursor: in.Cursor})
	for _, d := range page.Docs {
		l := d.Value
		out.Clients = append(out.Clients, Client{SessionID: l.Address, Program: l.Program, Client: l.Client, Version: l.ClientVersion,
			Host: l.Host, Directory: l.Directory, Branch: l.Branch, Worktree: l.Worktree, Project: l.Project, Model: l.Model,
			Headless: l.Headless, Permissions: l.Permissions, SeenAt: l.SeenAt})
	}
	out.NextCursor = page.Next
	return out, err
}
