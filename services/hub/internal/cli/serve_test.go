package cli_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAStartThatIsRefusedLeavesADataDirectoryThatIsThereAsItWas(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for range 2 { // the second finds what the first left
		if _, errOut, code := command(t, nil, "serve", "--addr", "127.0.0.1:99999", "--data", data); code != 1 ||
			!strings.Contains(errOut, "cannot listen on 127.0.0.1:99999") {
			t.Errorf("exit %d: %s", code, errOut)
		}
		if left, err := filepath.Glob(filepath.Join(data, "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestAServerWithoutAHomeDirectoryIsToldItsData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"key", "create", "--user", "local", "--program", "p"}} {
		p := start(t, dir, []string{"HOME="}, args...)
		if code := p.wait(); code != 1 || !strings.Contains(p.err.String(), "give --data, or set HOME") {
			t.Errorf("%v: exit %d: %s%s", args, code, p.out, p.err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".parley*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	serve(t, []string{"HOME="}, local(filepath.Join(dir, "data"))...)
}

func TestAPublicServerOnLoopbackWithoutALimitOfRateIsWarnedOnce(t *testing.T) {
	t.Parallel()
	const words = "it has no limit of rate"
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"behind a proxy":                 {[]string{"--trust-proxy", "1"}, 1},
		"at an https URL":                {[]string{"--public-url", "https://parley.example.org"}, 1},
		"both":                           {[]string{"--trust-proxy", "1", "--public-url", "https://parley.example.org"}, 1},
		"neither":                        {nil, 0},
		"behind a proxy with a rate":     {[]string{"--trust-proxy", "1", "--rate", "50", "--burst", "200"}, 0},
		"behind a proxy, of users alone": {[]string{"--trust-proxy", "1", "--user-rate", "50"}, 0},
		"at an http URL":                 {[]string{"--public-url", "http://localhost:3001"}, 0},
		"on every interface":             {[]string{"--trust-proxy", "1", "--addr", "0.0.0.0:0"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, nil, append(local(t.TempDir()), c.args...)...)
			if code := p.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d", code)
			}
			if got := strings.Count(p.err.String(), words); got != c.want ||
				c.want > 0 && !strings.Contains(p.err.String(), "give --rate 50 --burst 200") {
				t.Errorf("it warns %d times, want %d: %s", got, c.want, p.err)
			}
		})
	}
}
