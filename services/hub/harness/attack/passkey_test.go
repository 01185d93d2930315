package attack

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/signin"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
	"parley.internal/shared/passkeys/softkey"
)

// request is the challenge in the answer of an operation.
func request(out args) args { return out["request"].(args) }

// challengeOf returns the challenge that an operation gives.
func (s *scene) challengeOf(key, name string, in args) string {
	s.Helper()
	return request(s.ok(key, name, in))["challenge"].(string)
}

// begin begins a sign-in, as a stranger can, and returns its challenge.
func (s *scene) begin() string {
	s.Helper()
	var out struct{ Request struct{ Challenge string } }
	hubtest.Must(s.T, s.hub.Raw("POST", signin.BeginPath, nil).Into(&out))
	return out.Request.Challenge
}

func TestAttackWhatDemandsAPasskeyStaysUnansweredWithoutIt(t *testing.T) {
	each(t, func(s *scene) {
		user := "victim-" + strings.ToLower(s.over)
		phone := s.hub.Device(user)
		at := request(s.ok(phone, "begin_passkey", args{}))
		mine := softkey.New(1, at["rpId"].(string), at["origin"].(string), user)
		theirs := softkey.New(2, at["rpId"].(string), at["origin"].(string), user)
		id := s.ok(phone, "add_passkey", args{"name": "the phone", "credential": mine.Created(at["challenge"].(string))})["id"].(string)
		question := s.ok(s.alpha, "ask_question", args{"question": "Deploy?", "assurance": "passkey"})["questionId"].(string)

		// What runs on the account has the keys of the machine, those of links, and can copy those of browsers.
		browser := s.signIn(mine)
		link, _ := s.exchange(true, "")
		waiting := s.challengeOf(phone, "prove_passkey", args{"questionId": question, "response": "no"})
		managing := s.challengeOf(phone, "prove_passkey", args{})
		agents := []string{s.alpha, s.beta, s.loose, s.hub.Key(user, keys.CreateInput{Scopes: []string{"admin"}})}
		for _, key := range agents {
			for name, in := range map[string]args{"list_passkeys": {}, "begin_passkey": {}, "prove_passkey": {},
				"add_passkey":         {"name": "mine", "credential": theirs.Created(waiting)},
				"remove_passkey":      {"passkeyId": id, "proof": theirs.Signed(managing)},
				"answer_with_passkey": {"credential": theirs.Signed(waiting)}} {
				s.refused(fault.Forbidden, key, name, in)
			}
		}
		for _, key := range []string{s.human, link, phone, browser} {
			s.refused(fault.Forbidden, key, "answer_question", args{"questionId": question, "response": "yes"})
			s.refused(fault.Forbidden, key, "begin_passkey", args{})
			own := s.challengeOf(key, "prove_passkey", args{"questionId": question, "response": "yes"})
			s.refused(fault.Forbidden, key, "answer_with_passkey", args{"credential": theirs.Signed(own)})
			own = s.challengeOf(key, "prove_passkey", args{})
			s.refused(fault.Forbidden, key, "begin_passkey", args{"proof": theirs.Signed(own)})
			own = s.challengeOf(key, "prove_passkey", args{})
			s.refused(fault.Forbidden, key, "remove_passkey", args{"passkeyId": id, "proof": theirs.Signed(own)})
			if key != phone { // a signature that was meant for the phone
				s.refused(fault.Forbidden, key, "answer_with_passkey", args{"credential": mine.Signed(waiting)})
			}
		}
		if out, code := s.parley("answer", question, "yes"); code != 1 {
			s.Errorf("parley answer: %q, exit %d", out, code)
		}
		if got := s.ok(s.alpha, "get_response", args{"questionId": question}); got["status"] != "pending" {
			s.Errorf("after the attack the question is %v", got)
		}
		got := s.ok(phone, "answer_with_passkey", args{"credential": mine.Signed(waiting)})
		if got["response"] != "no" || got["answeredWith"] != "passkey" {
			s.Errorf("the record says %v", got)
		}
	})
}

// signIn signs in with a passkey and returns the browser's key.
func (s *scene) signIn(k *softkey.Key) string {
	s.Helper()
	var made struct{ Key string }
	hubtest.Must(s.T, s.hub.Raw("POST", signin.FinishPath, args{"credential": k.Signed(s.begin())}).Into(&made))
	return made.Key
}

func TestAttackASignInWithAPasskeyIsNotForgedRepeatedOrFlooded(t *testing.T) {
	each(t, func(s *scene) {
		user := "victim-" + strings.ToLower(s.over)
		s.clock.Pass(5 * time.Minute) // since the flood over the other transport
		phone := s.hub.Device(user)
		at := request(s.ok(phone, "begin_passkey", args{}))
		make := func(change func(*softkey.Key)) *softkey.Key {
			k := softkey.New(1, at["rpId"].(string), at["origin"].(string), user)
			change(k)
			return k
		}
		mine := make(func(*softkey.Key) {})
		s.ok(phone, "add_passkey", args{"name": "the phone", "credential": mine.Created(at["challenge"].(string))})
		used := mine.Signed(s.begin())
		if a := s.hub.Raw("POST", signin.FinishPath, args{"credential": used}); a.Status != http.StatusOK {
			s.Fatalf("the person: %s", a)
		}
		proof := s.challengeOf(phone, "prove_passkey", args{})
		for name, c := range map[string]struct {
			credential any
			status     int
		}{
			"repeated":                 {used, http.StatusUnauthorized},
			"for a challenge of proof": {mine.Signed(proof), http.StatusUnauthorized},
			"of a page of another origin": {make(func(k *softkey.Key) { k.Origin = "http://evil.example" }).Signed(s.begin()),
				http.StatusForbidden},
			"of another host":    {make(func(k *softkey.Key) { k.RPID = "evil.example" }).Signed(s.begin()), http.StatusForbidden},
			"of another user":    {make(func(k *softkey.Key) { k.User = "attacker" }).Signed(s.begin()), http.StatusUnauthorized},
			"that saw no person": {make(func(k *softkey.Key) { k.Unverified = true }).Signed(s.begin()), http.StatusForbidden},
			"of no form":         {"x", http.StatusBadRequest},
		} {
			a := s.hub.Raw("POST", signin.FinishPath, args{"credential": c.credential})
			if a.Status != c.status || strings.Contains(string(a.Body), "parley_") {
				s.Errorf("a sign-in %s: %s", name, a)
			}
		}
		for range 40 {
			a := s.hub.Raw("POST", signin.BeginPath, nil)
			if a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" {
				if _, err := s.call(s.alpha, "whoami", args{}); err != nil {
					s.Errorf("a good key after the flood: %v", err)
				}
				return
			}
		}
		s.Error("40 sign-ins were begun at once")
	})
}
