package attack

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/cli"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

// exchange makes a link, as the command does that any process of the account can run, and exchanges it as a browser
// does, showing a present key.
func (s *scene) exchange(console bool, present string) (key string, assurance identity.Assurance) {
	s.Helper()
	link, err := s.hub.App.Keys.MakeLink(s.Context(), "victim-"+strings.ToLower(s.over), console)
	hubtest.Must(s.T, err)
	var made struct {
		Key       string
		Assurance identity.Assurance
	}
	hubtest.Must(s.T, s.hub.REST(present, "POST", "/v1/links/redeem", args{"code": link.Code}).Into(&made))
	return made.Key, made.Assurance
}

// parley runs a command with the human's key, as an agent's shell can.
func (s *scene) parley(arguments ...string) (out string, code int) {
	s.Helper()
	env := map[string]string{"PARLEY_URL": s.hub.URL, "PARLEY_HUMAN_KEY": s.human, "PARLEY_DATA": s.TempDir(),
		"PARLEY_KEYRING": "off"}
	var text bytes.Buffer
	code = cli.Run(s.Context(), arguments, func(name string) string { return env[name] }, strings.NewReader(""), &text, &text)
	return text.String(), code
}

func TestAttackWhatDemandsADeviceStaysUnansweredOnTheMachine(t *testing.T) {
	each(t, func(s *scene) {
		user := "victim-" + strings.ToLower(s.over)
		phone := s.hub.Device(user)
		id := s.ok(s.alpha, "ask_question", args{"question": "Deploy?", "assurance": "device"})["questionId"].(string)
		easy := s.ok(s.alpha, "ask_question", args{"question": "Tea?"})["questionId"].(string)

		answer := args{"questionId": id, "response": "yes"}
		mine := []string{s.alpha, s.beta, s.loose, s.human, s.hub.Key(user, keys.CreateInput{Scopes: []string{"admin"}}),
			s.ok(s.human, "create_key", args{"kind": "human"})["key"].(string),
			s.ok(s.human, "create_key", args{"kind": "human", "scopes": []string{"answer"}})["key"].(string)}
		for _, console := range []bool{false, true} {
			for _, present := range []string{"", s.human, s.alpha} {
				key, assurance := s.exchange(console, present)
				if assurance != identity.Local || key == present {
					s.Errorf("a link (console %v), exchanged with %.10q, gives the assurance %q", console, present, assurance)
				}
				mine = append(mine, key)
			}
		}
		device := s.deviceID()
		for _, key := range mine {
			s.refused(fault.Forbidden, key, "answer_question", answer)
			s.refused(fault.Forbidden, key, "create_link", args{})
			s.refused(fault.Forbidden, key, "revoke_key", args{"keyId": device})
		}
		s.refused(fault.Precondition, s.human, "update_task", args{"taskId": id, "status": "done"})
		if out, code := s.parley("answer", id, "yes"); code != 1 || !strings.Contains(out, "from a paired device only") {
			s.Errorf("parley answer: %q, exit %d", out, code)
		}
		if out, code := s.parley("answer", easy, "yes"); code != 0 || !strings.Contains(out, "with the assurance local") {
			s.Errorf("parley answer, where the machine is enough: %q, exit %d", out, code)
		}
		if got := s.ok(s.alpha, "get_response", args{"questionId": id}); got["status"] != "pending" || got["response"] != nil {
			s.Errorf("after the attack the question is %v", got)
		}

		s.ok(phone, "answer_question", args{"questionId": id, "response": "no"})
		for question, want := range map[string][2]any{id: {"no", "device"}, easy: {"yes", "local"}} {
			got := s.ok(s.alpha, "get_response", args{"questionId": question})
			if [2]any{got["response"], got["answeredWith"]} != want || got["answeredBy"] == nil {
				s.Errorf("the record says %v, want %v", got, want)
			}
			task := s.ok(s.alpha, "get_task", args{"taskId": question})["question"].(args)
			if task["answeredWith"] != want[1] || task["answeredBy"] != got["answeredBy"] {
				s.Errorf("the task says %v, want %v", task, want)
			}
		}
	})
}

// deviceID returns the id of the key of the only paired device, as the human's key can list it.
func (s *scene) deviceID() string {
	s.Helper()
	found := s.ok(s.human, "list_keys", args{"limit": 100})["keys"].([]any)
	at := slices.IndexFunc(found, func(k any) bool { return k.(args)["assurance"] == "device" })
	if at < 0 {
		s.Fatalf("no device is among %v", found)
	}
	return found[at].(args)["id"].(string)
}

func TestAttackAPermissionStaysUnansweredOnTheMachineOnceADeviceIsPaired(t *testing.T) {
	each(t, func(s *scene) {
		ask := func() string {
			return s.ok(s.alpha, "ask_question", args{"question": "Bash: rm -rf build?", "assurance": "paired"})["questionId"].(string)
		}
		before := ask()
		s.ok(s.human, "answer_question", args{"questionId": before, "response": "allow"})

		phone, id := s.hub.Device("victim-"+strings.ToLower(s.over)), ask()
		answer := args{"questionId": id, "response": "allow"}
		s.refused(fault.Forbidden, s.human, "answer_question", answer)
		if out, code := s.parley("answer", id, "allow"); code != 1 || !strings.Contains(out, "from a paired device only") {
			s.Errorf("parley answer: %q, exit %d", out, code)
		}
		s.ok(phone, "answer_question", answer)
		if got := s.ok(s.alpha, "get_response", args{"questionId": id}); got["answeredWith"] != "device" {
			s.Errorf("the answer is %v", got)
		}

		s.ok(phone, "revoke_key", args{"keyId": s.deviceID()})
		s.ok(s.human, "answer_question", args{"questionId": ask(), "response": "allow"})
	})
}
