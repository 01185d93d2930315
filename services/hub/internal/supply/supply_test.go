package supply_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/services/hub/internal/stdio/stdiotest"
	"parley.internal/services/hub/internal/supply"
	"parley.internal/shared/elenchus/workspace"
)

// outside is the content of every file that must not be sent.
const outside = "nobody may read this"

// writeFiles writes files below a directory.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// link makes a symbolic link to a file outside of dir.
func link(t *testing.T, dir, name string) {
	t.Helper()
	writeFiles(t, filepath.Dir(dir), map[string]string{"outside.ts": outside})
	if err := os.Symlink(filepath.Join(filepath.Dir(dir), "outside.ts"), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// tree creates a directory with the files, inside another directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	writeFiles(t, dir, files)
	return dir
}

// fixture is a hub, the key of an agent, and a bridge between them.
type fixture struct {
	*stdiotest.Client
	hub   *hub
	key   string
	calls *callCounter
	n     int
}

// callCounter counts the calls that a bridge makes, by the tool's name.
type callCounter struct {
	http.RoundTripper
	mu    sync.Mutex
	names []string
}

func (a *callCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	var m struct{ Params struct{ Name string } }
	_ = json.NewDecoder(body).Decode(&m) // other messages are counted under an empty name
	a.mu.Lock()
	a.names = append(a.names, m.Params.Name)
	a.mu.Unlock()
	return a.RoundTripper.RoundTrip(r)
}

func (d *fixture) count(name string) int {
	d.calls.mu.Lock()
	defer d.calls.mu.Unlock()
	n := 0
	for _, have := range d.calls.names {
		if have == name {
			n++
		}
	}
	return n
}

// newFixture connects a bridge to a hub (a new one for nil) that allows the files below root (none for an empty one).
func newFixture(t *testing.T, hub *hub, key, root string) *fixture {
	t.Helper()
	if hub == nil {
		hub = startHub(t)
		key = hub.agent("alpha")
	}
	d := &fixture{hub: hub, key: key, calls: &callCounter{}}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	d.Client = stdiotest.Dial(t, hub.url+"/mcp/x/elenchus", func(b *stdio.Bridge, _ *stdiotest.Client) {
		d.calls.RoundTripper = transport
		b.Key, b.HTTP, b.Hook = key, &http.Client{Transport: d.calls}, allowed(t, root)
	})
	return d
}

// allowed returns the hook for a directory, nil for an empty one.
func allowed(t *testing.T, root string) stdio.Hook {
	t.Helper()
	if root == "" {
		return nil
	}
	r, err := workspace.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &supply.Supplier{Root: r}
}

// tool calls a tool through the bridge. The text and the structured content of its result must be the same JSON.
func (d *fixture) tool(name string, args map[string]any, into any) {
	d.T.Helper()
	d.n++
	text, err := json.Marshal(message(d.n, "tools/call", map[string]any{"name": name, "arguments": args}))
	if err != nil {
		d.T.Fatal(err)
	}
	d.Send(string(text))
	d.read(d.Next(), into)
}

// read decodes the result of a tool. Its text and its structured content must be the same JSON.
func (d *fixture) read(line string, into any) {
	d.T.Helper()
	r := resultOf(d.T, line)
	var x, y any
	if json.Unmarshal([]byte(r.Content[0].Text), &x) != nil || json.Unmarshal(r.StructuredContent, &y) != nil ||
		!reflect.DeepEqual(x, y) {
		d.T.Errorf("the text is %s, the structure %s", r.Content[0].Text, r.StructuredContent)
	}
	if err := json.Unmarshal(r.StructuredContent, into); err != nil {
		d.T.Fatal(err)
	}
}

// ask calls elenchus_get_context without the bridge.
func (d *fixture) ask(args map[string]any, into any) {
	d.T.Helper()
	r := resultOf(d.T, d.hub.tool(d.key, "elenchus_get_context", args))
	if err := json.Unmarshal(r.StructuredContent, into); err != nil {
		d.T.Fatal(err)
	}
}

// stored returns the files that the server has, with its metadata for each.
func (d *fixture) stored(id string) []string {
	d.T.Helper()
	var out struct {
		Files []struct{ Path, Layer string }
	}
	d.ask(map[string]any{"sessionId": id}, &out)
	paths := []string{}
	for _, f := range out.Files {
		paths = append(paths, f.Path)
		var one struct{ Content string }
		d.ask(map[string]any{"sessionId": id, "path": f.Path}, &one)
		if strings.Contains(one.Content, outside) {
			d.T.Errorf("%s left the disk", f.Path)
		}
	}
	return paths
}

type started struct {
	SessionID   string
	FilesWanted []string
	Note        string
	Context     struct{ FilesCollected int }
}

func start(target, dir string) map[string]any {
	return map[string]any{"target": target, "requirements": "it is <safe>", "workingDir": dir}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	got = slices.Clone(got)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestAStartGetsItsTargetAndTheImportedFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target            string
		files             map[string]string
		stored, wanted    []string
		refused, unspoken string
	}{
		"TypeScript": {"src/auth.ts", map[string]string{
			"src/auth.ts": "import './db'; import './gone'; import './leak'; import '../../outside'; import '../lib'; " +
				"import './far/x'",
			"src/db.ts": "import './deep'", "src/deep.ts": "", "lib/index.ts": "export {}",
			"src/far": "a file where a directory was hoped for"},
			[]string{"lib/index.ts", "src/auth.ts", "src/db.ts"},
			[]string{"src/far/x.js", "src/far/x.ts", "src/far/x.tsx", "src/far/x/index.ts", "src/gone.js",
				"src/gone.ts", "src/gone.tsx", "src/gone/index.ts",
				"src/leak.js", "src/leak.ts", "src/leak.tsx", "src/leak/index.ts"},
			`"src/leak.ts" is refused: a symbolic link`, "src/gone"},
		"Go": {"auth/a.go", map[string]string{"go.mod": "module example.com/app\n",
			"auth/a.go": "package auth\nimport (\"example.com/app/db\"; \"example.com/app/none\")",
			"auth/b.go": "package auth", "db/db.go": "package db", "db/db_test.go": "package db",
			"db/bin.go": "package db\x00", "db/tab\t.go": "package db", "db/sub/s.go": "package sub"},
			[]string{"auth/a.go", "db/db.go", "go.mod"}, []string{"none/*.go"}, `"db/bin.go" is refused: it is binary`,
			"db_test.go"},
		"Python": {"pkg/auth.py", map[string]string{
			"pkg/auth.py": "from .db import x\nfrom .util import y\nfrom ...outside import z\n", "pkg/db.py": "",
			"pkg/util/__init__.py": "", "pkg/big.py": ""},
			[]string{"pkg/auth.py", "pkg/db.py", "pkg/util/__init__.py"}, nil, "", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, nil)
			dir := filepath.Join(root, "app")
			writeFiles(t, dir, c.files)
			if name == "TypeScript" {
				link(t, dir, "src/leak.ts")
			}
			d := newFixture(t, nil, "", root)
			var out started
			d.tool("elenchus_start_session", start(c.target, dir), &out)
			same(t, "the server has", d.stored(out.SessionID), c.stored...)
			same(t, "it wants", out.FilesWanted, c.wanted...)
			if out.Context.FilesCollected != len(c.stored) {
				t.Errorf("it collected %d", out.Context.FilesCollected)
			}
			stdiotest.Contains(t, d.Reports(), c.refused)
			for _, p := range c.stored {
				stdiotest.Contains(t, d.Reports(), fmt.Sprintf("gave %q, ", filepath.Join(dir, p)))
			}
			if strings.Contains(d.Reports(), c.unspoken) {
				t.Errorf("the bridge said %q", d.Reports())
			}
			d.Ends()
		})
	}
}

