package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/bodies"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

const mebibyte = 1 << 20

// over calls a test for each transport, with a function that sends the text of a call's arguments and returns the status
// and the code of the answer.
func over(t *testing.T, hub *hubtest.Hub, test func(t *testing.T, send func(ctx context.Context, key, name, text string) reply)) {
	t.Helper()
	t.Run("REST", func(t *testing.T) {
		test(t, func(ctx context.Context, key, name, text string) reply {
			o := hub.Catalogue.Op(name)
			a, err := hub.Try(ctx, op.Method(o.Route), op.Path(o.Route), text, "Authorization", "Bearer "+key)
			return reply{a.Status, a.Fault().Code, a.Fault().Message, a.Header.Get("Retry-After"), err}
		})
	})
	t.Run("MCP", func(t *testing.T) {
		test(t, func(ctx context.Context, key, name, text string) reply {
			message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + text + `}}`
			a, err := hub.Try(ctx, "POST", "/mcp?toolsets=all", message, "Authorization", "Bearer "+key)
			var body struct {
				Error  *hubtest.RPCError
				Result struct {
					IsError           bool
					StructuredContent struct {
						Error struct{ Code, Message string }
					}
				}
			}
			_ = json.Unmarshal(a.Body, &body) // any other answer has no code
			r := reply{a.Status, body.Result.StructuredContent.Error.Code, body.Result.StructuredContent.Error.Message,
				a.Header.Get("Retry-After"), err}
			if body.Error != nil {
				r.code, r.message = fmt.Sprint(body.Error.Code), body.Error.Message
			}
			if f := a.Fault(); f.Code != "" { // of a request that the endpoint did not take
				r.code, r.message = f.Code, f.Message
			}
			return r
		})
	})
}

type reply struct {
	status        int
	code, message string
	after         string
	err           error
}

