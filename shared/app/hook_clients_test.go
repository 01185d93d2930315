package app

import (
	"reflect"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/hook"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
)

func TestAPersonSeesWhereSessionsRunAndTheRulesOfTheirPermissions(t *testing.T) {
	person := identity.Caller{User: "u", Kind: identity.Human}
	eachStore(t, func(t *testing.T, o *fixture) {
		rules := &wire.Permissions{On: true, Assurance: "paired", Timeout: 60, Allow: []string{"Bash(git status*)"}, Deny: []string{"Bash(rm *)"}}
		o.hook(alpha, wire.HookInput{Event: wire.Start, Directory: "/src/app", Branch: "main", Host: "mac", Permissions: rules})
		o.hook(beta, wire.HookInput{Event: wire.Start, Client: "codex", Headless: true})
		shown := func() map[string]hook.Client {
			out := map[string]hook.Client{}
			for _, c := range domaintest.Must(o.Hook.Clients(t.Context(), person, hook.ClientsInput{Limit: 50}))(t).Clients {
				out[c.SessionID] = c
			}
			return out
		}
		if got := shown(); len(got) != 2 || got["alpha/1"].Directory != "/src/app" || got["alpha/1"].Host != "mac" ||
			!reflect.DeepEqual(got["alpha/1"].Permissions, rules) || !got["beta/1"].Headless || got["beta/1"].Permissions != nil {
			t.Errorf("got %+v", got)
		}
		o.hook(alpha, wire.HookInput{Event: wire.Tool})
		if got := shown()["alpha/1"].Permissions; !reflect.DeepEqual(got, rules) {
			t.Errorf("after a call without rules they are %+v", got)
		}
		o.hook(alpha, wire.HookInput{Event: wire.Prompt, Permissions: &wire.Permissions{}})
		if got := shown()["alpha/1"].Permissions; got == nil || got.On {
			t.Errorf("switched off they are %+v", got)
		}
	})
}
