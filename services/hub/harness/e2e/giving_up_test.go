package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/storetest"
)

// plan is the instruction to the agents.
type plan struct {
	URL     string      `json:"url"`
	Confirm bool        `json:"confirm"`
	Rounds  int         `json:"rounds"`
	WaitMs  int         `json:"waitMs"`
	Agents  []agentKeys `json:"agents"`
}

type agentKeys struct {
	Name   string `json:"name"`
	Reader string `json:"reader"`
	Sender string `json:"sender"`
}

// told is the agents' report of the messages that they sent and received.
type told struct {
	GaveUp int      `json:"gaveUp"`
	Sent   []string `json:"sent"`
	Got    []struct {
		Text  string `json:"text"`
		Again bool   `json:"again"`
	} `json:"got"`
}

// onTwoServers is the number of messages on two servers, of which the emulator carries fewer a second. PARLEY_GIVING_UP is
// another number.
func onTwoServers(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("PARLEY_GIVING_UP"), "100")
	n, err := strconv.Atoi(text)
	if err != nil || n < 20 || n%20 != 0 {
		t.Fatalf("PARLEY_GIVING_UP is %q, and must be a multiple of 20", text)
	}
	return n
}

// A thousand times an agent gives up a wait after 1 s, gets a RESULT, and asks again.
func TestNothingIsLostWhenAnAgentOfAnSDKGivesUpItsWait(t *testing.T) {
	needSDKs(t)
	two := onTwoServers(t)
	for name, c := range map[string]struct {
		era string
		// messages are sent in all, to so many agents at once.
		messages, agents int
		confirm          bool
		reached          bool // the cancellation reaches the server that waits
		serve            func(*testing.T, *domaintest.Clock) (string, *hubtest.Hub)
	}{
		"legacy, with receipts":                 {"legacy", 1000, 100, true, true, oneServer},
		"modern, with receipts":                 {"modern", 1000, 100, true, true, oneServer},
		"legacy, without receipts":              {"legacy", 1000, 100, false, true, oneServer},
		"legacy, with receipts, on two servers": {"legacy", two, 20, true, false, twoServers},
		"modern, with receipts, on two servers": {"modern", two, 20, true, false, twoServers},
	} {
		t.Run(name, func(t *testing.T) {
			const users = 10
			clock := &domaintest.Clock{}
			url, hub := c.serve(t, clock)
			p := plan{URL: url + "/mcp", Confirm: c.confirm, Rounds: c.messages / c.agents, WaitMs: 1000}
			for i := range c.agents {
				user, name := fmt.Sprintf("user-%d", i%users), fmt.Sprintf("beta-%d", i)
				p.Agents = append(p.Agents, agentKeys{name, hub.Agent(user, name), hub.Agent(user, "alpha")})
			}
			began := time.Now()
			got := giveUp(t, c.era, p, func() {
				if !c.reached { // each wait ends by itself, and may take a message until then
					domaintest.Eventually(t, "no call waits", func() bool { return hub.Catalogue.Waits.Now() == 0 })
				}
				clock.Pass(2 * time.Minute)
			})
			lost, doubled, again := got.compare(t)
			t.Logf("%d of %d waits were given up, %d lost, %d doubled, %d came again, in %v",
				got.GaveUp, c.messages, lost, doubled, again, time.Since(began).Round(time.Second))
			if len(got.Sent) != c.messages || got.GaveUp == 0 {
				t.Errorf("%d messages were sent and %d waits given up", len(got.Sent), got.GaveUp)
			}
			if lost > 0 || doubled > 1 {
				t.Errorf("%d messages are lost and %d came twice without a mark, want 0 and at most 1", lost, doubled)
			}
		})
	}
}

// compare counts the messages that never came, those that came more than once without a mark, and the marks.
func (r told) compare(t *testing.T) (lost, doubled, again int) {
	t.Helper()
	plain, came := map[string]int{}, map[string]bool{}
	for _, m := range r.Got {
		if came[m.Text] = true; m.Again {
			again++
			continue
		}
		plain[m.Text]++
	}
	for _, text := range r.Sent {
		if !came[text] {
			lost++
			t.Logf("lost: %s", text)
		}
		if plain[text] > 1 {
			doubled++
		}
	}
	return lost, doubled, again
}

// giveUp runs the agents, and calls then between their rounds and the reading of the rest.
func giveUp(t *testing.T, era string, p plan, then func()) (out told) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Duration(p.Rounds)*5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "giving_up.mjs", era)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	domaintest.Check(t, err)
	stdout, err := cmd.StdoutPipe()
	domaintest.Check(t, err)
	domaintest.Check(t, cmd.Start())
	text, err := json.Marshal(p)
	domaintest.Check(t, err)
	lines := bufio.NewReader(stdout)
	_, err = in.Write(append(text, '\n'))
	domaintest.Check(t, err)
	line, err := lines.ReadString('\n')
	if err == nil && line == "read\n" {
		then()
		_, err = io.WriteString(in, "rest\n")
		domaintest.Check(t, err)
		line, err = lines.ReadString('\n')
	}
	if err != nil || json.Unmarshal([]byte(line), &out) != nil {
		_ = in.Close()
		_ = cmd.Wait() // the reason is in its output
		t.Fatalf("giving_up.mjs %s: %v %.200s\n%s", era, err, line, stderr.String())
	}
	domaintest.Check(t, cmd.Wait())
	return out
}

func oneServer(t *testing.T, clock *domaintest.Clock) (string, *hubtest.Hub) {
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Now: clock.Now})
	return hub.URL, hub
}

// twoServers runs two servers over one database of the emulator, behind a balancer that gives them the calls in turn.
func twoServers(t *testing.T, clock *domaintest.Clock) (string, *hubtest.Hub) {
	b := balancer.New()
	front, stop, err := b.Listen(t.Context())
	domaintest.Check(t, err)
	t.Cleanup(stop)
	addr, project, waits := emulator.Shared(t), emulator.Project(t), &op.Waits{} // of both servers
	var hub *hubtest.Hub
	for i := range 2 {
		d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: addr, Project: project})
		domaintest.Check(t, err)
		db := store.New(d, app.Schema())
		t.Cleanup(func() { domaintest.Check(t, db.Close()) })
		hub = hubtest.New(t, db, hubtest.Options{Now: clock.Now, Waits: waits})
		domaintest.Check(t, b.Add(fmt.Sprint(i), hub.URL))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	domaintest.Check(t, b.Await(ctx, 2))
	return front, hub
}
