package campfire

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// call runs an operation in the way of both transports.
func (k *fixture) call(c identity.Caller, name, args string) (string, error) {
	k.t.Helper()
	catalogue := op.NewCatalogue(k.Operations())
	o := catalogue.Op(name)
	if o == nil {
		k.t.Fatalf("there is no operation %s", name)
	}
	out, err := catalogue.Call(k.t.Context(), o, op.Call{Caller: c, Input: op.Parse([]byte(args))})
	return string(out.Data), err
}

// good lists a call of every operation, in an order in which all succeed.
var good = []struct{ name, args string }{
	{"campfire_ping", `{}`},
	{"campfire_echo", `{"message":"hi"}`},
	{"campfire_get_or_create_fire", `{"fireId":"f"}`},
	{"campfire_post_message", `{"fireId":"f","text":"hi","author":"ann"}`},
	{"campfire_speak_to_party", `{"fireId":"f","text":"hi"}`},
	{"campfire_list_messages", `{"fireId":"f","cursor":"0","limit":10,"waitMs":1}`},
	{"campfire_update_battle_plan", `{"fireId":"f","content":"a plan"}`},
	{
		"campfire_throw_gauntlet",
		`{"fireId":"f","challenger_name":"ann","target_name":"ben","thesis_of_attack":"x","deadline_minutes":1440}`,
	},
	{"campfire_take_oath_of_judgement", `{"fireId":"f","character_name":"joe"}`},
	{"campfire_strike_argument", `{"fireId":"f","character_name":"ann","technical_evidence":"x"}`},
	{"campfire_hold_the_line", `{"fireId":"f","character_name":"ben","defense_rationale":"x","surrender":false}`},
	{
		"campfire_deliver_verdict",
		`{"fireId":"f","character_name":"joe","winner":"defender","ruling_rationale":"x","required_plan_mutation":"y"}`,
	},
	{"campfire_throw_gauntlet", `{"fireId":"f","challenger_name":"ann","target_name":"ben","thesis_of_attack":"x"}`},
	{"campfire_abandon_duel", `{"fireId":"f"}`},
	{"campfire_get_fire", `{"fireId":"f","planVersion":1}`},
	{"campfire_list_duels", `{"fireId":"f","limit":20}`},
}

func TestEveryOperationTakesItsParametersAndNoOthers(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		called := map[string]bool{}
		for _, g := range good {
			called[g.name] = true
			_, err := k.call(unbound, g.name, strings.TrimSuffix(g.args, "}")+`,"extra":1}`)
			if g.args == "{}" {
				_, err = k.call(unbound, g.name, `{"extra":1}`)
			}
			if domaintest.Fields(err) != "extra" {
				t.Errorf("%s with an unknown key: %v", g.name, err)
			}
			data, err := k.call(unbound, g.name, g.args)
			if err != nil || strings.Contains(data, "null") {
				t.Errorf("%s: %s, %v", g.name, data, err)
			}
		}
		for _, o := range k.Operations() {
			if !called[o.Name] && o.For != op.Humans || o.Toolset != "campfire" {
				t.Errorf("%s of %s was not called", o.Name, o.Toolset)
			}
		}
		if n := len(k.Operations()); n != 16 {
			t.Errorf("%d operations", n)
		}
	})
}

func TestAReadOnlyKeyReadsAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.overdue()
		reader := identity.Caller{User: "u", KeyID: "r", Scopes: []string{identity.ScopeRead}}
		writes := 0
		for _, g := range good {
			_, err := k.call(reader, g.name, strings.Replace(g.args, `,"planVersion":1`, "", 1))
			if fault.Is(err, fault.Forbidden) {
				writes++
			} else if err != nil {
				t.Errorf("%s: %v", g.name, err)
			}
		}
		if f := k.kept(); writes != 11 || f.Duel == nil || k.recorded() != 0 || f.Messages != 0 {
			t.Errorf("%d were refused, %+v", writes, f)
		}
	})
}

