package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/shared/keys"
)

func TestRunsOfConnectAtTheSameTimeLoseNoRecordAndNoKey(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	before := d.files()
	root := filepath.Dir(d.home)
	var dirs []string
	for _, name := range []string{"one", "two", "three"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir, dir) // two runs in each
	}
	all := func(args ...string) {
		t.Helper()
		var runs []*process
		for _, dir := range dirs {
			runs = append(runs, run(t, d.env, append([]string{"connect", "claude", "--repo", dir, "--hook-program",
				filepath.Join(root, "parley-hook")}, args...)...))
		}
		for _, p := range runs {
			if code := p.wait(); code != 0 {
				t.Errorf("exit %d: %s%s", code, p.out.String(), p.err.String())
			}
		}
	}
	all()
	connections, err := connection.List(filepath.Join(d.home, ".config", "parley", "connections"))
	if err != nil || len(connections) != 3 {
		t.Fatalf("%d connections, %v", len(connections), err)
	}
	named := map[string]string{}
	for _, c := range connections {
		named[c.KeyID] = c.Program
	}
	out, err := d.server.as(d.vars["PARLEY_HUMAN_KEY"]).ListKeys(t.Context(), keys.ListInput{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]bool{}
	for _, k := range out.Keys {
		if strings.HasPrefix(k.Program, "claude") && k.RevokedAt.IsZero() {
			if programs[k.Program] || named[k.ID] != k.Program {
				t.Errorf("the key of %s is another's too, or no record names it", k.Program)
			}
			programs[k.Program] = true
		}
	}
	if len(programs) != 3 {
		t.Errorf("the agents are %v", programs)
	}
	all("--remove")
	if d.files() != before {
		t.Errorf("after removing there is\n%s", d.files())
	}
}
