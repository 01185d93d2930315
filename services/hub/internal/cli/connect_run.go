package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/printable"
)

// connect connects one client.
func (j *connector) connect(ctx context.Context, c connect.Client, r *connectReport) error {
	place := j.placeOf(c)
	r.Connection, r.Project = j.id(c), place.Main
	setup, err := j.setup(ctx, c, place)
	if err != nil {
		return err
	}
	if j.f.dryRun {
		old, err := j.old(c)
		if err != nil {
			return err
		}
		return j.preview(ctx, c, place, setup, old, r)
	}
	var key string
	err = j.alone(ctx, func() error {
		key, err = j.join(ctx, c, place, &setup, r)
		return err
	})
	if err != nil {
		return err
	}
	j.verify(ctx, c, place, key, setup, r)
	return nil
}

// old returns the earlier connection of a client, empty for none.
func (j *connector) old(c connect.Client) (connection.Connection, error) {
	old, err := connection.Read(j.dir, j.id(c))
	if errors.Is(err, connection.ErrNone) {
		err = nil
	}
	return old, err
}

// join makes the connection of a client, with a key and the client's files, completes the setup and returns the key.
func (j *connector) join(ctx context.Context, c connect.Client, place connect.Place, setup *connect.Setup,
	r *connectReport) (string, error) {
	old, err := j.old(c)
	if err != nil {
		return "", err
	}
	if _, err := j.rehearse(ctx, c, place, *setup, old, old.URL, ""); err != nil {
		return "", err // before there is a key
	}
	now, key, err := j.secure(ctx, c, &old, r)
	if err != nil {
		return "", err
	}
	setup.Endpoint, setup.Key = now.Endpoint, key
	j.choices(&now, old, setup.Hook)
	j.chosen(setup, now)
	if _, err := now.Write(j.dir); err != nil {
		return "", fmt.Errorf("the connection cannot be stored: %w", err)
	}
	if old.KeyID != "" && old.KeyID != now.KeyID && !old.Given {
		if err := j.revoke(ctx, withoutAccount(old, now)); err != nil {
			r.todo("key", "the earlier one: "+printable.Line(err.Error()))
		}
	}
	if err := j.apply(ctx, c, place, *setup, r); err != nil {
		return "", err
	}
	if (setup.Plugin != "" || old.Plugin) && len(r.Files) > 0 {
		r.todo("plugin", "sessions of "+c.Title+" that run already have the hooks of before: type /reload-plugins in them")
	}
	if j.f.rules && c.UserOnly {
		r.todo("rules", "add those of docs/agents.md by hand, or with another client in the repository")
	}
	r.Program, r.Endpoint = now.Program, now.Endpoint
	return key, nil
}

// withoutAccount returns a connection whose key in the keyring is not forgotten, because the new one has its place.
func withoutAccount(old, now connection.Connection) connection.Connection {
	if old.Account == now.Account {
		old.Account = ""
	}
	return old
}

// setup returns the part of the settings that does not depend on the server.
func (j *connector) setup(ctx context.Context, c connect.Client, p connect.Place) (connect.Setup, error) {
	parley, hook, err := j.programs()
	if err != nil {
		return connect.Setup{}, err
	}
	s := connect.Setup{ID: j.id(c), Parley: parley, Hook: hook, Rules: j.f.rules && !c.UserOnly}
	if j.f.noHooks || !c.Hooks {
		s.Hook = ""
	}
	if c.Name == "codex" {
		// A file that git would commit gets no key.
		if s.Bridge, err = connect.Exposed(ctx, p, connect.CodexConfig(p)); err != nil {
			return s, err
		}
		s.Bridge = s.Bridge || connect.TakenIn(ctx, connect.CodexConfig(p))
	}
	return s, nil
}

// preview shows the changes. It makes no key and calls no server.
func (j *connector) preview(ctx context.Context, c connect.Client, p connect.Place, s connect.Setup, old connection.Connection,
	r *connectReport) error {
	base := old.URL
	if given, err := baseURL(j.given()); err == nil {
		base = given
	} else if h, err := j.f.human(); err == nil && base == "" {
		base = h.Base()
	} else if base == "" {
		return err
	}
	key, err := j.w.keyOf(ctx, old)
	if err != nil {
		return err
	}
	plan, err := j.rehearse(ctx, c, p, s, old, base, key)
	if err != nil {
		return err
	}
	r.changed(plan)
	r.loose(c, plan)
	r.left(plan)
	r.Diff = plan.Diff(key)
	for _, link := range plan.Links() {
		r.done("link", link)
	}
	if !plan.Changes() {
		r.done("files", "nothing would change")
	}
	return nil
}

