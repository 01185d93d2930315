package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/keyring"
	"parley.internal/shared/client"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/me"
)

// keyOf returns the key of a connection, from its file or from the keyring.
func (w *world) keyOf(ctx context.Context, c connection.Connection) (string, error) {
	if c.Account == "" {
		return c.Key, nil
	}
	ring, err := keyring.Open(w.env)
	var key string
	if err == nil {
		key, err = ring.Find(ctx, c.Account)
	}
	if err != nil {
		return "", fmt.Errorf("the key of the connection %s is in the keyring (parley, %s), which cannot give it: %w; unlock it, or "+
			"connect again", c.ID, c.Account, err)
	}
	return key, nil
}

// connection returns a connection with its key.
func (w *world) connection(ctx context.Context, id string) (connection.Connection, error) {
	dir, err := connection.Dir(w.env)
	if err != nil {
		return connection.Connection{}, err
	}
	c, err := connection.Read(dir, id)
	if err == nil {
		c.Key, err = w.keyOf(ctx, c)
	}
	return c, err
}

// headers prints the headers of a connection as the JSON object that clients ask for.
func (j *connector) headers(ctx context.Context, id string) error {
	c, err := j.w.connection(ctx, id)
	if err != nil {
		return err
	}
	return json.NewEncoder(j.w.out).Encode(map[string]string{"Authorization": "Bearer " + c.Key})
}

// agent returns a client with the key of an agent.
func agent(base, key string) (*client.Client, error) {
	return client.New(base, key, client.WithRetry(client.NoRetry), client.WithUserAgent("parley/"+Version),
		client.WithTimeout(10*time.Second))
}

// kept returns the key of an earlier connection and the server's URL, if the server still takes the key.
func (j *connector) kept(ctx context.Context, old connection.Connection) (key, base string, ok bool) {
	if old.ID == "" || j.f.program != "" && !identity.Same(j.f.program, old.Program) {
		return "", "", false
	}
	key, err := j.w.keyOf(ctx, old)
	if err != nil || key == "" {
		return "", "", false
	}
	bases := []string{old.URL}
	if given, err := baseURL(j.given()); err == nil {
		bases = []string{given}
	} else if h, err := j.f.human(); err == nil && sameHost(h.Base(), old.URL) {
		bases = append(bases, h.Base()) // the server moved to another port
	}
	for _, base := range bases {
		c, err := agent(base, key)
		if err != nil {
			continue
		}
		if who, err := c.Whoami(ctx, me.Input{}); err == nil && identity.Same(who.Program, old.Program) {
			return key, base, true
		}
	}
	return "", "", false
}

// given returns the URL that the person named, empty for none.
func (j *connector) given() string { return j.cmd.Flags().Lookup("url").Value.String() }

// program returns the name for the agent of a client: the first of claude, claude-2, … that no key of the user has.
func (j *connector) program(ctx context.Context, h *human, c connect.Client, old connection.Connection) (string, error) {
	if name := cmp.Or(j.f.program, old.Program); name != "" {
		return name, nil
	}
	var all []keys.View
	in := keys.ListInput{Limit: 100}
	for {
		page, err := h.ListKeys(ctx, in)
		if err != nil {
			return "", h.explain(ctx, err)
		}
		all = append(all, page.Keys...)
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			break
		}
	}
	taken := func(name string) bool {
		for _, k := range all {
			if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || h.now().Before(k.ExpiresAt)) && identity.Same(k.Program, name) {
				return true
			}
		}
		return false
	}
	for n := 1; ; n++ {
		name := c.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%d", c.Name, n)
		}
		if !taken(name) {
			return name, nil
		}
	}
}

// givenKey returns the key of the variable that --key-env names if it is an agent's: then no key is made.
func (j *connector) givenKey(ctx context.Context, h *human) (out keys.CreateOutput, ok bool, err error) {
	who, err := h.Whoami(ctx, me.Input{})
	switch {
	case err != nil:
		return out, false, h.explain(ctx, err)
	case who.Kind != identity.Agent:
		return out, false, nil
	case who.Program == "":
		return out, false, fmt.Errorf("the key of %s is an agent's that is bound to no program; give one made with `parley key create "+
			"--program NAME`, or your own", h.from)
	case j.f.program != "" && !identity.Same(j.f.program, who.Program):
		return out, false, fmt.Errorf("the key of %s is that of the program %s; omit --program", h.from, who.Program)
	}
	return keys.CreateOutput{Key: h.key, View: keys.View{ID: who.KeyID, Kind: who.Kind, Program: who.Program,
		CreatedAt: h.now()}}, true, nil
}

