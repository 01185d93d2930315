package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// servers are two hubs over one store, behind a proxy that names the addresses of callers.
type servers struct {
	*testing.T
	hubs  []*hubtest.Hub
	clock *domaintest.Clock
}

func eachServers(t *testing.T, attack func(*servers)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		s := &servers{T: t, clock: &domaintest.Clock{}}
		for range 2 {
			s.hubs = append(s.hubs, hubtest.New(t, db, hubtest.Options{Now: s.clock.Now, Limits: auth.Limits{Proxies: 1}}))
		}
		attack(s)
	})
}

// call calls a route of a server from an address, with a key or without.
func (s *servers) call(hub int, from, key, route string, in any) hubtest.Answer {
	s.Helper()
	method, path, _ := strings.Cut(route, " ")
	headers := []string{"X-Forwarded-For", from}
	if key != "" {
		headers = append(headers, "Authorization", "Bearer "+key)
	}
	return s.hubs[hub].Raw(method, path, in, headers...)
}

// status fails the test if an answer has another status.
func (s *servers) status(what string, a hubtest.Answer, want int) hubtest.Answer {
	s.Helper()
	if a.Status != want {
		s.Errorf("%s: got %s, want %d", what, a, want)
	}
	return a
}

var vm = args{"client": "claude", "program": "claude", "machine": "vm"}

// ask asks for a key from an address.
func (s *servers) ask(from string) (out keys.RequestPairingOutput) {
	s.Helper()
	hubtest.Must(s.T, s.call(0, from, "", "POST /v1/pairings", vm).Into(&out))
	return out
}

const (
	token = "POST /v1/pairings/token"
	here  = "198.51.100.1"
	there = "203.0.113.9"
)

func approveRoute(code string) string { return "POST /v1/pairings/" + code + "/approve" }

func TestAttackAnAgentNeitherSeesNorApprovesAPairing(t *testing.T) {
	eachServers(t, func(s *servers) {
		hub := s.hubs[0]
		p := s.ask(here)
		link := domaintest.Must(hub.App.Keys.MakeLink(t.Context(), "ann", false))(t)
		answers := domaintest.Must(hub.App.Keys.Redeem(t.Context(), link.Code))(t)
		for who, key := range map[string]string{"an agent": hub.Agent("ann", "alpha"), "an unbound key": hub.Key("ann", keys.CreateInput{}),
			"an admin's": hub.Key("ann", keys.CreateInput{Scopes: []string{"admin"}}), "a browser for answers": answers.Key} {
			for _, route := range []string{"GET /v1/pairings/" + p.UserCode, approveRoute(p.UserCode), "POST /v1/pairings/" + p.UserCode + "/deny"} {
				a := s.status(who+": "+route, s.call(0, here, key, route, nil), http.StatusForbidden)
				if said := a.Fault().Message; who == "an agent" && !strings.Contains(said, "is for a human") {
					s.Errorf("%s: %q does not say who may", route, said)
				}
			}
		}
		s.status("without a key", s.call(0, here, "", "GET /v1/pairings/"+p.UserCode, nil), http.StatusUnauthorized)
		s.status("the device", s.call(0, here, "", token, args{"deviceCode": p.DeviceCode}), http.StatusConflict)
	})
}

func TestAttackUserCodesAreNotGuessed(t *testing.T) {
	eachServers(t, func(s *servers) {
		p, ann, ben := s.ask(here), s.hubs[0].Human("ann"), s.hubs[0].Human("ben")
		for i := range 10 {
			wrong := "BBBB-BBB" + string("BCDFGHJKLM"[i])
			s.status("a guess", s.call(i%2, there, ann, "GET /v1/pairings/"+wrong, nil), http.StatusNotFound)
		}
		for hub := range s.hubs {
			a := s.status("the eleventh", s.call(hub, there, ann, approveRoute(p.UserCode), args{}), http.StatusTooManyRequests)
			if a.Header.Get("Retry-After") == "" {
				s.Error("it does not say when")
			}
		}
		s.status("another person", s.call(0, there, ben, "GET /v1/pairings/"+p.UserCode, nil), http.StatusOK)
	})
}