// rehearse returns the changes for a server and a key, which may be unknown yet. It changes nothing and calls no server, so it
// tells before a key is made whether all files can be edited.
func (j *connector) rehearse(ctx context.Context, c connect.Client, p connect.Place, s connect.Setup, old connection.Connection,
	base, key string) (*connect.Plan, error) {
	now := old
	j.choices(&now, old, s.Hook)
	s.Endpoint, s.Key = j.endpoint(base, old), cmp.Or(key, "KEY")
	j.chosen(&s, now)
	if c.Name == "codex" && s.Hook != "" && c.Installed() && !j.f.dryRun {
		trusting := s
		trusting.Trust = connect.TrialTrust
		if _, err := connect.NewPlan(ctx, j.home, c, p, trusting); err != nil {
			return nil, err
		}
	}
	return connect.NewPlan(ctx, j.home, c, p, s)
}

// secure returns the connection with a valid key, which it makes and stores if there is none. While it pairs, others may
// change the earlier connection, which is then read again.
func (j *connector) secure(ctx context.Context, c connect.Client, old *connection.Connection, r *connectReport) (
	now connection.Connection, key string, err error) {
	now = *old
	if kept, base, ok := j.kept(ctx, *old); ok {
		key, now.URL = kept, base
		r.done("server", base)
		r.done("key", "that of the program "+now.Program+", as before")
	} else {
		made, base, err := j.makeKey(ctx, c, *old)
		if err == nil {
			// Another run may have connected the client while this one was paired.
			*old, err = j.old(c)
		}
		if err != nil && made.Key != "" {
			err = errors.Join(err, j.discard(context.WithoutCancel(ctx), connection.Connection{ID: j.id(c), URL: base, Key: made.Key,
				KeyID: made.ID, Given: made.Name == ""}))
		}
		if err != nil {
			return now, "", err
		}
		r.done("server", base)
		now = connection.Connection{ID: j.id(c), Client: c.Name, Program: made.Program, URL: base, Project: j.placeOf(c).Main,
			KeyID: made.ID, Given: made.Name == "", ConnectedAt: made.CreatedAt, Permissions: old.Permissions, Wake: old.Wake,
			Plugin: old.Plugin}
		key = made.Key
		where, err := j.keep(ctx, &now, key)
		if err == nil {
			// From here on the key is not lost: the next run finds it.
			_, err = now.Write(j.dir)
		}
		if err != nil {
			return now, "", fmt.Errorf("the connection cannot be stored: %w", errors.Join(err, j.discard(ctx, now)))
		}
		verb := "made for"
		if now.Given {
			verb = "the given one of"
		}
		r.done("key", verb+" the program "+now.Program+", "+where)
	}
	now.Endpoint = j.endpoint(now.URL, *old)
	status, err := serves(ctx, now.Endpoint, key)
	if err == nil && status == http.StatusNotFound && j.f.toolsets == "" {
		now.Endpoint = now.URL + "/mcp" // a server without the toolset agent
		status, err = serves(ctx, now.Endpoint, key)
	}
	switch {
	case err != nil:
		return now, "", fmt.Errorf("%s does not answer: %w", now.Endpoint, err)
	case status != http.StatusOK:
		return now, "", fmt.Errorf("%s answers with the status %d; is it the URL of Parley, and are the toolsets right?", now.Endpoint,
			status)
	}
	r.done("mcp", now.Endpoint)
	return now, key, nil
}

// choices applies the flags, and leaves the rest as it was.
func (j *connector) choices(now *connection.Connection, old connection.Connection, hook string) {
	flags := j.cmd.Flags()
	now.Hook, now.Plugin, now.Permissions, now.Wake = hook, old.Plugin, old.Permissions, old.Wake
	if flags.Changed("plugin") {
		now.Plugin = j.f.plugin
	}
	if flags.Changed("permissions") {
		now.Permissions.On = j.f.permissions
	}
	if flags.Changed("permission-timeout") {
		now.Permissions.Timeout = j.f.timeout
	}
	if flags.Changed("permission-assurance") {
		now.Permissions.Assurance = j.f.assurance
	}
	if flags.Changed("allow") {
		now.Permissions.Allow = j.f.allow
	}
	if flags.Changed("deny") {
		now.Permissions.Deny = j.f.deny
	}
	if flags.Changed("continue") {
		now.Wake.Continue = j.f.goOn
	}
	if flags.Changed("wake-on") {
		now.Wake.On = j.f.wakeOn
	}
}

// chosen applies the choices of a connection to its settings.
func (j *connector) chosen(s *connect.Setup, c connection.Connection) {
	s.Permissions, s.PermissionSeconds = c.Permissions.On, cmp.Or(c.Permissions.Timeout, 300)+5
	if s.Plugin = ""; c.Plugin && s.Hook != "" {
		s.Plugin, s.Version = j.plugin(s.ID), version()
	}
}

// plugin returns the directory of the plugin of a connection.
func (j *connector) plugin(id string) string { return filepath.Join(j.home, "plugins", id) }