// makeKey makes a key of the agent's own with that of the person, or asks for one where this machine has none, and returns
// it and the server's URL.
func (j *connector) makeKey(ctx context.Context, c connect.Client, old connection.Connection) (keys.CreateOutput, string, error) {
	h, err := j.f.human()
	if none := (*noKeyError)(nil); errors.As(err, &none) && j.given() != "" {
		var out keys.CreateOutput
		err := j.others(ctx, func() (err error) {
			out, err = j.pair(ctx, none.base, c, old)
			return err
		})
		return out, none.base, err
	}
	if err != nil {
		return keys.CreateOutput{}, "", err
	}
	if given, ok, err := j.givenKey(ctx, h); ok || err != nil {
		return given, h.Base(), err
	}
	program, err := j.program(ctx, h, c, old)
	if err != nil {
		return keys.CreateOutput{}, "", err
	}
	where := cmp.Or(j.placeOf(c).Main, "every directory")
	name := []rune(fmt.Sprintf("%s on %s in %s", c.Name, machineName(), where))
	if len(name) > 100 {
		name = append(name[:49], append([]rune("…"), name[len(name)-50:]...)...)
	}
	out, err := h.CreateKey(ctx, keys.CreateInput{Program: program, Name: string(name),
		Scopes: []string{identity.ScopeRead, identity.ScopeWrite}})
	if err != nil {
		return out, "", h.explain(ctx, err)
	}
	return out, h.Base(), nil
}

// machineName returns the name of this machine for people.
func machineName() string {
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "this machine"
}

// keep stores a key in the keyring, or else in the connection.
func (j *connector) keep(ctx context.Context, c *connection.Connection, key string) (where string, err error) {
	ring, err := keyring.Open(j.w.env)
	if err != nil {
		return "", err
	}
	account := "agent-" + c.ID
	if ring.Keep(ctx, account, key) == nil {
		c.Account, c.Key = account, ""
		return "in the keyring (parley, " + account + ")", nil
	}
	c.Account, c.Key = "", key
	return "in a file of mode 0600 below " + j.dir, nil
}

// humanAtURL returns the person's client of the server at a URL.
func (j *connector) humanAtURL(url string) (*human, error) {
	flag := j.cmd.Flags().Lookup("url").Value
	before := flag.String()
	if err := flag.Set(url); err != nil {
		return nil, err
	}
	h, err := j.f.human()
	return h, errors.Join(err, flag.Set(before))
}

// revoke revokes the key of a connection, by itself or else with that of the person, and removes it from the keyring. A key
// that the server does not know any more is revoked.
func (j *connector) revoke(ctx context.Context, c connection.Connection) error {
	err := j.giveBack(ctx, c)
	if err != nil {
		err = j.revokeAsPerson(ctx, c)
	}
	if err != nil {
		err = fmt.Errorf("the key %.12s is not revoked: %w; revoke it with `parley key revoke %s`, or in the console's settings",
			c.KeyID, err, c.KeyID)
	}
	return errors.Join(err, j.forget(ctx, c))
}

var errNoKey = errors.New("the connection's key is not here")

// giveBack revokes the key of a connection by itself: a machine that was paired has no other.
func (j *connector) giveBack(ctx context.Context, c connection.Connection) error {
	key, err := j.w.keyOf(ctx, c)
	if err != nil {
		return err
	}
	if key == "" {
		return errNoKey
	}
	h, err := agent(c.URL, key)
	if err != nil {
		return err
	}
	_, err = h.GiveBackKey(ctx, keys.GiveBackInput{Key: key})
	return err
}

// discard revokes a key that was just made and that no connection keeps. A key that the person gave stays.
func (j *connector) discard(ctx context.Context, c connection.Connection) error {
	if c.Given {
		return nil
	}
	return j.revoke(ctx, c)
}

func (j *connector) revokeAsPerson(ctx context.Context, c connection.Connection) error {
	h, err := j.humanAtURL(c.URL)
	if err != nil {
		return err
	}
	_, err = h.RevokeKey(ctx, keys.RevokeInput{KeyID: c.KeyID})
	var e *client.Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		return nil
	}
	return h.explain(ctx, err)
}

// forget removes the key of a connection from the keyring, if it is there.
func (j *connector) forget(ctx context.Context, c connection.Connection) error {
	if c.Account == "" {
		return nil
	}
	ring, err := keyring.Open(j.w.env)
	if err == nil {
		err = ring.Forget(ctx, c.Account)
	}
	if err != nil {
		return fmt.Errorf("the key is still in the keyring (parley, %s): %w; remove it there", c.Account, err)
	}
	return nil
}

// endpoint returns the URL of the MCP endpoint of a server with the toolsets of the flag, or else of the earlier
// connection.
func (j *connector) endpoint(base string, old connection.Connection) string {
	switch sets := j.f.toolsets; {
	case sets == "" && strings.HasPrefix(old.Endpoint, base+"/mcp"):
		return old.Endpoint
	case sets == "":
		return base + "/mcp/x/agent"
	case sets == "default":
		return base + "/mcp"
	case sets == "all", strings.Contains(sets, ","):
		return base + "/mcp?toolsets=" + sets
	default:
		return base + "/mcp/x/" + sets
	}
}

// serves asks an endpoint for its identity, and returns the status of the answer.
func serves(ctx context.Context, endpoint, key string) (int, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"parley-connect","version":"1"}}}`
	status, _, err := post(ctx, endpoint, key, hello)
	return status, err
}

// post sends a request of MCP, and returns the status and the body of the answer.
func post(ctx context.Context, endpoint, key, body string) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, errors.New(strings.ReplaceAll(err.Error(), key, "…"))
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, answer, errors.Join(err, res.Body.Close())
}
