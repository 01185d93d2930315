package catalogue

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley.internal/shared/app"
)

// elsewhere are the hand-written files that name operations of a domain that they are not part of, by directory, each
// with the reason.
var elsewhere = []struct{ dir, files, reason string }{
	{"shared/app", "schema_test.go",
		"the routes of the Grid service are a promise of their own, apart from goldens that anyone can renew"},
	{"shared/app", "ended_test.go", "an ended session claims nothing, in the domains that have claims"},
	{"shared/app", "search_test.go", "a search finds what the operations of all domains wrote"},
	{"functions/internal/stack", "stack_test.go", "changes by calls must reach the triggers"},
	{"shared/dispatch", "change.go lease.go", "the fault about a story names the tools that change it"},
	{"shared/dream", "dream.go dream_test.go operations.go", "a dream is created, claimed and completed as a task is"},
	{"shared/council", "prompts.go", "a prompt tells an agent to invite the others by message"},
	{"shared/op", "openapi_components.go", "the description of the key says where keys are created"},
	{"shared/files", "conflict.go verdict.go", "a conflict says how to reach the holder"},
	{"shared/hook/wire", "hook.go", "what was cut is fetched whole by these"},
	{"shared/team", "catalogue.go",
		"a short name on the team's own endpoint is the name of another tool elsewhere"},
	{"shared/client", "client_test.go error_test.go example_test.go operation_test.go retry_test.go",
		"the client is tested with calls of a real catalogue"},
	{"shared/client/generate", "generate_test.go", "an input for which the zero value differs from none"},

	{"services/hub/internal/cli", "alerts.go mail.go questions.go task.go tasks.go top.go", "the commands of the human call these"},
	{"services/hub/internal/cli", "commands_test.go", "the name of this operation is a command too"},
	{"services/hub/internal/cli", "connect_key.go connect_pair.go connect_test.go connect_try.go",
		"connecting a client makes and revokes its key, and tries it"},
	{"services/hub/internal/connect", "others.go rules.go", "rules and advice for agents name the tools that they need"},
	{"services/hub/internal/cli", "files.go guard_hooks_test.go guard_process_test.go", "the commands about files call these"},
	{"services/hub/internal/guard", "decide_test.go", "a guard checks files, and says how to reach their holders"},
	{"services/hub/internal/cli", "firestore_test.go grid_process_test.go process_test.go server_test.go stdio_test.go terminal_test.go",
		"the commands are tested with calls of a real catalogue"},
	{"services/hub/internal/hook", "parse_test.go say.go say_test.go tool.go",
		"an agent is told how to read the rest, and reading or sending mail by itself counts"},
	{"services/hub/internal/runner", "runner.go hub_test.go start_test.go",
		"the fault about a missing team names the tool that creates it"},
	{"services/hub/internal/runner/hub", "hub.go", "the runner takes its processes from the hub"},
	{"services/hub/internal/cli", "agentkey.go", "an agent checks its key, and makes and revokes those of its tasks"},
	{"services/hub/internal/runner", "mail.go prepare.go", "a member is told the tools by which it reaches its team"},
	{"services/hub/internal/runner/worker", "task.go worker.go", "a worker claims and ends tasks, and tells its client so"},
	{"services/hub/internal/stdio", "deliver.go message.go",
		"a call that marks messages as read is not repeated"},
	{"services/hub/internal/stdio", "bridge_test.go repeat_test.go trouble_test.go",
		"the bridge is tested with calls of a real catalogue"},
	{"services/hub/internal/supply", "supply.go attack_test.go supply_test.go target_test.go trouble_test.go",
		"it supplies the files of verifications, by their tools' answers"},

	{"services/hub/harness/hubtest", "badinput_test.go claim_test.go pause_test.go session_test.go team_words_test.go tenancy_test.go",
		"races, pauses, sessions, words, inputs and collisions of names that no spec can say"},
	{"services/hub/harness/demo", "files.go play.go play_test.go talk.go work.go", "the calls of a scripted day"},
	{"services/hub/harness/agents", "agent_test.go attach_test.go claims_test.go hooks_test.go runner_test.go",
		"the scripts of the models call tools, and people and agents call them beside the clients"},
	{"services/hub/harness/attack", "assurance_test.go attack_test.go limits_test.go memory_linux_test.go passkey_test.go price_test.go",
		"attacks of several steps"},
	{"services/hub/harness/mcp", "cancel_test.go eras_test.go front_test.go instructions_test.go messages_test.go",
		"the protocol is shown with certain tools"},
	{"services/hub/harness/mcp", "names_test.go resources_test.go toolsets_test.go",
		"toolsets, aliases, holes of the protocol and resources are shown with certain tools"},
	{"services/hub/harness/rest", "client_test.go compat_test.go delivery_test.go faults_test.go rest_test.go",
		"compatible routes, errors of HTTP and the client are shown with certain operations"},
	{"services/hub/harness/costs", "cloud_test.go count_test.go mix_test.go sums_test.go wait_test.go",
		"the mix of calls that a month's costs are counted for"},
	{"services/hub/harness/chaos", "chaos_test.go human.go mail.go silence_test.go together.go work.go",
		"the load that servers are killed under"},
	{"services/hub/harness/chaos/claims", "claimer.go", "the claims that servers are killed under"},
	{"services/hub/harness/chaos/caller", "caller_test.go", "the caller is tested with calls of a real catalogue"},
	{"services/hub/harness/chaos/typescript", "typescript_test.go", "the SDKs call tools of a real catalogue"},
	{"services/hub/harness/cmd/bench", "neighbours.go operations.go search.go wake.go", "the load that is measured"},
	{"services/hub/harness/scale", "agent.go reader.go", "the load of many agents"},
	{"services/hub/harness/catalogue", "names_test.go", "the name of this operation is a word of the language"},
}