func TestAttackDeviceCodesAreNotGuessedAndLockNobodyOut(t *testing.T) {
	eachServers(t, func(s *servers) {
		agent, person := s.hubs[0].Agent("ann", "alpha"), s.hubs[0].Human("ann")
		victim, thief := s.ask(here), s.ask(there)
		hubtest.Must(s.T, s.call(0, here, person, approveRoute(victim.UserCode), args{}).Into(&struct{}{}))
		_, random, _ := strings.Cut(strings.TrimPrefix(thief.DeviceCode, "pair_"), "_")
		mixed := "pair_" + strings.ToLower(strings.ReplaceAll(victim.UserCode, "-", "")) + "_" + random
		for range 30 {
			s.status("a guess", s.call(0, there, "", token, args{"deviceCode": mixed}), http.StatusUnauthorized)
		}
		s.status("one more", s.call(0, there, "", token, args{"deviceCode": mixed}), http.StatusTooManyRequests)
		s.status("a known key from there", s.call(0, there, agent, "GET /v1/me", nil), http.StatusOK)
		a := s.status("the machine itself", s.call(1, here, "", token, args{"deviceCode": victim.DeviceCode}), http.StatusOK)
		var got keys.CreateOutput
		hubtest.Must(s.T, a.Into(&got))
		s.status("its key", s.call(0, here, got.Key, "GET /v1/me", nil), http.StatusOK)
	})
}

func TestAttackAFloodOfPairingsLocksNobodyOut(t *testing.T) {
	eachServers(t, func(s *servers) {
		agent, person := s.hubs[0].Agent("ann", "alpha"), s.hubs[0].Human("ann")
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for i := range 30 {
			all.Go(func() {
				a, err := s.hubs[i%2].Try(s.Context(), "POST", "/v1/pairings", vm, "X-Forwarded-For", there)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					s.Error(err)
				}
				got[a.Status]++
			})
		}
		all.Wait()
		if got[http.StatusCreated] > 10 || got[http.StatusCreated] == 0 || got[http.StatusTooManyRequests] == 0 {
			s.Errorf("the flood was answered %v", got)
		}
		s.status("a known key from there", s.call(0, there, agent, "GET /v1/me", nil), http.StatusOK)
		p := s.ask(here)
		s.status("an approval", s.call(1, here, person, approveRoute(p.UserCode), args{}), http.StatusOK)
		s.status("another machine", s.call(0, here, "", token, args{"deviceCode": p.DeviceCode}), http.StatusOK)
	})
}

func TestAttackOfTwoApprovalsAndManyCollectionsOneKeyComes(t *testing.T) {
	eachServers(t, func(s *servers) {
		p, ann, ben := s.ask(here), s.hubs[0].Human("ann"), s.hubs[0].Human("ben")
		send := func(n int, call func(i int) (hubtest.Answer, error)) (answers []hubtest.Answer) {
			answers = make([]hubtest.Answer, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					for range 50 { // contention is answered so
						var err error
						if answers[i], err = call(i); err != nil {
							s.Error(err)
							return
						}
						if answers[i].Fault().Code != "CONFLICT" {
							return
						}
					}
				})
			}
			all.Wait()
			return answers
		}
		won := 0
		for _, a := range send(6, func(i int) (hubtest.Answer, error) {
			return s.hubs[i%2].Try(s.Context(), "POST", "/v1/pairings/"+p.UserCode+"/approve", args{"program": fmt.Sprintf("p%d", i)},
				"X-Forwarded-For", here, "Authorization", "Bearer "+[]string{ann, ben}[i%3%2])
		}) {
			if a.Status == http.StatusOK {
				won++
			}
		}
		if won != 1 {
			s.Errorf("%d approvals won", won)
		}
		made := map[string]bool{}
		for _, a := range send(6, func(i int) (hubtest.Answer, error) {
			return s.hubs[i%2].Try(s.Context(), "POST", "/v1/pairings/token", args{"deviceCode": p.DeviceCode}, "X-Forwarded-For", here)
		}) {
			var out keys.CreateOutput
			hubtest.Must(s.T, a.Into(&out))
			made[out.Key] = true
		}
		if len(made) != 1 {
			s.Errorf("%d keys came", len(made))
		}
		s.clock.Pass(time.Minute)
		s.status("later", s.call(0, here, "", token, args{"deviceCode": p.DeviceCode}), http.StatusUnauthorized)
	})
}

func TestAttackNamesThatMoveACursorOrHideTextAreRefused(t *testing.T) {
	eachServers(t, func(s *servers) {
		for _, bad := range []string{"vm\x1b[2J", "vm\x1b]0;owned\x07", "vm\r\nApproved", "vm\u202e", "vm\u200b", "vm\x00", "vm\u2028"} {
			for _, field := range []string{"client", "machine", "directory", "program"} {
				in := args{"client": "claude", "program": "claude", "machine": "vm", field: bad}
				s.status(fmt.Sprintf("%s %q", field, bad), s.call(0, here, "", "POST /v1/pairings", in), http.StatusBadRequest)
			}
		}
	})
}
