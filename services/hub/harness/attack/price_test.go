package attack

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store/storetest"
)

func TestAttackLongBodiesCostWhatTheyWeighOverBothTransports(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Now: clock.Now,
		Limits: auth.Limits{Rate: 1, Burst: 100, UserRate: 1, UserBurst: 400}})
	long := `{"title":"t","target":"beta","instructions":"` + strings.Repeat("x", mebibyte-1000) + `"}`
	over(t, hub, func(t *testing.T, send func(context.Context, string, string, string) reply) {
		user := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		key := hub.Agent(user, "alpha")
		if r := send(t.Context(), key, "create_task", long); r.err != nil || r.code != "INVALID_ARGUMENT" {
			t.Errorf("a body of 1 MiB of a key that made no call gets %+v, want to be read", r)
		}
		for range 36 {
			if r := send(t.Context(), key, "create_task", `{"title":"small","target":"beta"}`); r.err != nil || r.code != "" {
				t.Fatalf("a small body gets %+v", r)
			}
		}
		if r := send(t.Context(), key, "create_task", `{"title":"small","target":"beta"}`); r.status != 429 {
			t.Errorf("past the limit a small body gets %+v", r)
		}
		clock.Pass(time.Hour)
	})
}

// A client that announces a body and sends none is answered, so nothing of the body was waited for.
func TestAttackALongBodyPastTheLimitIsRefusedUnread(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Now: clock.Now,
		Limits: auth.Limits{Rate: 1, Burst: 64}})
	key := hub.Agent("u", "alpha")
	if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Fatal(a)
	}
	for _, path := range []string{"/v1/tasks", "/mcp"} {
		c, err := net.Dial("tcp", hub.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: "+hub.Addr()+"\r\nAuthorization: Bearer "+key+
			"\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n")
		hubtest.Must(t, err)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		hubtest.Must(t, err)
		if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: got %d, Retry-After %q", path, res.StatusCode, res.Header.Get("Retry-After"))
		}
		hubtest.Must(t, res.Body.Close())
		hubtest.Must(t, c.Close())
	}
	unknown := io.MultiReader(strings.NewReader(strings.Repeat("x", mebibyte)))
	a, err := hub.Try(t.Context(), http.MethodPost, "/v1/tasks", unknown, "Authorization", "Bearer "+key)
	if err != nil || a.Status != 429 || a.Fault().Code != "RESOURCE_EXHAUSTED" || a.Header.Get("Retry-After") != "1" {
		t.Errorf("one of unknown length gets %s, %v", a, err)
	}
}
