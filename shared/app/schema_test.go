package app

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/op"
)

var update = flag.Bool("update", false, "write the goldens of the published schemas anew")

var catalogue = sync.OnceValue(func() *op.Catalogue { return New(nil, Ports{}).Catalogue() })

// subset checks that a schema is in the subset that every MCP client supports.
func subset(t *testing.T, at string, s map[string]any) {
	t.Helper()
	allowed := []string{
		"type",
		"description",
		"properties",
		"required",
		"additionalProperties",
		"items",
		"enum",
		"default",
		"format",
		"pattern",
		"minimum",
		"maximum",
		"exclusiveMinimum",
		"minLength",
		"maxLength",
		"minItems",
		"maxItems",
	}
	for k := range s {
		if !slices.Contains(allowed, k) {
			t.Errorf("%s: has %s", at, k)
		}
	}
	typ, ok := s["type"].(string)
	if !ok || !slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, typ) {
		t.Errorf("%s: its type is %v", at, s["type"])
	}
	if items, ok := s["items"].(map[string]any); ok {
		subset(t, at+"[]", items)
	} else if typ == "array" {
		t.Errorf("%s: a list without items", at)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		if m, ok := p.(map[string]any); ok {
			subset(t, at+"."+name, m)
		} else {
			t.Errorf("%s.%s: is %v", at, name, p)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		subset(t, at+".*", more)
	}
	required, _ := s["required"].([]any)
	for _, r := range required {
		p, _ := properties[fmt.Sprint(r)].(map[string]any)
		if p == nil || p["default"] != nil {
			t.Errorf("%s: requires %v, which it does not have or has a default for", at, r)
		}
	}
}

func TestEverySchemaIsInTheSubsetOfEveryClient(t *testing.T) {
	t.Parallel()
	for _, o := range catalogue().Ops() {
		for kind, text := range map[string]json.RawMessage{"input": o.Input, "output": o.Output} {
			var s map[string]any
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			at := o.Name + " " + kind
			subset(t, at, s)
			if s["type"] != "object" || s["properties"] == nil {
				t.Errorf("%s: the root is no object with properties", at)
			}
			if kind == "input" && s["additionalProperties"] != false {
				t.Errorf("%s: takes unknown fields", at)
			}
		}
	}
}

func TestEveryInputIsBounded(t *testing.T) {
	t.Parallel()
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		switch s["type"] {
		case "string":
			if s["maxLength"] == nil && s["enum"] == nil && s["format"] == nil {
				t.Errorf("%s: a text without a longest length", at)
			}
		case "array":
			if s["maxItems"] == nil {
				t.Errorf("%s: a list without a largest length", at)
			}
			walk(at+"[]", s["items"].(map[string]any))
		case "object":
			properties, _ := s["properties"].(map[string]any)
			for name, p := range properties {
				walk(at+"."+name, p.(map[string]any))
			}
		}
	}
	for _, o := range catalogue().Ops() {
		var s map[string]any
		if err := json.Unmarshal(o.Input, &s); err != nil {
			t.Fatal(err)
		}
		walk(o.Name, s)
	}
}

func TestNamesAreValidForEveryClient(t *testing.T) {
	t.Parallel()
	c := catalogue()
	for _, o := range c.Ops() {
		for _, name := range []string{o.Name, o.Alias} {
			if len(name) > 40 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				t.Errorf("%s is not a name", name)
			}
		}
		if len(o.Doc) < 20 || len(o.Doc) > 1024 || o.Title == o.Name {
			t.Errorf("%s: %q, %q", o.Name, o.Title, o.Doc)
		}
		if o.Creates && !o.Idempotent && o.Name != "create_key" && !o.Open { // what is open has no caller to repeat for
			t.Errorf("%s creates and takes no idempotencyKey", o.Name)
		}
		// An operation that reads and marks may have either method: joining a council is a POST. So are the check of
		// more paths than a URL holds, and the wait for as many sessions.
		gets, long := op.Method(o.Route) == "GET", o.Name == "check_files" || o.Name == "wait_hook"
		if (gets && o.Effect > op.Consume) || (!gets && o.Effect == op.Read && !long) {
			t.Errorf("%s: %s has the effect %d", o.Name, o.Route, o.Effect)
		}
	}
	for _, set := range c.Toolsets() {
		if set == "read" || set == "write" || set == "admin" || set == "all" {
			t.Errorf("the toolset %s has the name of a scope", set)
		}
	}
}

