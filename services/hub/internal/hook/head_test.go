package hook_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/hook"
)

func TestTheHeadOfAnInputIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	want := hook.Call{Client: "claude", Event: "PreToolUse", Kind: hook.Before, Thread: "s", Dir: "/p", Tool: "Write", Doing: "Write"}
	for name, in := range map[string]string{
		"before the tool's input": `{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"a":"` +
			strings.Repeat("x", 100_000) + `"}}`,
		"after it": ` { "tool_input" : {"session_id":"no","a":[{"cwd":"no"},"}]\\\"",1]} , "n":-1.5e3,"b":true,"l":[],"o":{},` +
			`"tool_name":"Write","hook_event_name":"PreToolUse","cwd":"/p","session_id":"s","z":null}`,
		"with escapes in names":   `{"session\u005fid":"s","cwd":"\/p","hook_event_name":"PreToolUse","tool_name":"Write"}`,
		"with the name of a head": `{"x":"tool_name","session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Write","n":7}`,
	} {
		got, err := hook.ParseHead("claude", "PreToolUse", strings.NewReader(in), none)
		if err != nil || !reflect.DeepEqual(got, want) || !json.Valid([]byte(in)) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, want)
		}
	}
	for _, in := range []string{"", "{", "[]", "7", `{"session_id":"s"`, `{"session_id":"` + strings.Repeat("x", 100_000) + `"}`, `{x}`} {
		if c, err := hook.ParseHead("claude", "PreToolUse", strings.NewReader(in), none); err == nil {
			t.Errorf("%.40q: %+v", in, c)
		}
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add([]byte(`{"tool_input":{"a":[1,"\\\"}"]},"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Write"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(in, &fields) != nil || fields == nil {
			return
		}
		for name, value := range fields {
			for head := range map[string]bool{"session_id": true, "transcript_path": true, "cwd": true, "hook_event_name": true,
				"tool_name": true, "tool_use_id": true} {
				if strings.EqualFold(name, head) && (name != head || len(value) == 0 || value[0] != '"' || len(value) > 1000) {
					return // a whole input takes more forms
				}
			}
		}
		delete(fields, "tool_input")
		rest, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		whole, wrong := hook.Parse("claude", "PreToolUse", rest, none)
		got, err := hook.ParseHead("claude", "PreToolUse", strings.NewReader(string(in)), none)
		if wrong == nil && (err != nil || got.Kind != whole.Kind || got.Thread != whole.Thread || got.Dir != whole.Dir || got.Tool != whole.Tool) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", in, err, got, whole)
		}
	})
}
