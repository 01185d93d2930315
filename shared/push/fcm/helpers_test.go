package fcm_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/push/fcm"
	"parley.internal/shared/push/fcm/fcmtest"
)

// noon is the time of the tests' clock.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sender returns a sender for the endpoint.
func sender(t *testing.T, endpoint string, change ...func(*fcm.Options)) *fcm.Sender {
	t.Helper()
	o := fcm.Options{Project: "demo-parley", Endpoint: endpoint, Now: func() time.Time { return noon }}
	for _, c := range change {
		c(&o)
	}
	s, err := fcm.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scripted starts a stand-in that answers with a function. asked returns the messages so far, dry runs included.
func scripted(t *testing.T, respond func(fcmtest.Message) fcmtest.Reply) (endpoint string,
	asked func() []fcmtest.Message) {
	t.Helper()
	var mu sync.Mutex
	var all []fcmtest.Message
	web := httptest.NewServer(&fcmtest.Handler{Respond: func(_ context.Context, m fcmtest.Message) fcmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, m)
		return respond(m)
	}})
	t.Cleanup(web.Close)
	return web.URL + "/v1", func() []fcmtest.Message {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// question returns a notice with all fields set.
func question() push.Notice {
	badge := 3
	return push.Notice{Channel: push.Questions, Title: "alpha needs your answer", Body: "Ship <it>?", Type: "question",
		TaskID: "t1", Priority: push.Normal,
		URL: "https://parley.example/q/t1", Options: []string{"yes & now", `no, "later"`}, Key: "k-1_A", TTL: time.Hour,
		Badge: &badge}
}

func tokens(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return list
}

// within returns a context that bounds a wait of the test, so that a failure is reported instead of hanging.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