type rounded struct {
	SessionID          string
	ContextExpanded    bool
	NewFilesDiscovered []string
	FilesWanted        []string
	Intervention       *struct {
		Type, Reason    string
		NewContextFiles []string
	}
}

func TestARoundGetsTheFilesThatItNames(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": "", "lib/log.ts": "", "lib/x.ts": "", "lib/y.ts": "",
		"big.ts": strings.Repeat("x", 256<<10+1), "z.ts": ""})
	link(t, root, "lib/leak.ts")
	d := newFixture(t, nil, "", root)
	var begun started
	d.tool("elenchus_start_session", start("a.ts", root), &begun)
	// The critic's bridge did not see the start, so no agent of its own named a directory.
	other := newFixture(t, d.hub, d.hub.agent("beta"), filepath.Join(root, "..", "root"))
	round := func(d *fixture, role, output string) (out rounded) {
		d.tool("elenchus_submit_round", map[string]any{"sessionId": begun.SessionID, "role": role, "output": output,
			"issuesRaised": []any{map[string]any{"id": "COR-" + role, "severity": "LOW", "summary": "s"}}}, &out)
		return out
	}
	one := round(d, "verifier", "lib/log.ts:1 lib/x.ts:2 lib/y.ts:3 lib/leak.ts:1 lib/none.ts:1 big.ts:1 "+
		"../outside.ts:1")
	same(t, "new", one.NewFilesDiscovered, "lib/log.ts", "lib/x.ts", "lib/y.ts")
	same(t, "wanted", one.FilesWanted, "big.ts", "lib/leak.ts", "lib/none.ts")
	if i := one.Intervention; !one.ContextExpanded || i == nil || i.Type != "CONTEXT_EXPAND" || i.Reason == "" ||
		!slices.Equal(i.NewContextFiles, one.NewFilesDiscovered) {
		t.Errorf("%+v, %+v", one, i)
	}
	stdiotest.Contains(t, d.Reports(), "over 256 KiB", `"lib/leak.ts" is refused`)
	two := round(other, "critic", "z.ts:4")
	if two.Intervention != nil || two.ContextExpanded || !slices.Equal(two.FilesWanted, []string{"z.ts"}) {
		t.Errorf("%+v", two)
	}
	stdiotest.Contains(t, other.Reports(), "no call through this bridge named its working directory")
	theirs := newFixture(t, d.hub, d.hub.agent("beta"), filepath.Join(root, "..", "root"))
	var named rounded
	round(d, "verifier", "nothing/new.ts:1")
	theirs.tool("elenchus_submit_round", map[string]any{"sessionId": begun.SessionID, "role": "critic", "output": "z.ts:5",
		"workingDir": root, "issuesRaised": []any{map[string]any{"id": "COR-x", "severity": "LOW", "summary": "s"}}}, &named)
	same(t, "new, with a directory of the critic's own", named.NewFilesDiscovered, "z.ts")
	round(d, "verifier", "nothing/there.ts:1")
	if three := round(other, "critic", "nothing/here.ts:1"); three.ContextExpanded ||
		!slices.Equal(three.FilesWanted, []string{"nothing/here.ts"}) {
		t.Errorf("%+v", three)
	}
	same(t, "the server has", d.stored(begun.SessionID), "a.ts", "lib/log.ts", "lib/x.ts", "lib/y.ts", "z.ts")
	if d.count("elenchus_add_files") != 2 || other.count("elenchus_add_files") != 0 {
		t.Errorf("files were sent %d and %d times", d.count("elenchus_add_files"), other.count("elenchus_add_files"))
	}
	d.Ends()
	other.Ends()
}

