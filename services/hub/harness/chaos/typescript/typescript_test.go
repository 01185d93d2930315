package typescript_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/typescript"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store/emulator"
)

func find(t *testing.T) *typescript.SDKs {
	t.Helper()
	found, err := typescript.Find(t.Context())
	if errors.Is(err, typescript.ErrMissing) {
		emulator.Skip(t, err)
	}
	domaintest.Check(t, err)
	return found
}

func start(t *testing.T, era, url, key string) *typescript.Agent {
	t.Helper()
	a, err := find(t).Start(era, url, key)
	domaintest.Check(t, err)
	t.Cleanup(func() { domaintest.Check(t, a.Close()) })
	return a
}

func TestBothSDKsGiveUpAWaitAndAskAgain(t *testing.T) {
	t.Parallel()
	for _, era := range []string{typescript.Legacy, typescript.Modern} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			u := hubtest.NewUser(t, hubtest.Options{Waits: &op.Waits{}})
			waits := u.Hub.Catalogue.Waits
			a := start(t, era, u.Hub.URL+"/mcp", u.Agent)
			given, err := a.Call(t.Context(), read(20_000, "r1", 500))
			if err != nil || !given.GaveUp || given.Result != nil || given.Status != 0 {
				t.Fatalf("a wait of 20 s with a timeout of 500 ms: %+v, %v", given, err)
			}
			// Both end the wait at the server: the one by its notification, the other by the end of its request.
			domaintest.Eventually(t, "no call waits", func() bool { return waits.Now() == 0 })
			ctx, cancel := context.WithCancel(t.Context())
			second := make(chan error, 1)
			go func() {
				given, err := a.Call(ctx, read(20_000, "r2", 60_000))
				if err == nil && !given.GaveUp {
					err = fmt.Errorf("%+v", given)
				}
				second <- err
			}()
			domaintest.Eventually(t, "a call waits", func() bool { return waits.Now() == 1 })
			cancel()
			if err := <-second; err != nil {
				t.Fatalf("a wait that was cancelled: %v", err)
			}
			got, err := a.Call(t.Context(), read(0, "r3", 60_000))
			if err != nil || got.Result == nil || got.Result.IsError || got.Status != http.StatusOK ||
				got.Response().Header.Get("X-Request-Id") != "r3" || !strings.Contains(got.Body, `"messages":[]`) {
				t.Errorf("the call after: %+v, %v", got, err)
			}
		})
	}
}

func TestACallerOverTypeScriptIsAnsweredRefusedAndGivesUp(t *testing.T) {
	t.Parallel()
	for _, era := range []string{typescript.Legacy, typescript.Modern} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			u := hubtest.NewUser(t, hubtest.Options{Waits: &op.Waits{}})
			c := &caller.Caller{Name: "c", Toolsets: []string{"dispatch", "relay"}, Base: u.Hub.URL, Now: time.Now,
				Slack: time.Minute, Count: func(string, string, time.Duration) {}, Stuck: func(op, id string) { t.Error(op, id, "is stuck") }}
			c.TypeScript = start(t, era, c.Endpoint(), u.Agent)
			var made struct{ TaskID string }
			call, err := c.Do(t.Context(), "create_task", 0, map[string]any{"title": "t", "target": "alpha"}, &made)
			if err != nil || made.TaskID == "" || call.RequestID() != "c-1.1" || len(call.Unsure()) > 0 {
				t.Errorf("a task: %+v, %+v, %v", made, call, err)
			}
			_, err = c.Do(t.Context(), "claim_task", 0, map[string]any{"taskId": "nobodys"}, &made)
			var refused *caller.Refusal
			if !errors.As(err, &refused) || refused.Code != fault.NotFound.Code() || refused.RequestID != "c-2.1" {
				t.Errorf("the claim of no task: %v", err)
			}
			enough := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 400*time.Millisecond, enough)
			defer cancel()
			call, err = c.Do(ctx, "get_messages", 20*time.Second, map[string]any{"waitMs": 20_000}, &made)
			if !errors.Is(err, enough) || len(call.Unsure()) == 0 {
				t.Errorf("a wait that was given up: %+v, %v", call, err)
			}
			domaintest.Eventually(t, "no call waits", func() bool { return u.Hub.Catalogue.Waits.Now() == 0 })
		})
	}
}

func read(waitMs int, id string, timeout int64) typescript.Call {
	return typescript.Call{Tool: "get_messages", Arguments: map[string]any{"waitMs": waitMs}, RequestID: id, Timeout: timeout}
}
