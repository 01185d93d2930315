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

// gates are two servers over one store, behind a proxy that names the addresses of callers.
type gates struct {
	*testing.T
	hubs  []*hubtest.Hub
	clock *domaintest.Clock
}

func eachGates(t *testing.T, attack func(*gates)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		g := &gates{T: t, clock: &domaintest.Clock{}}
		for range 2 {
			g.hubs = append(g.hubs, hubtest.New(t, db, hubtest.Options{Now: g.clock.Now, Limits: auth.Limits{Proxies: 1}}))
		}
		attack(g)
	})
}

// call calls a route of a server from an address, with a key or without.
func (g *gates) call(hub int, from, key, route string, in any) hubtest.Answer {
	g.Helper()
	method, path, _ := strings.Cut(route, " ")
	headers := []string{"X-Forwarded-For", from}
	if key != "" {
		headers = append(headers, "Authorization", "Bearer "+key)
	}
	return g.hubs[hub].Raw(method, path, in, headers...)
}

// status fails the test if an answer has another status.
func (g *gates) status(what string, a hubtest.Answer, want int) hubtest.Answer {
	g.Helper()
	if a.Status != want {
		g.Errorf("%s: got %s, want %d", what, a, want)
	}
	return a
}

var vm = args{"client": "claude", "program": "claude", "machine": "vm"}

// ask asks for a key from an address.
func (g *gates) ask(from string) (out keys.RequestPairingOutput) {
	g.Helper()
	hubtest.Must(g.T, g.call(0, from, "", "POST /v1/pairings", vm).Into(&out))
	return out
}

const (
	token = "POST /v1/pairings/token"
	here  = "198.51.100.1"
	there = "203.0.113.9"
)

func approveRoute(code string) string { return "POST /v1/pairings/" + code + "/approve" }

func TestAttackAnAgentNeitherSeesNorApprovesAPairing(t *testing.T) {
	eachGates(t, func(g *gates) {
		hub := g.hubs[0]
		p := g.ask(here)
		link := domaintest.Must(hub.App.Keys.MakeLink(t.Context(), "ann", false))(t)
		answers := domaintest.Must(hub.App.Keys.Redeem(t.Context(), link.Code))(t)
		for who, key := range map[string]string{"an agent": hub.Agent("ann", "alpha"), "an unbound key": hub.Key("ann", keys.CreateInput{}),
			"an admin's": hub.Key("ann", keys.CreateInput{Scopes: []string{"admin"}}), "a browser for answers": answers.Key} {
			for _, route := range []string{"GET /v1/pairings/" + p.UserCode, approveRoute(p.UserCode), "POST /v1/pairings/" + p.UserCode + "/deny"} {
				a := g.status(who+": "+route, g.call(0, here, key, route, nil), http.StatusForbidden)
				if said := a.Fault().Message; who == "an agent" && !strings.Contains(said, "is for a human") {
					g.Errorf("%s: %q does not say who may", route, said)
				}
			}
		}
		g.status("without a key", g.call(0, here, "", "GET /v1/pairings/"+p.UserCode, nil), http.StatusUnauthorized)
		g.status("the device", g.call(0, here, "", token, args{"deviceCode": p.DeviceCode}), http.StatusConflict)
	})
}

func TestAttackUserCodesAreNotGuessed(t *testing.T) {
	eachGates(t, func(g *gates) {
		p, ann, ben := g.ask(here), g.hubs[0].Human("ann"), g.hubs[0].Human("ben")
		for i := range 10 {
			wrong := "BBBB-BBB" + string("BCDFGHJKLM"[i])
			g.status("a guess", g.call(i%2, there, ann, "GET /v1/pairings/"+wrong, nil), http.StatusNotFound)
		}
		for hub := range g.hubs {
			a := g.status("the eleventh", g.call(hub, there, ann, approveRoute(p.UserCode), args{}), http.StatusTooManyRequests)
			if a.Header.Get("Retry-After") == "" {
				g.Error("it does not say when")
			}
		}
		g.status("another person", g.call(0, there, ben, "GET /v1/pairings/"+p.UserCode, nil), http.StatusOK)
	})
}