// golden is an operation as its clients see it.
type golden struct {
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	Toolset    string          `json:"toolset"`
	Alias      string          `json:"alias,omitempty"`
	Route      string          `json:"route"`
	Compat     []string        `json:"compat,omitempty"`
	Doc        string          `json:"doc"`
	Effect     string          `json:"effect"`
	For        string          `json:"for"`
	Creates    bool            `json:"creates"`
	RESTOnly   bool            `json:"restOnly"`
	Idempotent bool            `json:"idempotent"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
}

func published(t *testing.T, o *op.Op) []byte {
	t.Helper()
	g := golden{Name: o.Name, Title: o.Title, Toolset: o.Toolset, Alias: o.Alias, Route: o.Route, Doc: o.Doc,
		Effect:  []string{"read", "consume", "write", "destroy"}[o.Effect],
		For:     []string{"anyone", "humans", "admins"}[o.For],
		Creates: o.Creates, RESTOnly: o.RESTOnly, Idempotent: o.Idempotent, Input: o.Input, Output: o.Output}
	for _, r := range o.Compat {
		set, err := json.Marshal(r.Set)
		if err != nil {
			t.Fatal(err)
		}
		g.Compat = append(g.Compat, r.Route+" sets "+string(set))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A change of the published operations shows in the diff of the goldens, which
// go test ./app -run Golden -update
// writes.
func TestEveryOperationEqualsItsGolden(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "schemas")
	want := map[string][]byte{}
	for _, o := range catalogue().Ops() {
		want[o.Name+".json"] = published(t, o)
	}
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(kept, text) {
			t.Errorf("%s is not as published (%v); if it should change, go test ./app -run Golden -update", name, err)
		}
	}
	kept, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		if want[f.Name()] == nil {
			t.Errorf("%s is of no operation; go test ./app -run Golden -update", f.Name())
		}
	}
}

func TestPublishedRoutesStay(t *testing.T) {
	t.Parallel()
	routes := map[string]string{}
	for _, o := range catalogue().Ops() {
		for _, r := range o.Routes() {
			routes[r.Route] = o.Name
		}
	}
	for route, name := range map[string]string{
		"GET /v1/tasks":                                             "get_tasks",
		"GET /v1/tasks/{taskId}":                                    "get_task",
		"POST /v1/tasks":                                            "create_task",
		"POST /v1/tasks/{taskId}/claim":                             "claim_task",
		"POST /v1/tasks/{taskId}/renew":                             "renew_claim",
		"POST /v1/tasks/{taskId}/release":                           "release_task",
		"POST /v1/tasks/{taskId}/complete":                          "complete_task",
		"POST /v1/messages":                                         "send_message",
		"GET /v1/messages":                                          "get_messages",
		"POST /v1/messages/ack":                                     "ack_messages",
		"GET /v1/interrupts/peek":                                   "get_messages",
		"POST /v1/questions":                                        "ask_question",
		"GET /v1/questions/{questionId}/response":                   "get_response",
		"POST /v1/questions/{questionId}/answer":                    "answer_question",
		"PATCH /v1/tasks/{taskId}":                                  "update_task",
		"GET /v1/messages/dead":                                     "get_dead_letters",
		"PUT /v1/groups/{name}":                                     "set_group",
		"GET /v1/groups":                                            "list_groups",
		"POST /v1/sessions":                                         "create_session",
		"PATCH /v1/sessions/{sessionId}":                            "update_session",
		"PATCH /v1/sessions":                                        "update_session",
		"GET /v1/sessions":                                          "list_sessions",
		"POST /v1/alerts":                                           "send_alert",
		"GET /v1/dreams":                                            "dream_peek",
		"GET /v1/dreams/peek":                                       "dream_peek",
		"POST /v1/dreams/{dreamId}/activate":                        "dream_activate",
		"POST /v1/dreams/activate":                                  "dream_activate",
		"POST /v1/sprints":                                          "create_sprint",
		"PATCH /v1/sprints/{sprintId}/stories/{storyId}":            "update_sprint_story",
		"POST /v1/sprints/{sprintId}/stories":                       "add_story_to_sprint",
		"GET /v1/sprints/{sprintId}":                                "get_sprint",
		"POST /v1/sprints/{sprintId}/complete":                      "complete_sprint",
		"POST /v1/devices":                                          "register_device",
		"GET /v1/devices":                                           "list_devices",
		"DELETE /v1/devices/{deviceId}":                             "delete_device",
		"GET /v1/settings/notifications":                            "get_notification_settings",
		"PUT /v1/settings/notifications":                            "set_notification_settings",
		"POST /v1/councils":                                         "start_council",
		"GET /v1/councils":                                          "list_councils",
		"GET /v1/councils/{session_id}":                             "get_current_session_data",
		"POST /v1/councils/{session_id}/join":                       "join_council",
		"POST /v1/councils/{session_id}/responses":                  "send_response",
		"POST /v1/councils/{session_id}/ranking":                    "rank_responses",
		"POST /v1/councils/{session_id}/close":                      "close_council",
		"GET /v1/fires/{fireId}":                                    "campfire_get_fire",
		"POST /v1/fires/{fireId}/messages":                          "campfire_post_message",
		"POST /v1/fires/{fireId}/duel/verdict":                      "campfire_deliver_verdict",
		"POST /v1/verifications":                                    "elenchus_start_session",
		"POST /v1/verifications/{sessionId}/rounds":                 "elenchus_submit_round",
		"POST /v1/teams":                                            "team_create",
		"GET /v1/teams/{team_name}":                                 "team_read_config",
		"DELETE /v1/teams/{team_name}":                              "team_delete",
		"POST /v1/teams/{team_name}/members":                        "team_spawn_teammate",
		"DELETE /v1/teams/{team_name}/members/{agent_name}":         "team_force_kill_teammate",
		"POST /v1/teams/{team_name}/members/{agent_name}/shutdown":  "team_process_shutdown_approved",
		"POST /v1/teams/{team_name}/members/{agent_name}/heartbeat": "team_heartbeat",
		"POST /v1/teams/{team_name}/messages":                       "team_send_message",
		"GET /v1/teams/{team_name}/inboxes/{agent_name}":            "team_read_inbox",
		"GET /v1/teams/{team_name}/inboxes/{agent_name}/poll":       "team_poll_inbox",
		"POST /v1/teams/{team_name}/tasks":                          "team_task_create",
		"GET /v1/teams/{team_name}/tasks":                           "team_task_list",
		"GET /v1/teams/{team_name}/tasks/{task_id}":                 "team_task_get",
		"PATCH /v1/teams/{team_name}/tasks/{task_id}":               "team_task_update",
		"GET /v1/teams/{team_name}/processes":                       "team_list_processes",
		"POST /v1/teams/{team_name}/processes/{process_id}/claim":   "team_claim_process",
		"POST /v1/teams/{team_name}/processes/{process_id}/report":  "team_report_process",
		"GET /v1/usage":                                             "get_usage", "GET /v1/overview": "get_overview",
		"GET /v1/questions":       "list_questions",
		"POST /v1/keys":           "create_key",
		"GET /v1/keys":            "list_keys",
		"DELETE /v1/keys/{keyId}": "revoke_key",
	} {
		if routes[route] != name {
			t.Errorf("%s is %q, not %s", route, routes[route], name)
		}
	}
}
