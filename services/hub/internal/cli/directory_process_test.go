package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
)

func TestASecondServerIsRefusedAndToldWhereTheFirstListens(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := serve(t, nil, local(data)...)
	own := func() (text []byte) {
		for _, name := range []string{"keys.env", "human.env"} {
			b, err := os.ReadFile(filepath.Join(data, name))
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, b...)
		}
		return text
	}
	before := own()
	out, errOut, code := command(t, nil, append([]string{"serve"}, local(data)...)...)
	if code != 1 || out != "" || !strings.Contains(errOut, "it listens at "+first.URL+" (process ") {
		t.Errorf("the second: exit %d, %q, %q", code, out, errOut)
	}
	if !bytes.Equal(own(), before) {
		t.Error("the second rewrote keys.env or human.env")
	}
	// A killed server has the directory no longer, and the next one rewrites the files.
	if code := first.stop(syscall.SIGKILL); code == 0 {
		t.Errorf("exit %d", code)
	}
	second := serve(t, nil, local(data)...)
	if vars := keysEnv(t, data); vars["PARLEY_URL"] != second.URL+"/mcp" {
		t.Errorf("keys.env has %s, want %s", vars["PARLEY_URL"], second.URL)
	}
	if a := second.call(keysEnv(t, data)["PARLEY_KEY"], "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Errorf("after the kill: %s", a)
	}
	// One that ends is waited for.
	if err := second.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(second.err.String(), `"draining"`) {
		select {
		case <-second.err.more:
		case <-time.After(patience):
			t.Fatalf("it does not drain: %s", second.err)
		}
	}
	serve(t, nil, local(data)...)
}

func TestOfServersThatStartAtTheSameInstantOneServes(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	const servers = 4
	var all []*process
	for range servers {
		all = append(all, run(t, nil, append([]string{"serve"}, local(data)...)...))
	}
	ended := make(chan *process, servers)
	for _, p := range all {
		go func() { <-p.ended; ended <- p }()
	}
	refused := map[*process]bool{}
	for range servers - 1 {
		select {
		case p := <-ended:
			refused[p] = true
		case <-time.After(patience):
			t.Fatal("more than one serves")
		}
	}
	for _, p := range all {
		if refused[p] {
			continue
		}
		m := serves.FindStringSubmatch(p.out.String())
		if m == nil {
			t.Fatalf("the last one does not serve: %s%s", p.out, p.err)
		}
		p.URL = m[1]
		for r := range refused {
			if !strings.Contains(r.err.String(), "it listens at "+p.URL) || r.out.String() != "" {
				t.Errorf("a refused one said %q, %q; want %s", r.out, r.err, p.URL)
			}
		}
		vars := keysEnv(t, data)
		if vars["PARLEY_URL"] != p.URL+"/mcp" || !strings.Contains(p.out.String(), vars["PARLEY_KEY"]) {
			t.Errorf("keys.env is not that of the server: %v, %s", vars, p.out)
		}
		if code := p.stop(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d: %s", code, p.err)
		}
	}
}

func TestCommandsTalkToTheServerThatHasTheDirectory(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"a short path": filepath.Join(t.TempDir(), "d"),
		"a path that is too long for a socket": filepath.Join(t.TempDir(), strings.Repeat("long", 20),
			strings.Repeat("path", 20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, nil, local(data)...)
			key := keysEnv(t, data)["PARLEY_KEY"]
			if _, err := p.as(key).CreateTask(t.Context(), dispatch.CreateInput{Title: "of mine", Target: "alpha"}); err != nil {
				t.Fatal(err)
			}
			elsewhere := t.TempDir()
			says := func(want string, args ...string) string {
				t.Helper()
				out, errOut, code := command(t, nil, append(args, "--data", data)...)
				if code != 0 || !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("%v: exit %d, %q, %q; want %s", args, code, out, errOut, want)
				}
				return strings.TrimSpace(out)
			}
			made := says(`^parley_`, "key", "create", "--user", "local", "--program", "gamma")
			if a := p.call(made, "GET", "/v1/tasks", nil); a.Status != 200 {
				t.Errorf("the new key: %s", a)
			}
			list := says(`gamma`, "key", "list")
			for line := range strings.Lines(list) {
				if f := strings.Fields(line); strings.Contains(line, "gamma") {
					says(`^revoked `, "key", "revoke", f[0])
				}
			}
			if a := p.call(made, "GET", "/v1/tasks", nil); a.Status != 401 {
				t.Errorf("the server did not follow the revocation at once: %s", a)
			}
			says(`"of mine"`, "export", "--user", "local")
			says(`#link=`, "link")
			says(`^wrote .*b\.db: about \d+ documents`, "backup", filepath.Join(elsewhere, "b.db"))
			says(`^restored .*b\.db: \d+ documents in the place of \d+`, "restore", filepath.Join(elsewhere, "b.db"))
			says(`(?m)^ok +store.*\nok +whole .*\n(.*\n)*ok +server .*serves at `+regexp.QuoteMeta(p.URL), "doctor")
			says(`^deleted \d+ documents of local`, "delete", "--user", "local", "--confirm", "local", "--wait", "1ms")
			for _, call := range []string{"issue", "keys", "devices", "revoke", "export", "link", "backup", "restore", "examine",
				"erase"} {
				if !strings.Contains(p.err.String(), `"call":"`+call+`"`) {
					t.Errorf("the server was not asked to %s", call)
				}
			}
			logged(t, p)
		})
	}
}