const root = "../../../.."

// A new operation changes its domain and generated files alone, so nothing else may know its name.
func TestNoFileOutsideADomainNamesItsOperations(t *testing.T) {
	t.Parallel()
	n := operations(t)
	unused := map[string]bool{} // the rows' files that named nothing so far
	for _, r := range elsewhere {
		for _, file := range strings.Fields(r.files) {
			unused[path.Join(r.dir, file)] = true
		}
	}
	allowed := maps.Clone(unused)
	walk := func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(parsed) {
			return err
		}
		for _, name := range n.named(rel, parsed) {
			if n.inDomain(rel, name) {
				continue
			}
			delete(unused, rel)
			if !allowed[rel] {
				t.Errorf("%s names %s: let it read the specs, or give it a row with the reason", rel, name)
			}
		}
		return nil
	}
	for _, module := range []string{"shared", "services", "functions"} {
		if err := filepath.WalkDir(filepath.Join(root, module), walk); err != nil {
			t.Fatal(err)
		}
	}
	for file := range unused {
		t.Errorf("%s names no operation of another domain; its row can go", file)
	}
}

func TestNamesOfOperationsAreFoundInTextsAndCalls(t *testing.T) {
	t.Parallel()
	n := operationNames{domains: map[string]string{"get_thing": "x"}, methods: map[string]string{"GetThing": "get_thing"}}
	const client = "import \"parley.internal/shared/client\"\n"
	for source, found := range map[string]bool{
		`var v = "get_thing"`:                       true,
		`var v = "use get_thing, then wait"`:        true,
		"var v = `{\"name\":\"get_thing\"}`":        true,
		`var v = "get_things"`:                      false,
		`var v = "my_get_thing"`:                    false,
		"// get_thing\nvar v = 1":                   false,
		client + `var v, _ = c.GetThing(ctx, in)`:   true,
		client + `var v, _ = h.c.GetThing(ctx, in)`: true,
		client + `var v, _ = c.GetThings(ctx, in)`:  false,
		`var v, _ = c.GetThing(ctx, in)`:            false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "f.go", "package p\n"+source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.named("services/p/f.go", f); (len(got) > 0) != found {
			t.Errorf("%s: found %v", source, got)
		}
	}
}

// operationNames are the ways in which a file can name an operation.
type operationNames struct {
	domains map[string]string // the packages by their operations
	methods map[string]string // the operations by the methods of the client that call them
}

func operations(t *testing.T) operationNames {
	t.Helper()
	n := operationNames{map[string]string{}, map[string]string{}}
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		n.domains[o.Name], _, _ = strings.Cut(strings.TrimPrefix(o.In.PkgPath(), "parley.internal/shared/"), "/")
	}
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "shared/client/operations_gen.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
			for _, name := range n.inTexts(fn) {
				n.methods[fn.Name.Name] = name
			}
		}
	}
	if len(n.methods) != len(n.domains) {
		t.Fatalf("the client has methods for %d of %d operations", len(n.methods), len(n.domains))
	}
	return n
}

// word matches possible names of operations within a text.
var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// named are the operations that the texts of a file name, or that it calls by the client.
func (n operationNames) named(file string, f *ast.File) (out []string) {
	const client = "parley.internal/shared/client"
	calls := path.Dir(file) == "shared/client" ||
		slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(client) })
	ast.Inspect(f, func(node ast.Node) bool {
		if x, ok := node.(*ast.SelectorExpr); ok && calls && n.methods[x.Sel.Name] != "" {
			out = append(out, n.methods[x.Sel.Name])
		}
		return true
	})
	return append(out, n.inTexts(f)...)
}

// ordinary are the operations whose names are words of the language too. A text names one only if it is nothing else.
var ordinary = map[string]bool{"search": true}

// inTexts are the operations that the texts within a node name.
func (n operationNames) inTexts(node ast.Node) (out []string) {
	ast.Inspect(node, func(node ast.Node) bool {
		if x, ok := node.(*ast.BasicLit); ok && x.Kind == token.STRING {
			text, _ := strconv.Unquote(x.Value) // the parser has checked it
			for _, w := range word.FindAllString(text, -1) {
				if n.domains[w] != "" && (w == text || !ordinary[w]) {
					out = append(out, w)
				}
			}
		}
		return true
	})
	return out
}

// inDomain reports whether a file belongs to the domain of an operation, which is that of its input's type. The cases of
// any domain may prepare with another's operations.
func (n operationNames) inDomain(file, name string) bool {
	parts := strings.Split(file, "/")
	if len(parts) < 3 || parts[0] != "shared" {
		return false
	}
	if parts[1] == n.domains[name] {
		return true
	}
	isDomain := slices.Contains(slices.Collect(maps.Values(n.domains)), parts[1])
	return isDomain && len(parts) == 3 && strings.HasSuffix(parts[2], "cases.go")
}
