package cli_test

import (
	"strings"
	"testing"

	"rsc.io/qr"

	"parley.internal/shared/domaintest"
)

// dots returns the dark dots of a drawn QR code, without its margin of two.
func dots(t *testing.T, drawn string) (rows [][]bool) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimRight(drawn, "\r\n"), "\r\n") {
		line, begun := strings.CutPrefix(line, "\x1b[30;107m")
		line, ended := strings.CutSuffix(line, "\x1b[0m")
		if !begun || !ended {
			t.Fatalf("the line %q does not set its colours", line)
		}
		var above, below []bool
		for _, r := range line {
			above, below = append(above, strings.ContainsRune("█▀", r)), append(below, strings.ContainsRune("█▄", r))
		}
		rows = append(rows, above[2:len(above)-2], below[2:len(below)-2])
	}
	return rows[2:]
}

func TestALinkForTheConsoleIsDrawnForAPhone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve(t, nil, local(data)...)
	env := []string{"PARLEY_DATA=" + data}
	p := onTerminal(t, 100, 50, env, "link", "--console", "--url", "https://parley.example.ts.net")
	if code := p.wait(); code != 0 || strings.Contains(p.err.String(), "a phone cannot open") {
		t.Fatalf("exit %d: %s", code, p.err)
	}
	link, drawn, _ := strings.Cut(p.out.String(), "\r\n\r\n")
	want, err := qr.Encode(link, qr.L)
	if err != nil || !strings.HasPrefix(link, "https://parley.example.ts.net/q#link=") {
		t.Fatalf("the link %q, %v", link, err)
	}
	got := dots(t, drawn)
	for y := range want.Size {
		for x := range want.Size {
			if got[y][x] != want.Black(x, y) {
				t.Fatalf("the dot %d, %d is wrong in\n%s", x, y, drawn)
			}
		}
	}

	p = onTerminal(t, 100, 50, env, "link")
	if code := p.wait(); code != 0 || strings.Contains(p.out.String(), "\x1b") || strings.Contains(p.err.String(), "a phone") {
		t.Errorf("a link for questions: exit %d: %s%s", code, p.out, p.err)
	}
	out, errOut, code := command(t, env, "link", "--console")
	if code != 0 || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "http://127.0.0.1:") {
		t.Errorf("without a terminal: exit %d: %q", code, out)
	}
	port := strings.SplitN(strings.TrimPrefix(out, "http://127.0.0.1:"), "/", 2)[0]
	for _, way := range []string{"a TLS proxy", "--public-url https://HOST", "a tunnel or a tailnet", "tailscale serve " + port, "Cloud Run"} {
		if !strings.Contains(errOut, way) {
			t.Errorf("for a server on loopback it does not say %q: %s", way, errOut)
		}
	}
}

func TestAMisspeltUserMakesNothingUnasked(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	env := []string{"PARLEY_DATA=" + data}
	for _, c := range []struct {
		args   []string
		answer string // empty: no question is asked
		code   int
		want   string
	}{
		{[]string{"key", "create", "--user", "local"}, "", 0, ""},
		{[]string{"key", "create", "--user", "locl"}, "n\n", 1, "nothing was made"},
		{[]string{"key", "create", "--user", "locl"}, "\n", 1, "nothing was made"},
		{[]string{"link", "--user", "locl", "--url", "http://127.0.0.1:1"}, "n\n", 1, "nothing was made"},
		{[]string{"key", "create", "--user", "ann"}, "y\n", 0, "There is no user ann yet; the server's own user is local."},
		{[]string{"key", "create", "--user", "ann"}, "", 0, ""},
	} {
		p := onTerminal(t, 100, 50, env, c.args...)
		if c.answer != "" {
			domaintest.Eventually(t, "the command asks", func() bool { return strings.Contains(p.err.String(), "[y/N] ") })
			p.press(c.answer)
		}
		code := p.wait()
		if asked := strings.Contains(p.err.String(), "[y/N]"); code != c.code || asked != (c.answer != "") ||
			!strings.Contains(p.err.String(), c.want) || strings.Contains(p.out.String(), "parley_") != (code == 0) {
			t.Errorf("%v: exit %d, asked %t, printed %s%s", c.args, code, asked, p.out, p.err)
		}
	}
	if out, errOut, code := command(t, env, "key", "create", "--user", "bob"); code != 0 || !strings.HasPrefix(out, "parley_") {
		t.Errorf("without a terminal: exit %d: %s%s", code, out, errOut)
	}
}
