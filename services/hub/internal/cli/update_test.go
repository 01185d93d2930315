package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"parley.internal/services/hub/internal/cli"
)

// releases serves a releases document of a version, and counts the requests for it.
func releases(t *testing.T, version string) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"version":"`+version+`","date":"2026-11-20T10:00:00Z","notes":"https://example.org/notes"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/latest.json", asked
}

// at sets the version of the program for a test, which is not parallel.
func at(t *testing.T, version string) {
	t.Helper()
	before := cli.Version
	cli.Version = version
	t.Cleanup(func() { cli.Version = before })
}

func TestTheExitCodeTellsWhetherANewerReleaseExists(t *testing.T) {
	for _, c := range []struct {
		own, newest string
		code        int
		out, errOut string
	}{
		{"v1.2.3", "v1.2.3", 0, "This is v1.2.3, and no newer release is known: the newest is v1.2.3 of 2026-11-20", ""},
		{"v1.3.0", "v1.2.3", 0, "no newer release is known", ""},
		{"v1.2.3", "v1.3.0-rc.1", 0, "no newer release is known", ""},
		{"v1.2.3", "v1.3.0", 10, "A newer release exists: v1.3.0 of 2026-11-20 (https://example.org/notes); this is v1.2.3. " +
			"To update it:\n\n  unpack parley_1.3.0_", ""},
		{"devel", "v1.3.0", 1, "The newest release is v1.3.0", "parley: this build has no version that could be compared, but devel\n"},
		{"v1.2.3", "1.3", 1, "", "no releases document"},
	} {
		at(t, c.own)
		address, asked := releases(t, c.newest)
		out, errOut, code := inProcess(t, map[string]string{"PARLEY_RELEASES": address}, "update", "--check")
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errOut, c.errOut) || asked.Load() != 1 ||
			(c.errOut == "") != (errOut == "") {
			t.Errorf("%s beside %s: exit %d after %d calls\n%s%s", c.own, c.newest, code, asked.Load(), out, errOut)
		}
	}
}

func TestTheAnswerOfACheckIsJSONWhereItIsAskedFor(t *testing.T) {
	at(t, "v1.2.3")
	address, _ := releases(t, "v1.3.0")
	out, errOut, code := inProcess(t, map[string]string{"PARLEY_RELEASES": "https://127.0.0.1:1/never"}, "update", "--check", "--json",
		"--from", address)
	var got map[string]string
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 10 || errOut != "" {
		t.Fatalf("%v: exit %d, %s%s", err, code, out, errOut)
	}
	for name, want := range map[string]string{"state": "behind", "version": "v1.2.3", "newest": "v1.3.0", "date": "2026-11-20",
		"notes": "https://example.org/notes", "method": "archive"} {
		if got[name] != want {
			t.Errorf("%s is %q, not %q", name, got[name], want)
		}
	}
	if !strings.HasPrefix(got["how"], "unpack parley_1.3.0_") {
		t.Errorf("how is %q", got["how"])
	}
}

func TestWithoutACheckNobodyIsAsked(t *testing.T) {
	at(t, "v1.2.3")
	address, asked := releases(t, "v1.3.0")
	env := map[string]string{"PARLEY_RELEASES": address}
	for _, args := range [][]string{{"update"}, {"version"}, {}, {"help"}} {
		if out, errOut, code := inProcess(t, env, args...); code != 0 || errOut != "" || strings.Contains(out, "v1.3.0") {
			t.Errorf("%v: exit %d, %s%s", args, code, out, errOut)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d calls", asked.Load())
	}
	out, _, _ := inProcess(t, env, "update")
	for _, want := range []string{"This is parley v1.2.3, unpacked from an archive", "unpack parley_VERSION_", "parley backup"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
}

func TestACheckNeedsAnAddressThatNobodyElseCanAnswerFor(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"update", "--check"}, "this build knows no address of releases: give --from", 1},
		{[]string{"update", "--check", "--from", "http://example.org/latest.json"}, "is not https", 1},
		{[]string{"update", "--json"}, "--json and --from are for --check; see `parley update --help`", 2},
		{[]string{"update", "--from", "https://example.org"}, "are for --check", 2},
		{[]string{"update", "now"}, `unknown command "now"`, 2},
	} {
		if out, errOut, code := inProcess(t, nil, c.args...); code != c.code || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit %d, %s%s", c.args, code, out, errOut)
		}
	}
}
