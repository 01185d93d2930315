package template

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) *Template {
	t.Helper()
	var tmpl Template
	if err := json.Unmarshal([]byte(text), &tmpl); err != nil {
		t.Fatal(err)
	}
	return &tmpl
}

func TestAnElementIsOneArgumentWhateverItsValuesContain(t *testing.T) {
	t.Parallel()
	v := Values{Name: "a b\n$(touch x);`id`{model}", Model: "{{name}}\"'\\", Team: "core", CWD: "/w"}
	for text, want := range map[string][]string{
		`["c"]`:                                   nil,
		`["c","{name}"]`:                          {v.Name},
		`["c","{model}","{name}"]`:                {v.Model, v.Name},
		`["c","--x={name}{model}"]`:               {"--x=" + v.Name + v.Model},
		`["c","{color}"]`:                         {""},
		`["c",""]`:                                {""},
		`["c",["--color","{color}"]]`:             nil,
		`["c",["--model","{model}"]]`:             {"--model", v.Model},
		`["c",["{model}","{color}"],"z"]`:         {"z"},
		`["c",["{plan_mode_required?}","--p"]]`:   nil,
		`["c",["{model?}","--m"]]`:                {"--m"},
		`["c","{plan_mode_required}"]`:            {"false"},
		`["c","{{name}} {{{team}}}"]`:             {"{name} {core}"},
		`["c","{team}@{cwd}"]`:                    {"core@/w"},
		`["c",["{cwd?}","{team?}","x","{team}"]]`: {"x", "core"},
	} {
		got, err := parse(t, text).Args(v)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
	got, err := parse(t, `["c",["{plan_mode_required?}","--p","{plan_mode_required}"]]`).Args(
		Values{PlanModeRequired: true})
	if err != nil || !slices.Equal(got, []string{"--p", "true"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEveryPlaceholderIsReplacedByItsValue(t *testing.T) {
	t.Parallel()
	v := Values{ProcessID: "1", AgentID: "2", Name: "3", Team: "4", Color: "5", LeadSessionID: "6", AgentType: "7",
		Model: "8", CWD: "9", Prompt: "a", PromptFile: "b", MCPURL: "c"}
	got, err := parse(t, `["c","{process_id}{agent_id}{name}{team}{color}`+
		`{lead_session_id}{agent_type}{model}{cwd}{plan_mode_required}{prompt}{prompt_file}{mcp_url}"]`).Args(v)
	if err != nil || !slices.Equal(got, []string{"123456789falseabc"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAValueBecomesNoOption(t *testing.T) {
	t.Parallel()
	for text, v := range map[string]Values{
		`["c","{name}"]`:                     {Name: "-x"},
		`["c","{color}{name}"]`:              {Name: "--yes"},
		`["c",["-m","{model}"]]`:             {Model: "-"},
		`["c","{name}-"]`:                    {},
		`["c","{color}{name}--yes={model}"]`: {Model: "m"},
	} {
		if got, err := parse(t, text).Args(v); err == nil ||
			!strings.Contains(err.Error(), "must not begin with -") {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	if _, err := parse(t, `["c","{name}"]`).Args(Values{Name: "a\x00b"}); err == nil ||
		!strings.Contains(err.Error(), "the value of {name} must not contain NUL") {
		t.Error(err)
	}
	got, err := parse(t, `["c","--m={model}","x{name}","{team}-x",["{color}-"],"-{{"]`).Args(
		Values{Model: "-a", Name: "-b", Team: "core"})
	if err != nil || !slices.Equal(got, []string{"--m=-a", "x-b", "core-x", "-{"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTheErrorForAnInvalidTemplateNamesTheMistake(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		`"claude"`:     "must be a list of strings",
		`[]`:           "must begin with the name of a program",
		`[""]`:         "must begin with the name of a program",
		`["{name}"]`:   "without placeholders: what runs is the configuration's choice alone",
		`["a{name}"]`:  "without placeholders",
		`[["claude"]]`: "must begin with the name of a program",
		`["c","{nme}"]`: "element 1 of the command: \"{nme}\" has the unknown placeholder {nme}; there " +
			"are {agent_id}, {name}",
		`["c","{}"]`:                  "unknown placeholder {}",
		`["c","{?}"]`:                 "unknown placeholder {?}",
		`["c","{name"]`:               "has a { without a }",
		`["c","name}"]`:               "has a } without a {",
		`["c","{model?}"]`:            "must be in a group",
		`["c",["--p{model?}"]]`:       "must be an element of its own",
		`["c",["{model?}x"]]`:         "must be an element of its own",
		`["c","-{name}"]`:             "part of an option's name",
		`["c","--mod{name}"]`:         "part of an option's name",
		`["c",[]]`:                    "a list of strings that is not empty",
		`["c",["a",["b"]]]`:           "a list of strings that is not empty",
		`["c",["a",null]]`:            "a list of strings that is not empty",
		`["c",null]`:                  "must be a string, or a group",
		`["c",7]`:                     "must be a string, or a group",
		"[\"c\",\"a\\u0000\"]":        "NUL",
		"[\"c\",[\"{name}\\u0000\"]]": "NUL",
		"[\"c\\u0000\"]":              "NUL",
	} {
		var tmpl Template
		err := json.Unmarshal([]byte(text), &tmpl)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %v, want %q", text, err, words)
		}
	}
}

// placeholders is a second, independent parser: it matches doubled braces and placeholders.
var placeholders = regexp.MustCompile(`\{\{|\}\}|\{[a-z_]+\??\}`)

// expected returns the expected arguments of a valid template, computed independently.
func expected(t *testing.T, text string, v Values) []string {
	t.Helper()
	var list []any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	fill := func(s string) string {
		return placeholders.ReplaceAllStringFunc(s, func(h string) string {
			if h == "{{" || h == "}}" {
				return h[:1]
			}
			return v.get(strings.Trim(h, "{}"))
		})
	}
	var out []string
	for _, e := range list[1:] {
		group, ok := e.([]any)
		if !ok {
			out = append(out, fill(e.(string)))
			continue
		}
		var args []string
		kept := true
		for _, e := range group {
			condition := false
			for _, h := range placeholders.FindAllString(e.(string), -1) {
				if h == "{{" || h == "}}" {
					continue
				}
				condition = condition || strings.HasSuffix(h, "?}")
				value := v.get(strings.Trim(h, "{?}"))
				kept = kept && value != "" && !(strings.HasPrefix(h, "{plan_mode_required") && value == "false")
			}
			if !condition {
				args = append(args, fill(e.(string)))
			}
		}
		if kept {
			out = append(out, args...)
		}
	}
	return out
}

// literals returns the literal beginnings of arguments in the template.
func literals(text string) []string {
	var out []string
	for _, s := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(text, -1) {
		var e string
		if json.Unmarshal([]byte(s), &e) != nil || !strings.HasPrefix(e, "-") {
			continue
		}
		e = placeholders.ReplaceAllStringFunc(e, func(h string) string {
			if h == "{{" || h == "}}" {
				return h[:1]
			}
			return "\x00"
		})
		name, _, _ := strings.Cut(e, "\x00")
		out = append(out, name)
	}
	return out
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		`["claude","--agent-id","{agent_id}",["--model","{model}"],["{plan_mode_required?}","--plan-mode-required"]]`,
		`["c","--name={name}{model}","{{x}}","{{{cwd}}}"]`, `["c",["{color}"],["{name?}","{team}"]]`,
		`["c","{name}{name}","-v"]`, `["c","{name","}"]`,
	} {
		f.Add(text, "worker-1", "opus", "/work", false)
		f.Add(text, "-rf", "$(touch x); `id`", "{name}", true)
		f.Add(text, "a b\tc\n", "--yes", "{{team}}", false)
		f.Add(text, "", "a\x00b", "", true)
	}
	f.Fuzz(func(t *testing.T, text, name, model, cwd string, plan bool) {
		var tmpl Template
		if json.Unmarshal([]byte(text), &tmpl) != nil {
			return
		}
		v := Values{AgentID: name + "@core", Name: name, Team: "core", Model: model, AgentType: "general-purpose",
			CWD: cwd, PlanModeRequired: plan}
		args, err := tmpl.Args(v)
		if err != nil {
			if !strings.Contains(err.Error(), "NUL") && !strings.Contains(err.Error(), "must not begin with -") {
				t.Errorf("%s refused %+v: %v", text, v, err)
			}
			return
		}
		if want := expected(t, text, v); !slices.Equal(args, want) {
			t.Errorf("%s with %+v: got %q, want %q", text, v, args, want)
		}
		own := literals(text)
		for _, arg := range args {
			if strings.ContainsRune(arg, 0) {
				t.Errorf("%s: %q holds a NUL", text, arg)
			}
			if strings.HasPrefix(arg, "-") && !slices.ContainsFunc(own,
				func(l string) bool { return arg == l || strings.Contains(l, "=") && strings.HasPrefix(arg, l) }) {
				t.Errorf("%s with %+v: %q is an option that the template does not have", text, v, arg)
			}
		}
	})
}

func TestATemplateTellsWhichPlaceholdersItUses(t *testing.T) {
	t.Parallel()
	tmpl := parse(t, `["c","x",["--p={prompt}"],["{model?}","y"]]`)
	if !tmpl.Uses("prompt") || !tmpl.Uses("name", "model") || tmpl.Uses("prompt_file", "name") {
		t.Errorf("got %v, %v, %v", tmpl.Uses("prompt"), tmpl.Uses("name", "model"), tmpl.Uses("prompt_file", "name"))
	}
}
