package cli

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/session"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/keys"
)

// connected is a connection in the list, without its key.
type connected struct {
	Connection string `json:"connection"`
	Client     string `json:"client"`
	// Version is the version that the installed client prints.
	Version  string `json:"version,omitempty"`
	Program  string `json:"program"`
	Project  string `json:"project,omitempty"`
	Endpoint string `json:"endpoint"`
	Hooks    bool   `json:"hooks"`
	// Plugin is set where the hooks are a plugin of the client.
	Plugin bool `json:"plugin,omitempty"`
	// Missing says how to mend a plugin whose files are missing.
	Missing     string `json:"missing,omitempty"`
	Permissions bool   `json:"permissions"`
	Key         string `json:"key"`
	// LastUsedAt is the time of the last call that the server recorded, which it does every ten minutes, or of the last hook of
	// a session that has not ended, where that is later.
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
}

// list prints the connections of the account.
func (j *connector) list(ctx context.Context) error {
	all, wrong := connection.List(j.dir)
	if wrong != nil {
		fmt.Fprintln(j.w.err, "parley:", wrong)
	}
	versions, states, hooked := map[string]string{}, j.states(ctx), j.hooked()
	rows := []connected{}
	for _, c := range all {
		if _, known := versions[c.Client]; !known {
			versions[c.Client] = clientVersion(ctx, c.Client)
		}
		row := connected{c.ID, c.Client, versions[c.Client], c.Program, c.Project, c.Endpoint, c.Hook != "", c.Hook != "" && c.Plugin,
			j.missing(c), c.Permissions.On,
			"unknown", time.Time{}}
		if k, ok := states[c.KeyID]; ok {
			row.Key, row.LastUsedAt = state(k, time.Now()), k.LastUsedAt
		}
		if at := hooked[c.ID]; at.After(row.LastUsedAt) {
			row.LastUsedAt = at
		}
		rows = append(rows, row)
	}
	if *j.f.json {
		return j.w.document(map[string]any{"connections": rows})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(j.w.out, "Nothing is connected; `parley connect CLIENT` connects one.")
		return err
	}
	t := tabwriter.NewWriter(j.w.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "CLIENT\tVERSION\tPROGRAM\tWHERE\tSERVER\tHOOKS\tKEY\tLAST CONTACT")
	for _, c := range rows {
		last, hooks := "-", "no"
		if !c.LastUsedAt.IsZero() {
			last = until(c.LastUsedAt)
		}
		switch {
		case c.Missing != "":
			hooks = "missing"
		case c.Plugin:
			hooks = "plugin"
		case c.Hooks:
			hooks = "yes"
		}
		cells := []string{c.Client, dash(c.Version), c.Program, cmp.Or(c.Project, "everywhere"), c.Endpoint, hooks, c.Key, last}
		for i := range cells {
			cells[i] = printable.Line(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range rows {
		if c.Missing != "" {
			if _, err := fmt.Fprintln(j.w.out, printable.Line(c.Missing)); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns how to mend a connection whose plugin is missing, empty where it is not.
func (j *connector) missing(c connection.Connection) string {
	dir := j.plugin(c.ID)
	if c.Hook == "" || !c.Plugin || connect.PluginWhole(dir) {
		return ""
	}
	where := "--user"
	if c.Project != "" {
		where = "--repo '" + strings.ReplaceAll(c.Project, "'", `'\''`) + "'"
	}
	return fmt.Sprintf("The plugin of %s is missing: not all of its files are in %s, so it has no hooks. Write them again with `parley "+
		"connect %s %s`.", c.Program, dir, c.Client, where)
}

// hooked returns the times of the last hooks of sessions that have not ended, to the minute, by their connections.
func (j *connector) hooked() map[string]time.Time {
	out := map[string]time.Time{}
	place, err := local.Find(j.w.env)
	if err != nil {
		return out
	}
	for _, id := range place.All() {
		var s session.State
		if place.Load(id, &s) && s.Seen.After(out[s.Connection]) {
			out[s.Connection] = s.Seen
		}
	}
	return out
}

// states returns the person's keys by id, none where the server does not answer.
func (j *connector) states(ctx context.Context) map[string]keys.View {
	out := map[string]keys.View{}
	h, err := j.f.human()
	if err != nil {
		return out
	}
	in := keys.ListInput{Limit: 100}
	for {
		page, err := h.ListKeys(ctx, in)
		if err != nil {
			return out
		}
		for _, k := range page.Keys {
			out[k.ID] = k
		}
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			return out
		}
	}
}

// clientVersion returns the version that an installed client prints, or nothing.
func clientVersion(ctx context.Context, name string) string {
	c, err := connect.Find(name)
	if err != nil || !c.Installed() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		return ""
	}
	return line
}