func TestInputsAreBounded(t *testing.T) {
	t.Parallel()
	k := over(t, nil)
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ name, args, field string }{
		{"campfire_post_message", `{"fireId":"f","text":"` + long(8001) + `"}`, "text"},
		{"campfire_post_message", `{"fireId":"f","text":"x","author":"` + long(101) + `"}`, "author"},
		{"campfire_post_message", `{"fireId":"a/b","text":"x"}`, "fireId"},
		{"campfire_get_or_create_fire", `{"fireId":"` + long(101) + `"}`, "fireId"},
		{"campfire_get_or_create_fire", `{"fireId":""}`, "fireId"},
		{"campfire_get_or_create_fire", `{"fireId":"__x__"}`, "fireId"},
		{"campfire_update_battle_plan", `{"fireId":"f","content":"` + long(32001) + `"}`, "content"},
		{"campfire_throw_gauntlet",
			`{"fireId":"f","challenger_name":"a","target_name":"b","thesis_of_attack":"x","deadline_minutes":1441}`,
			"deadline_minutes"},
		{"campfire_throw_gauntlet",
			`{"fireId":"f","challenger_name":"a","target_name":"b","thesis_of_attack":"x","deadline_minutes":0}`,
			"deadline_minutes"},
		{"campfire_throw_gauntlet",
			`{"fireId":"f","challenger_name":"a","target_name":"b","thesis_of_attack":"` + long(8001) + `"}`,
			"thesis_of_attack"},
		{"campfire_hold_the_line", `{"fireId":"f","character_name":"a","defense_rationale":"x"}`, "surrender"},
		{"campfire_deliver_verdict",
			`{"fireId":"f","character_name":"a","winner":"judge","ruling_rationale":"x","required_plan_mutation":"y"}`,
			"winner"},
		{"campfire_deliver_verdict", `{"fireId":"f","character_name":"a","winner":"defender","ruling_rationale":"x"}`,
			"required_plan_mutation"},
		{"campfire_list_messages", `{"fireId":"f","waitMs":55001}`, "waitMs"},
		{"campfire_list_messages", `{"fireId":"f","limit":101}`, "limit"},
	} {
		_, err := k.call(unbound, c.name, c.args)
		if len(fault.From(err).Problems) == 0 || fault.From(err).Problems[0].Path != c.field {
			t.Errorf("%s, %s: %.200v", c.name, c.field, err)
		}
	}
}

// Every id can be the id of a fire: no route has a fixed part in the place of the id.
func TestNoRouteCollidesWithAFireID(t *testing.T) {
	t.Parallel()
	for _, o := range (&Service{}).Operations() {
		if path := op.Path(o.Route); strings.HasPrefix(path, "/v1/fires/") &&
			!strings.HasPrefix(path, "/v1/fires/{fireId}") {
			t.Errorf("%s: %s", o.Name, path)
		}
	}
}

func TestFiresAreListedAndReadAsResources(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		r := k.Resources()[0]
		if out, err := r.List(t.Context(), unbound, "", 10); err != nil || out.Items == nil || len(out.Items) != 0 ||
			out.Next != "" {
			t.Errorf("%+v, %v", out, err)
		}
		for _, id := range []string{"a", "b", here} {
			k.check(domaintest.Err(k.GetOrCreate(t.Context(), unbound, FireInput{FireID: id})))
			k.Pass(time.Millisecond)
		}
		k.check(k.throw())
		first, err := r.List(t.Context(), unbound, "", 2)
		k.check(err)
		rest, err := r.List(t.Context(), unbound, first.Next, 2)
		k.check(err)
		var got []string
		for _, i := range append(first.Items, rest.Items...) {
			got = append(got, i.ID+"="+i.Title)
		}
		if s := strings.Join(got, ", "); s != "f=f (HONORABLE_DUEL_PENDING), b=b (DEBATING), a=a (DEBATING)" ||
			rest.Next != "" {
			t.Errorf("%s, next %q", s, rest.Next)
		}
		if v, err := r.Read(t.Context(), unbound, here); err != nil || v.(View).State != Pending ||
			v.(View).Duel.ChallengerName != "alice" {
			t.Errorf("%+v, %v", v, err)
		}
		k.Pass(time.Hour)
		if out, err := r.List(t.Context(), unbound, "", 1); err != nil || len(out.Items) != 1 ||
			out.Items[0].Title != "f (DEBATING)" {
			t.Errorf("overdue: %+v, %v", out, err)
		}
		for _, id := range []string{"nowhere", "a/b", "", "__x__"} {
			_, err := r.Read(t.Context(), unbound, id)
			domaintest.Says(t, id, err, fault.NotFound, "Fire with id '"+id+"' does not exist.")
		}
		_, err = r.Read(t.Context(), stranger, here)
		domaintest.Says(t, "a stranger", err, fault.NotFound, "Fire with id 'f' does not exist.")
		if out, err := r.List(t.Context(), stranger, "", 10); err != nil || len(out.Items) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}