func TestCommandsOnOneDirectoryWithoutAServerTakeTurns(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if out, errOut, code := command(t, nil, "key", "create", "--user", "local", "--data", data); code != 0 {
				t.Errorf("exit %d, %q, %q", code, out, errOut)
			}
		})
	}
	all.Wait()
	if out, _, code := command(t, nil, "key", "list", "--data", data); code != 0 || strings.Count(out, "\n") != 7 {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestTheDataDirectoryOfACloneIsFoundBelowIt(t *testing.T) {
	t.Parallel()
	home, clone := t.TempDir(), t.TempDir()
	deep := filepath.Join(clone, "deep", "down")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	made := makeKey(t, filepath.Join(clone, ".parley"), "--program", "alpha")
	in := func(dir string, args ...string) (string, string, int) {
		t.Helper()
		p := start(t, dir, []string{"HOME=" + home}, args...)
		code := p.wait()
		return p.out.String(), p.err.String(), code
	}
	if out, errOut, code := in(deep, "key", "list"); code != 0 || !strings.Contains(out, "alpha") || errOut != "" {
		t.Errorf("below the clone: exit %d, %q, %q", code, out, errOut)
	}
	if out, errOut, code := in(home, "key", "create", "--user", "local", "--program", "beta"); code != 0 || errOut != "" ||
		out == made {
		t.Errorf("at home: exit %d, %q, %q", code, out, errOut)
	}
	out, errOut, code := in(deep, "key", "list")
	if code != 0 || !strings.Contains(out, "alpha") || strings.Contains(out, "beta") ||
		!strings.Contains(errOut, "the data directory is "+filepath.Join(clone, ".parley")) ||
		!strings.Contains(errOut, filepath.Join(home, ".parley")+" as well") {
		t.Errorf("where two could be meant: exit %d, %q, %q", code, out, errOut)
	}
	if out, errOut, code := in(deep, "key", "list", "--data", filepath.Join(home, ".parley")); code != 0 || errOut != "" ||
		!strings.Contains(out, "beta") {
		t.Errorf("a named one: exit %d, %q, %q", code, out, errOut)
	}
	if _, errOut, code := in(deep, "key", "list", "--data="); code != 1 || !strings.Contains(errOut, "--data must name a directory") {
		t.Errorf("an empty name: exit %d, %q", code, errOut)
	}
}

// A file of an earlier version exports nothing, and its server moved to another port.
func TestKeysEnvExportsItsVariables(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	file := filepath.Join(data, "keys.env")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.ReplaceAll(string(text), "export ", "") + "# mine\nOTHER=1\n"
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	again := serve(t, nil, local(data)...)
	now, err := os.ReadFile(file)
	want := strings.Replace(string(text), p.URL, again.URL, 1) + "# mine\nOTHER=1\n"
	if err != nil || string(now) != want {
		t.Errorf("got %q, %v; want %q", now, err, want)
	}
}

// stalled sends the head of a request and a part of its body, and then nothing more.
func stalled(t *testing.T, p *process, key string) (started chan struct{}, end func() error) {
	t.Helper()
	body, write := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.URL+"/v1/tasks", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	started = make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, _ = write.Write([]byte(`{"title":"never whole`))
		close(started)
	}()
	go func() {
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err == nil {
			err = res.Body.Close()
		}
		ended <- err
	}()
	end = sync.OnceValue(func() error {
		_ = write.CloseWithError(io.ErrUnexpectedEOF) // the client waits for its body
		return <-ended
	})
	t.Cleanup(func() { _ = end() })
	return started, end
}

func TestAClientThatStallsAnUploadAtTheEndCostsNobodyElsesRecords(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	vars := keysEnv(t, data)
	started, end := stalled(t, p, vars["PARLEY_KEY_BETA"])
	<-started
	waiting := make(chan reply, 1)
	go func() {
		a, _ := p.try(t.Context(), vars["PARLEY_KEY"], "GET", "/v1/messages?target=alpha&waitMs=50000", nil)
		waiting <- a
	}()
	const calls = 20
	for range calls {
		if a := p.call(vars["PARLEY_KEY"], "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Fatal(a)
		}
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, p.err)
	}
	if err := end(); err == nil {
		t.Error("the stalled upload was answered")
	}
	if a := <-waiting; a.Status != 200 {
		t.Errorf("the wait: %s", a)
	}
	if !strings.Contains(p.err.String(), "were cut off") {
		t.Errorf("the log does not tell of the stalled request: %s", p.err)
	}
	again := serve(t, nil, local(data)...)
	a := again.call(vars["PARLEY_KEY"], "GET", "/v1/usage?groupBy=tool", nil)
	if text := a.String(); !strings.Contains(text, `"calls":20`) || !strings.Contains(text, "get_messages") {
		t.Errorf("the ledger has %s, want %d calls and the wait", text, calls)
	}
}
