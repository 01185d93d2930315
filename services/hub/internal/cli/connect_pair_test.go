package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
)

// pairing starts connect on a machine that has no key of the person's, and returns the code that it shows.
func (d *connectDesk) pairing(args ...string) (p *process, code string) {
	d.t.Helper()
	p = start(d.t, d.project, d.env, append([]string{"connect", "claude", "--repo", d.project, "--hook-program",
		filepath.Join(filepath.Dir(d.home), "parley-hook"), "--data", filepath.Join(d.home, "none"), "--url", d.server.URL}, args...)...)
	shown := regexp.MustCompile(`[A-Z]{4}-[A-Z]{4}`)
	domaintest.Eventually(d.t, "a code is shown", func() bool { return shown.MatchString(p.out.String()) })
	return p, shown.FindString(p.out.String())
}

func TestAMachineWithoutAKeyIsPairedAndConnected(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	p, code := d.pairing()
	if out := p.out.String(); !strings.Contains(out, d.server.URL+"/pair/"+code+"\n") || strings.Contains(out, "parley_") {
		t.Errorf("it shows\n%s", out)
	}
	person := d.server.as(d.vars["PARLEY_HUMAN_KEY"])
	seen := domaintest.Must(person.GetPairing(t.Context(), keys.PairingInput{UserCode: code}))(t)
	if seen.Client != "claude" || seen.Directory != d.project || seen.Address != "127.0.0.1" {
		t.Errorf("the person sees %+v", seen)
	}
	domaintest.Must(person.ApprovePairing(t.Context(), keys.ApprovePairingInput{PairingInput: keys.PairingInput{UserCode: code}}))(t)
	if exit := p.wait(); exit != 0 {
		t.Fatalf("exit %d:\n%s%s", exit, p.out.String(), p.err.String())
	}
	out := p.out.String()
	if !strings.Contains(out, "made for the program claude") || strings.Contains(out, "parley_") || len(d.keys("claude")) != 1 {
		t.Errorf("it said\n%s", out)
	}
	for _, change := range []string{"requested", "approved", "collected"} {
		if log := d.server.err.String(); !strings.Contains(log, `"change":"`+change+`"`) || strings.Contains(log, "pair_") {
			t.Errorf("the log lacks the change %s, or has the device code:\n%s", change, log)
		}
	}
	if again := d.ok("claude", "--data", filepath.Join(d.home, "none"), "--url", d.server.URL); !strings.Contains(again, "as before") {
		t.Errorf("again it said\n%s", again)
	}
	gone := d.ok("claude", "--data", filepath.Join(d.home, "none"), "--url", d.server.URL, "--remove")
	if !strings.Contains(gone, "that of the program claude is revoked") || len(d.keys("claude")) != 0 {
		t.Errorf("when it was taken back it said\n%s", gone)
	}
}

func TestConnectSaysThatANarrowKeyLeavesTheHooksDead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scopes []string
		words  string
	}{
		"reading alone":  {[]string{"read"}, "hooks need to write, and this key only reads"},
		"one toolset":    {[]string{"dispatch"}, "hooks need the toolset hook, and this key has the scopes dispatch"},
		"reading in two": {[]string{"read", "hook"}, "hooks need to write, and this key only reads"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newConnectDesk(t)
			p, code := d.pairing()
			domaintest.Must(d.server.as(d.vars["PARLEY_HUMAN_KEY"]).ApprovePairing(t.Context(), keys.ApprovePairingInput{
				PairingInput: keys.PairingInput{UserCode: code}, Scopes: c.scopes}))(t)
			exit, out := p.wait(), p.out.String()
			if exit != 0 || !strings.Contains(out, c.words+", so the hooks do nothing while the MCP entry works; take this back with "+
				"--remove and connect again") || strings.Contains(out, "not tried") || strings.Contains(out, "is the server one") {
				t.Errorf("exit %d:\n%s%s", exit, out, p.err.String())
			}
		})
	}
}

func TestPairingIsToldInLinesOfJSON(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	p, code := d.pairing("--json", "--program", "builder")
	var line struct {
		Pairing struct{ UserCode, VerificationURI, VerificationURIComplete, ExpiresAt string }
	}
	if err := json.Unmarshal([]byte(p.out.String()), &line); err != nil || line.Pairing.UserCode != code ||
		line.Pairing.VerificationURIComplete != d.server.URL+"/pair/"+code || line.Pairing.ExpiresAt == "" {
		t.Errorf("it said %s, %v", p.out.String(), err)
	}
	person := d.server.as(d.vars["PARLEY_HUMAN_KEY"])
	domaintest.Must(person.DenyPairing(t.Context(), keys.PairingInput{UserCode: code}))(t)
	if exit := p.wait(); exit != 1 || !strings.Contains(p.out.String()+p.err.String(), "the person denied this pairing") {
		t.Errorf("exit %d:\n%s%s", exit, p.out.String(), p.err.String())
	}
	if text := d.files(); strings.Contains(text, "parley_") {
		t.Errorf("files were written:\n%s", text)
	}
}

func TestAnInterruptEndsPairingAndConnectsNothing(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	before := d.files()
	p, _ := d.pairing()
	if exit := p.stop(os.Interrupt); exit != 1 || !strings.Contains(p.err.String(), "interrupted: nothing was connected") {
		t.Errorf("exit %d:\n%s", exit, p.err.String())
	}
	if after := d.files(); after != before {
		t.Errorf("there is\n%s", after)
	}
}

func TestNoKeyIsAskedForWithoutEncryption(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	_, errOut, code := d.run("claude", "--data", filepath.Join(d.home, "none"), "--url", "http://192.0.2.1:3001")
	if code != 1 || !strings.Contains(errOut, "has no encryption") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}