// The test is not parallel, because it counts the allocations of the process.
func TestAttackAHostileBodyIsRefusedWithin20MiBOverBothTransports(t *testing.T) {
	u := hubtest.NewUser(t, hubtest.Options{})
	room := mebibyte - 200
	fill := func(head, part, tail string) string {
		n := (room - len(head) - len(tail)) / len(part)
		return head + strings.TrimSuffix(strings.Repeat(part, n), ",") + tail
	}
	over(t, u.Hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
		for name, c := range map[string]struct{ op, text string }{
			"empty stories":   {"create_sprint", fill(`{"projectName":"p","stories":[`, "{},", "]}")},
			"stories as text": {"create_sprint", fill(`{"projectName":"p","stories":"[`, "{},", `]"}`)},
			"unknown fields":  {"create_task", fill(`{"title":"t",`, `"a":{},`, "}")},
			"deep":            {"create_task", `{"title":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9001)},
			"free form":       {"team_create", fill(`{"metadata":{"a":[`, "{},", "]}}")},
			"ids":             {"ack_messages", fill(`{"messageIds":[`, `{},`, "]}")},
			"a list":          {"create_task", fill("[", "{},", "]")},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := send(t.Context(), u.Agent, c.op, c.text)
			runtime.ReadMemStats(&after)
			if r.err != nil || (r.code != "INVALID_ARGUMENT" && r.code != "-32602") || len(r.message) > 20_000 {
				t.Errorf("%s: got %+v, want INVALID_ARGUMENT", name, r)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 20*mebibyte {
				t.Errorf("%s takes %d MiB, want at most 20", name, used>>20)
			}
		}
	})
	for name, text := range map[string]string{
		"parameters": fill(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"a":[`, "{},", "]}}}"),
		"a field":    fill(`{"jsonrpc":"2.0","id":1,"method":"tools/list","x":[`, "{},", "]}"),
		"fields":     fill(`{"jsonrpc":"2.0","id":1,"method":"tools/list",`, `"x":{},`, "}"),
		"no end":     fill(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":[`, "{},", ""),
		"meta":       fill(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_tasks","_meta":{"a":[`, "0,", "]}}}"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := u.Hub.REST(u.Agent, "POST", "/mcp", text)
		runtime.ReadMemStats(&after)
		if !strings.Contains(string(a.Body), `"error":{"code":-32`) {
			t.Errorf("a message with %s: got %.300s", name, a)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 20*mebibyte {
			t.Errorf("a message with %s takes %d MiB, want at most 20", name, used>>20)
		}
	}
}

func TestWaitsAreLimitedOverBothTransportsTogether(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		waits := &op.Waits{Key: 2, User: 3, All: 5}
		hub := hubtest.New(t, db, hubtest.Options{Waits: waits})
		a1, a2, a3 := hub.Agent("ann", "alpha"), hub.Agent("ann", "beta"), hub.Agent("ann", "gamma")
		ben := hub.Agent("ben", "alpha")
		var all sync.WaitGroup
		defer all.Wait()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		const wait = `{"waitMs":50000}`
		over(t, hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
			full := func(key, name, limit string) {
				t.Helper()
				r := send(ctx, key, name, wait)
				if r.err != nil || r.code != fault.Exhausted.Code() || !strings.Contains(r.message, "("+limit+")") {
					t.Errorf("got %+v, want RESOURCE_EXHAUSTED by %s", r, limit)
				} else if strings.HasSuffix(t.Name(), "REST") && (r.status != 429 || r.after == "") {
					t.Errorf("got %+v, want 429 with Retry-After", r)
				}
			}
			hold := func(key, name string) {
				t.Helper()
				before := waits.Now()
				all.Go(func() { _ = send(ctx, key, name, wait) })
				domaintest.Eventually(t, name+" waits", func() bool { return waits.Now() > before })
			}
			if strings.HasSuffix(t.Name(), "REST") {
				hold(a1, "get_messages")
				hold(a1, "claim_next_task")
			}
			full(a1, "get_messages", "--waits-key")
			if strings.HasSuffix(t.Name(), "REST") {
				hold(a2, "get_messages")
			}
			full(a3, "claim_next_task", "--waits-user")
			if r := send(ctx, ben, "get_messages", `{"waitMs":10}`); r.err != nil || r.code != "" {
				t.Errorf("another user gets %+v", r)
			}
			if r := send(ctx, a1, "get_messages", `{}`); r.err != nil || r.code != "" {
				t.Errorf("a call that does not wait gets %+v", r)
			}
		})
		end()
	})
}

func TestAFullStorageRefusesWhatAddsToItAndNothingElse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := &domaintest.Clock{}
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now, Quota: store.Usage{Documents: 12}})
		over(t, hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
			user := "full-" + strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
			alpha, human := hub.Agent(user, "alpha"), hub.Human(user)
			var held struct{ TaskID string }
			hubtest.Must(t, hub.REST(alpha, "POST", "/v1/tasks", args{"title": "t", "target": "alpha"}).Into(&held))
			hubtest.Must(t, hub.REST(alpha, "POST", "/v1/tasks/"+held.TaskID+"/claim", args{}).Into(&struct{}{}))
			var r reply
			for i := 0; i < 20 && r.code == ""; i++ {
				clock.Pass(time.Minute)
				r = send(t.Context(), alpha, "create_task", `{"title":"t","target":"beta"}`)
			}
			if r.code != "QUOTA" || !strings.Contains(r.message, "may keep 12") {
				t.Fatalf("got %+v, want QUOTA", r)
			}
			if strings.HasSuffix(t.Name(), "REST") && (r.status != 429 || r.after != "60") {
				t.Errorf("got %+v, want 429 with Retry-After", r)
			}
			for _, name := range []string{"get_tasks", "get_messages", "whoami"} {
				if a := hub.Op(alpha, hub.Catalogue.Op(name), args{}); a.Status != 200 {
					t.Errorf("%s: %s", name, a)
				}
			}
			for path, body := range map[string]args{"/v1/tasks/" + held.TaskID + "/complete": {"result": "done"},
				"/v1/pauses": {"scope": "program", "name": "alpha", "words": "enough"}} {
				key := alpha
				if path == "/v1/pauses" {
					key = human
				}
				if a := hub.REST(key, "POST", path, body); a.Status >= 300 {
					t.Errorf("%s: %s", path, a)
				}
			}
			other := hub.Agent(user+"-other", "alpha")
			if r := send(t.Context(), other, "create_task", `{"title":"t","target":"beta"}`); r.err != nil || r.code != "" {
				t.Errorf("another user gets %+v", r)
			}
		})
	})
}

