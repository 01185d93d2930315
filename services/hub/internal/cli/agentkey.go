package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/worker"
	"parley.internal/shared/client"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/me"
)

const (
	// agentKeyLife is the time after which a key of an agent or a task expires if nobody revokes it.
	agentKeyLife = 30 * 24 * time.Hour
	// leaveTime is the time for which an agent that ends tries to revoke its key.
	leaveTime = 10 * time.Second
)

// agentToolsets are the toolsets that a key made for an agent reaches, as far as its maker's key reaches them: the
// toolsets for work with others, without keys, teams and pauses.
var agentToolsets = []string{"dispatch", "relay", "pulse", "signal", "dream", "sprint", "council", "campfire", "elenchus",
	"files", "me"}

// entered are the clients with which an agent's worker calls the server.
type entered struct {
	// calls uses key, the key of the program.
	calls *client.Client
	key   string
	// keys makes keys for tasks, as grant says; nil where the agent's key may not.
	keys  worker.Keys
	grant keys.CreateInput
	// leave revokes the key, if it was made.
	leave func() error
}

// enter checks that a key may serve the program. With a person's key it makes one for the program, whose id it keeps, so
// that a successor of an agent that was killed revokes it.
func (f *agentFlags) enter(ctx context.Context, owner *human, kept *journal.Journal) (*entered, error) {
	calls := owner.With(client.WithUserAgent("parley-agent/"+Version), client.WithRetry(client.Retry{}))
	who, err := calls.Whoami(ctx, me.Input{})
	if err != nil {
		return nil, fmt.Errorf("the server does not accept the key of %s: %w", owner.from, err)
	}
	out := &entered{calls: calls, key: owner.key, grant: agentGrant(who), leave: func() error { return nil }}
	switch {
	case who.Kind == identity.Human:
		out.keys = calls
		return out, out.makeKey(ctx, f.program, kept)
	case !identity.Same(who.Program, f.program):
		return nil, fmt.Errorf("the key of %s speaks for %q, not for %q; unset that variable to use your own key, or make one "+
			"with: parley key create --user YOU --program %s", owner.from, who.Actor, f.program, f.program)
	case slices.Contains(who.Scopes, identity.ScopeAdmin):
		out.keys = calls
	}
	return out, nil
}

// agentGrant returns the scopes and the expiry of the keys that a key makes for agents.
func agentGrant(who me.Output) keys.CreateInput {
	var grant keys.CreateInput
	if who.ExpiresAt.IsZero() {
		grant.Expires = int64(agentKeyLife.Seconds())
	}
	if len(who.Scopes) > 0 {
		return grant // the maker's, but admin
	}
	grant.Scopes = []string{identity.ScopeRead, identity.ScopeWrite}
	for _, set := range agentToolsets {
		if slices.Contains(who.Toolsets, set) {
			grant.Scopes = append(grant.Scopes, set)
		}
	}
	return grant
}

// makeKey makes the program's key with the person's, and revokes the one of a former agent.
func (e *entered) makeKey(ctx context.Context, program string, kept *journal.Journal) error {
	owner, file := e.calls, kept.File("key.json")
	revoke := func(ctx context.Context) error {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		var id string
		if err == nil {
			err = json.Unmarshal(text, &id)
		}
		if err == nil {
			_, err = owner.RevokeKey(ctx, keys.RevokeInput{KeyID: id})
		}
		if err != nil && !hub.Gone(err) && !hub.Refused(err) {
			return fmt.Errorf("the agent's key of %s cannot be revoked: %w", file, err)
		}
		return os.Remove(file)
	}
	if err := revoke(ctx); err != nil {
		return err
	}
	in := e.grant
	in.Name, in.Program = "agent "+program, program
	made, err := owner.CreateKey(ctx, in)
	if err != nil {
		return fmt.Errorf("no key for %s could be made: %w", program, err)
	}
	text, err := json.Marshal(made.ID)
	if err == nil {
		err = journal.Write(file, text)
	}
	e.calls, e.key = owner.With(client.WithKey(made.Key)), made.Key
	e.leave = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		return revoke(ctx)
	}
	return err
}