// apply writes the client's files.
func (j *connector) apply(ctx context.Context, c connect.Client, p connect.Place, s connect.Setup, r *connectReport) error {
	plan, err := connect.NewPlan(ctx, j.home, c, p, s)
	if err != nil {
		return err
	}
	if err := plan.Apply(ctx); err != nil {
		return err
	}
	r.changed(plan)
	r.loose(c, plan)
	r.left(plan)
	if c.Name == "codex" && s.Hook != "" {
		if err := j.trust(ctx, c, p, s, r); err != nil {
			return err
		}
	}
	if len(r.Files) == 0 {
		r.done("files", "up to date")
	}
	for _, f := range r.Files {
		r.done("files", f.Change+" "+f.Path)
	}
	switch {
	case s.Plugin != "":
		r.done("hooks", "by "+s.Hook+", as a plugin in "+s.Plugin)
	case s.Hook != "":
		r.done("hooks", "by "+s.Hook)
	case c.Hooks && !j.f.noHooks:
		r.todo("hooks", "parley-hook is not beside parley, so there are no hooks; install it there, and run this again")
	}
	if s.Hook != "" && s.Permissions && c.Name == "claude" {
		r.todo("asks", "Claude Code's auto mode, its default in a terminal, decides by itself and asks nobody; start it with "+
			"`claude --permission-mode default`, or set permissions.defaultMode to \"default\" in its settings")
	}
	if other := connection.ID(c.Name, ""); s.Hook != "" && !p.User() {
		if o, err := connection.Read(j.dir, other); err == nil && o.Hook != "" {
			r.todo("scope", c.Title+" is connected for every directory too, so two hooks run here; take one back, that one with "+
				"`parley connect "+c.Name+" --user --remove`")
		}
	}
	if c.UserOnly && !j.place.User() {
		r.done("scope", c.Title+" has the same servers in every directory, so this holds for your account")
	}
	return nil
}

// trust makes Codex run the hooks: it lists them with their hashes, which go into the user's settings.
func (j *connector) trust(ctx context.Context, c connect.Client, p connect.Place, s connect.Setup, r *connectReport) error {
	const say = "Codex runs hooks only when a person has trusted them: "
	if !c.Installed() {
		r.todo("trust", say+"when it is installed, run this again, or trust them where it asks")
		return nil
	}
	for range 3 { // trust in the repository, then in its hooks, then nothing more
		t, err := connect.CodexTrust(ctx, j.home, p, s.ID, j.f.trust)
		if err != nil {
			r.todo("trust", say+printable.Line(err.Error())+"; trust them where it asks (/hooks)")
			return nil
		}
		if t.Listed == 0 && t.Lines == "" {
			r.todo("trust", say+"it does not trust this repository yet, and ignores its settings; start `codex` here and trust it, "+
				"and run this again, or run it with --trust")
			return nil
		}
		s.Trust = t.Lines
		plan, err := connect.NewPlan(ctx, j.home, c, p, s)
		if err == nil && !plan.Changes() {
			break
		}
		if err == nil {
			err = plan.Apply(ctx)
		}
		if err != nil {
			r.todo("trust", say+strings.TrimSuffix(printable.Line(err.Error()), "; nothing was changed")+"; trust them where it asks "+
				"(/hooks)")
			return nil
		}
		r.changed(plan)
	}
	r.done("trust", "the hashes of the hooks are in the user's settings of Codex")
	return nil
}

// remove takes a connection back.
func (j *connector) remove(ctx context.Context, c connect.Client, r *connectReport) error {
	if j.f.dryRun {
		return j.leave(ctx, c, r)
	}
	return j.alone(ctx, func() error { return j.leave(ctx, c, r) })
}

func (j *connector) leave(ctx context.Context, c connect.Client, r *connectReport) error {
	r.Connection, r.Project = j.id(c), j.placeOf(c).Main
	old, err := j.old(c)
	if err != nil {
		return err
	}
	plan, err := connect.NewRemoval(j.home, j.id(c))
	if err != nil {
		return err
	}
	if len(plan.Edits) == 0 && reflect.ValueOf(old).IsZero() {
		r.done("files", "nothing is connected here")
		return nil
	}
	r.changed(plan)
	r.left(plan)
	if j.f.dryRun {
		r.Diff = plan.Diff(old.Key)
		return nil
	}
	if err := plan.Apply(ctx); err != nil {
		return err
	}
	for _, f := range r.Files {
		r.done("files", f.Change+" "+f.Path)
	}
	if old.Given {
		if err := j.forget(ctx, old); err != nil {
			r.fail("key", printable.Line(err.Error()))
		}
		r.todo("key", "connecting did not make it, so it stays valid; revoke it with `parley key revoke "+old.KeyID+"`")
	} else if old.KeyID != "" {
		if err := j.revoke(ctx, old); err != nil {
			r.fail("key", printable.Line(err.Error()))
		} else {
			r.done("key", "that of the program "+old.Program+" is revoked")
		}
	}
	return connection.Remove(j.dir, j.id(c))
}
