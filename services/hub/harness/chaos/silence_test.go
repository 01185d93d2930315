package chaos

import (
	"context"
	"net/http"
	"testing"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/client"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
)

// A key may have one wait. The agent's first wait vanishes on its way back, with the message that ended it.
func TestAHubFreesAWaitWhoseConnectionIsSilentAndItsMailComesAgain(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	u := hubtest.NewUser(t, hubtest.Options{Now: clock.Now, Waits: &op.Waits{Key: 1}})
	const silent = "c-1.1"
	b := balancer.New()
	b.Hold = time.Hour
	b.Silence = func(r *http.Request) balancer.Hole {
		if r.Header.Get("X-Request-Id") == silent {
			return balancer.After
		}
		return balancer.None
	}
	front, stop, err := b.Listen(t.Context())
	domaintest.Check(t, err)
	t.Cleanup(stop)
	domaintest.Check(t, b.Add("hub", u.Hub.URL))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	domaintest.Check(t, b.Await(ctx, 1))
	rest, err := client.New(front, u.Agent, client.WithHTTPClient(newHTTPClient()))
	domaintest.Check(t, err)
	reader := &caller.Caller{Name: "c", REST: rest, Now: time.Now, Slack: time.Minute, Patience: time.Second,
		Silent: func(id string) bool { return id == silent },
		Count:  func(string, string, time.Duration) {}, Stuck: func(op, id string) { t.Error(op, id, "is stuck") }}
	type inbox struct{ Messages []message }
	read := func() (call caller.Call, out inbox, err error) {
		call, err = reader.Do(ctx, "get_messages", 2*time.Second, map[string]any{"waitMs": 2000, "confirm": true}, &out)
		return call, out, err
	}
	type got struct {
		call caller.Call
		out  inbox
		err  error
	}
	first := make(chan got, 1)
	go func() {
		call, out, err := read()
		first <- got{call, out, err}
	}()
	domaintest.Eventually(t, "the call waits at the hub", func() bool { return u.Hub.Catalogue.Waits.Now() == 1 })
	text := map[string]any{"message": "m", "source": "alpha", "target": "alpha", "message_type": "STATUS"}
	domaintest.Check(t, rest.Do(ctx, "send_message", text, nil))
	// The second attempt is admitted, so the hub has freed the wait.
	if g := <-first; g.err != nil || len(g.call.Unsure()) != 1 || len(g.out.Messages) > 0 {
		t.Fatalf("%+v: %+v, %v", g.call, g.out, g.err)
	}
	domaintest.Eventually(t, "no call waits", func() bool { return u.Hub.Catalogue.Waits.Now() == 0 })
	clock.Pass(2 * time.Minute)
	if _, out, err := read(); err != nil || len(out.Messages) != 1 || !out.Messages[0].Again {
		t.Errorf("after two minutes: %+v, %v", out, err)
	}
	if h := b.Holes(); h.Calls != 1 || h.Unsent > 0 {
		t.Errorf("%+v", h)
	}
}