func TestAttackDeviceCodesAreNotGuessedAndLockNobodyOut(t *testing.T) {
	eachGates(t, func(g *gates) {
		agent, person := g.hubs[0].Agent("ann", "alpha"), g.hubs[0].Human("ann")
		victim, thief := g.ask(here), g.ask(there)
		hubtest.Must(g.T, g.call(0, here, person, approveRoute(victim.UserCode), args{}).Into(&struct{}{}))
		_, random, _ := strings.Cut(strings.TrimPrefix(thief.DeviceCode, "pair_"), "_")
		mixed := "pair_" + strings.ToLower(strings.ReplaceAll(victim.UserCode, "-", "")) + "_" + random
		for range 30 {
			g.status("a guess", g.call(0, there, "", token, args{"deviceCode": mixed}), http.StatusUnauthorized)
		}
		g.status("one more", g.call(0, there, "", token, args{"deviceCode": mixed}), http.StatusTooManyRequests)
		g.status("a known key from there", g.call(0, there, agent, "GET /v1/me", nil), http.StatusOK)
		a := g.status("the machine itself", g.call(1, here, "", token, args{"deviceCode": victim.DeviceCode}), http.StatusOK)
		var got keys.CreateOutput
		hubtest.Must(g.T, a.Into(&got))
		g.status("its key", g.call(0, here, got.Key, "GET /v1/me", nil), http.StatusOK)
	})
}

func TestAttackAFloodOfPairingsLocksNobodyOut(t *testing.T) {
	eachGates(t, func(g *gates) {
		agent, person := g.hubs[0].Agent("ann", "alpha"), g.hubs[0].Human("ann")
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for i := range 30 {
			all.Go(func() {
				a, err := g.hubs[i%2].Try(g.Context(), "POST", "/v1/pairings", vm, "X-Forwarded-For", there)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					g.Error(err)
				}
				got[a.Status]++
			})
		}
		all.Wait()
		if got[http.StatusCreated] > 10 || got[http.StatusCreated] == 0 || got[http.StatusTooManyRequests] == 0 {
			g.Errorf("the flood was answered %v", got)
		}
		g.status("a known key from there", g.call(0, there, agent, "GET /v1/me", nil), http.StatusOK)
		p := g.ask(here)
		g.status("an approval", g.call(1, here, person, approveRoute(p.UserCode), args{}), http.StatusOK)
		g.status("another machine", g.call(0, here, "", token, args{"deviceCode": p.DeviceCode}), http.StatusOK)
	})
}

func TestAttackOfTwoApprovalsAndManyCollectionsOneKeyComes(t *testing.T) {
	eachGates(t, func(g *gates) {
		p, ann, ben := g.ask(here), g.hubs[0].Human("ann"), g.hubs[0].Human("ben")
		send := func(n int, call func(i int) (hubtest.Answer, error)) (answers []hubtest.Answer) {
			answers = make([]hubtest.Answer, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					for range 50 { // contention is answered so
						var err error
						if answers[i], err = call(i); err != nil {
							g.Error(err)
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
			return g.hubs[i%2].Try(g.Context(), "POST", "/v1/pairings/"+p.UserCode+"/approve", args{"program": fmt.Sprintf("p%d", i)},
				"X-Forwarded-For", here, "Authorization", "Bearer "+[]string{ann, ben}[i%3%2])
		}) {
			if a.Status == http.StatusOK {
				won++
			}
		}
		if won != 1 {
			g.Errorf("%d approvals won", won)
		}
		made := map[string]bool{}
		for _, a := range send(6, func(i int) (hubtest.Answer, error) {
			return g.hubs[i%2].Try(g.Context(), "POST", "/v1/pairings/token", args{"deviceCode": p.DeviceCode}, "X-Forwarded-For", here)
		}) {
			var out keys.CreateOutput
			hubtest.Must(g.T, a.Into(&out))
			made[out.Key] = true
		}
		if len(made) != 1 {
			g.Errorf("%d keys came", len(made))
		}
		g.clock.Pass(time.Minute)
		g.status("later", g.call(0, here, "", token, args{"deviceCode": p.DeviceCode}), http.StatusUnauthorized)
	})
}

func TestAttackNamesThatMoveACursorOrHideTextAreRefused(t *testing.T) {
	eachGates(t, func(g *gates) {
		for _, bad := range []string{"vm\x1b[2J", "vm\x1b]0;owned\x07", "vm\r\nApproved", "vm\u202e", "vm\u200b", "vm\x00", "vm\u2028"} {
			for _, field := range []string{"client", "machine", "directory", "program"} {
				in := args{"client": "claude", "program": "claude", "machine": "vm", field: bad}
				g.status(fmt.Sprintf("%s %q", field, bad), g.call(0, here, "", "POST /v1/pairings", in), http.StatusBadRequest)
			}
		}
	})
}
