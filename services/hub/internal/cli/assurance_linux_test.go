package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/me"
	"parley.internal/shared/signal"
)

// pair opens a link as a browser does, and returns its key and its assurance.
func (p *process) pair(data string) (key string, assurance identity.Assurance, told string) {
	p.t.Helper()
	out, errOut, code := command(p.t, []string{"PARLEY_DATA=" + data}, "link", "--console")
	_, link, ok := strings.Cut(strings.TrimSpace(out), "#link=")
	var made struct {
		Key       string
		Assurance identity.Assurance
	}
	err := p.call("", "POST", "/v1/links/redeem", map[string]string{"code": link}).Into(&made)
	if code != 0 || !ok || err != nil {
		p.t.Fatalf("link: %q, %q, exit %d, %v", out, errOut, code, err)
	}
	return made.Key, made.Assurance, errOut
}

// secretsIn returns all keys in the files of a directory.
func secretsIn(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		found = append(found, secret.FindAllString(string(text), -1)...)
		return err
	})
	if err != nil || len(found) < 3 {
		t.Fatalf("the files have %d keys, %v", len(found), err)
	}
	return found
}

func TestAttackAnAgentsShellAnswersNothingThatDemandsADevice(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	phone, assurance, told := p.pair(data)
	if assurance != identity.Device || !strings.Contains(told, "is paired as your device") {
		t.Fatalf("the first link pairs as %q: %s", assurance, told)
	}
	asked, err := p.as(keysEnv(t, data)["PARLEY_KEY"]).AskQuestion(t.Context(),
		signal.AskInput{Question: "Deploy?", Assurance: identity.Device})
	if err != nil {
		t.Fatal(err)
	}

	shell := func(args ...string) (string, int) {
		t.Helper()
		out, errOut, code := command(t, []string{"PARLEY_DATA=" + data}, args...)
		return out + errOut, code
	}
	if text, code := shell("answer", asked.QuestionID, "yes"); code != 1 || !strings.Contains(text, "from a paired device only") {
		t.Errorf("parley answer: %s, exit %d", text, code)
	}
	listed, err := p.as(keysEnv(t, data)["PARLEY_HUMAN_KEY"]).ListKeys(t.Context(), keys.ListInput{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	device := ""
	for _, k := range listed.Keys {
		if k.Assurance == identity.Device {
			device = k.ID
		}
	}
	if text, code := shell("key", "revoke", device); code != 1 || !strings.Contains(text, "run this at a terminal") {
		t.Errorf("parley key revoke: %s, exit %d", text, code)
	}
	key, assurance, told := p.pair(data)
	if assurance != identity.Local || !strings.Contains(told, "gets the assurance local, because you have a paired device") {
		t.Errorf("a further link pairs as %q: %s", assurance, told)
	}
	made, _, _ := command(t, nil, "key", "create", "--data", data, "--user", "local", "--kind", "human")
	human, _ := shell("key", "human")
	for _, k := range append(secretsIn(t, data), key, strings.TrimSpace(made), strings.TrimSpace(human)) {
		if a := p.call(k, "POST", "/v1/questions/"+asked.QuestionID+"/answer", map[string]string{"response": "yes"}); a.Status != 403 {
			t.Errorf("the key %.30s… answers: %s", k, a)
		}
	}
	got, err := p.as(phone).AnswerQuestion(t.Context(), signal.AnswerInput{QuestionID: asked.QuestionID, Response: "no"})
	if err != nil || got.AnsweredWith != identity.Device {
		t.Errorf("the phone's answer: %+v, %v", got, err)
	}
}

func TestADeviceIsRevokedAtATerminalAfterAQuestion(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	phone, _, _ := p.pair(data)
	who, err := p.as(phone).Whoami(t.Context(), me.Input{})
	if err != nil || who.Assurance != identity.Device {
		t.Fatalf("the device is %+v, %v", who, err)
	}
	for _, c := range []struct {
		typed string
		code  int
		words string
	}{{"yes\n", 1, "nothing was revoked"}, {"\x04", 1, "nothing was revoked"}, {who.KeyID[:12] + "\n", 0, ""}} {
		term := onTerminal(t, 80, 24, nil, "key", "revoke", "--data", data, who.KeyID)
		for !strings.Contains(term.err.String(), "to revoke it: ") {
			select {
			case <-term.err.more:
			case <-term.ended:
				t.Fatalf("it ended: %s%s", term.out, term.err)
			}
		}
		term.press(c.typed)
		if code := term.wait(); code != c.code || !strings.Contains(term.err.String(), c.words) {
			t.Errorf("after %q: exit %d, %s", c.typed, code, term.err)
		}
	}
	if _, assurance, told := p.pair(data); assurance != identity.Device {
		t.Errorf("after the last device a link pairs as %q: %s", assurance, told)
	}
}