func TestFollowUpCallsUseTheProtocolVersionOfTheClientsCall(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": "import './b'", "b.ts": ""})
	d := newFixture(t, nil, "", root)
	text, err := json.Marshal(message(1, "tools/call", map[string]any{"name": "elenchus_start_session",
		"arguments": start("a.ts", root),
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"}, "progressToken": 5}}))
	if err != nil {
		t.Fatal(err)
	}
	d.Send(string(text))
	var out started
	d.read(d.Next(), &out)
	same(t, "the server has", d.stored(out.SessionID), "a.ts", "b.ts")
	d.Ends()
}

func TestNoFileOutsideTheRootIsSent(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": "import './b'", "b.ts": "", "inner/other.ts": ""})
	if err := os.Symlink("..", filepath.Join(root, "inner", "up")); err != nil {
		t.Fatal(err)
	}
	hub := startHub(t)
	key := hub.agent("alpha")
	for name, c := range map[string]struct{ allowed, dir, said string }{
		"without a root": {"", root, ""},
		"a working directory outside of it": {filepath.Join(root, "inner"), root,
			"is not under the allowed root"},
		"a working directory that a link leads to": {filepath.Join(root, "inner"), filepath.Join(root, "inner", "up"),
			"a symbolic link"},
		"one that is not there": {root, filepath.Join(root, "none"),
			"there is no working directory"},
		"nothing that is there": {root, filepath.Join(root, "inner"), ""},
	} {
		d := newFixture(t, hub, key, c.allowed)
		args := start("a.ts", c.dir)
		args["idempotencyKey"] = strings.ReplaceAll(name, " ", "-")
		text, err := json.Marshal(message(1, "tools/call", map[string]any{"name": "elenchus_start_session",
			"arguments": args}))
		if err != nil {
			t.Fatal(err)
		}
		d.Send(string(text))
		got := d.Next()
		// The server answers a repeat as it did the first time.
		want := strings.TrimSpace(d.hub.tool(d.key, "elenchus_start_session", args))
		if c.said == "" && got != want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, want)
		}
		var out started
		d.read(got, &out)
		if !strings.Contains(out.Note, c.said) || (out.Note == "") != (c.said == "") {
			t.Errorf("%s: the note is %q", name, out.Note)
		}
		same(t, name, d.stored(out.SessionID))
		same(t, name, out.FilesWanted, "a.ts")
		stdiotest.Contains(t, d.Reports(), c.said)
		if c.said == "" && d.Reports() != "" {
			t.Errorf("%s: the bridge said %q", name, d.Reports())
		}
		d.Ends()
	}
}