func TestAUserHasARateOverBothTransportsTogether(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Now: clock.Now,
		Limits: auth.Limits{Rate: 1, Burst: 5, UserRate: 1, UserBurst: 8}})
	over(t, hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
		clock.Pass(time.Hour)
		user := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		one, two := hub.Agent(user, "alpha"), hub.Agent(user, "beta")
		for i := range 10 {
			r := send(t.Context(), []string{one, two}[i%2], "whoami", `{}`)
			if i < 8 && r.status != 200 && r.status != 404 {
				t.Errorf("call %d gets %+v", i, r)
			}
			if i >= 8 && (r.status != 429 || r.after == "" || !strings.Contains(r.message, "over all keys")) {
				t.Errorf("call %d gets %+v, want 429 for the user", i, r)
			}
		}
	})
}

func TestAttackStalledUploadsLeaveTheServerToTheOthers(t *testing.T) {
	t.Parallel()
	room := bodies.New(16 * mebibyte) // two bodies of 1 MiB, one of each key
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Bodies: room})
	one, two, third := hub.Agent("ann", "alpha"), hub.Agent("ben", "alpha"), hub.Agent("cat", "alpha")
	large := `{"title":"t","target":"beta","instructions":"` + strings.Repeat("x", mebibyte-200) + `"}`
	var all sync.WaitGroup
	var ends []*io.PipeWriter
	for _, key := range []string{one, two} {
		r, w := io.Pipe()
		ends = append(ends, w)
		all.Go(func() {
			a, err := hub.Try(t.Context(), "POST", "/v1/tasks", r, "Authorization", "Bearer "+key)
			if err != nil || a.Status != 400 {
				t.Errorf("an upload that went on: %v, %v", a, err)
			}
		})
		if _, err := io.WriteString(w, large[:mebibyte-300]); err != nil {
			t.Fatal(err)
		}
	}
	domaintest.Eventually(t, "the room is taken", func() bool {
		taken, _ := room.Taken()
		return taken >= 15*mebibyte
	})
	over(t, hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
		r := send(t.Context(), third, "create_task", large[:300<<10]+`"}`)
		if r.err != nil || r.status != 503 || r.after == "" || r.code != "UNAVAILABLE" {
			t.Errorf("a third large body gets %+v, want 503 with Retry-After", r)
		}
		if r := send(t.Context(), third, "create_task", `{"title":"small","target":"beta"}`); r.err != nil || r.code != "" {
			t.Errorf("a small body gets %+v", r)
		}
	})
	for _, w := range ends {
		if _, err := io.WriteString(w, large[mebibyte-300:]); err != nil {
			t.Error(err)
		}
		hubtest.Must(t, w.Close())
	}
	all.Wait()
	over(t, hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
		if r := send(t.Context(), third, "create_task", large[:300<<10]+`"}`); r.code != "INVALID_ARGUMENT" {
			t.Errorf("afterwards a large body gets %+v, want to be read", r)
		}
	})
	if taken, keys := room.Taken(); taken != 0 || keys != 0 {
		t.Errorf("%d bytes of %d keys are still taken", taken, keys)
	}
}

func TestWhatIsServedWithoutAKeyIsCompressedTaggedAndLimited(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()),
		hubtest.Options{Now: clock.Now, Limits: auth.Limits{Rate: 1, Burst: 3}})
	for _, path := range []string{"/openapi.json", "/assets/main.js", "/assets/app.css", "/q"} {
		clock.Pass(time.Hour)
		plain := hub.Raw("GET", path, nil, "Accept-Encoding", "identity")
		packed := hub.Raw("GET", path, nil, "Accept-Encoding", "gzip")
		if plain.Status != 200 || packed.Status != 200 || packed.Header.Get("Content-Encoding") != "gzip" ||
			len(packed.Body) >= len(plain.Body) {
			t.Errorf("%s: %d and %d bytes, %v", path, len(plain.Body), len(packed.Body), packed.Header)
		}
		known := hub.Raw("GET", path, nil, "If-None-Match", packed.Header.Get("ETag"))
		if known.Status != 304 || len(known.Body) != 0 {
			t.Errorf("%s: who has it gets %d with %d bytes", path, known.Status, len(known.Body))
		}
		if a := hub.Raw("GET", path, nil); a.Status != 429 || a.Header.Get("Retry-After") == "" ||
			a.Fault().Code != fault.Exhausted.Code() {
			t.Errorf("%s: past the rate: %.200s", path, a)
		}
	}
}
