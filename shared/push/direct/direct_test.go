package direct_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/push/direct"
	"parley.internal/shared/push/ntfy/ntfytest"
	"parley.internal/shared/push/webpush"
	"parley.internal/shared/push/webpush/webpushtest"
)

func keys(t *testing.T) webpush.Keys {
	t.Helper()
	return domaintest.Must(webpush.NewKeys())(t)
}

func TestEveryTargetGetsTheNoticeByItsOwnWay(t *testing.T) {
	t.Parallel()
	browser, topics := webpushtest.New(t), ntfytest.New(t)
	var log bytes.Buffer
	hooks := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hooks <- r.URL.Path }))
	defer hook.Close()
	s := direct.New(direct.Options{Keys: keys(t), Private: true, Log: slog.New(slog.NewJSONHandler(&log, nil))})
	sub := browser.Subscribe()
	outcomes := s.Send(t.Context(), push.Notice{Title: "T", Key: "k"}, []push.Target{
		{Address: push.Address{Platform: push.Webhook, URL: hook.URL + "/a"}},
		{Address: push.Address{Platform: push.WebPush, URL: sub.Endpoint, P256dh: sub.P256dh, Auth: sub.Auth}},
		{Address: push.Address{Platform: push.WebPush, URL: sub.Endpoint + "-gone", P256dh: sub.P256dh, Auth: sub.Auth}},
		{Address: push.Address{Platform: push.Ntfy, URL: topics.URL + "/bell"}},
		{Address: push.Address{Platform: push.Ntfy, URL: "http://127.0.0.1:1/secret-topic"}},
	})
	var got []push.Result
	for _, o := range outcomes {
		got = append(got, o.Result)
	}
	want := []push.Result{push.Sent, push.Sent, push.Dead, push.Sent, push.Failed}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("target %d: %+v", i, outcomes[i])
		}
	}
	if len(hooks) != 1 || len(browser.Messages()) != 2 || len(topics.Messages("bell")) != 1 {
		t.Error("a target got none, or two")
	}
	if !strings.Contains(log.String(), `"platform":"ntfy","failed":1`) || strings.Contains(log.String(), "secret") {
		t.Errorf("the log has %s", log.String())
	}
}

func TestATargetThatAnswersLateDelaysNoOther(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	arrived := make(chan struct{}, 1)
	fast := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
	}))
	defer fast.Close()
	s := direct.New(direct.Options{Private: true})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived // also if the slow one never answers
		cancel()
	}()
	out := s.Send(ctx, push.Notice{Key: "k"}, []push.Target{
		{Address: push.Address{Platform: push.Webhook, URL: slow.URL}},
		{Address: push.Address{Platform: push.Webhook, URL: fast.URL}},
	})
	close(release)
	if out[0].Result != push.Failed {
		t.Errorf("the slow one: %+v", out[0])
	}
}

func TestTheCloudCallsNoPrivateAddress(t *testing.T) {
	t.Parallel()
	topics := ntfytest.New(t)
	s := direct.New(direct.Options{})
	out := s.Send(t.Context(), push.Notice{Key: "k"},
		[]push.Target{{Address: push.Address{Platform: push.Ntfy, URL: topics.URL + "/bell"}}})
	if out[0].Result != push.Refused || len(topics.Messages("bell")) != 0 {
		t.Errorf("%+v", out)
	}
}

func TestAnAddressIsCheckedByTheRulesOfItsPlatform(t *testing.T) {
	t.Parallel()
	sub := webpushtest.New(t).Subscribe()
	good := push.Address{Platform: push.WebPush, URL: "https://push.example/x", P256dh: sub.P256dh, Auth: sub.Auth}
	bad := good
	bad.URL, bad.Auth = "http://push.example/x", "x"
	s := direct.New(direct.Options{Keys: keys(t), Now: time.Now})
	for name, c := range map[string]struct {
		a      push.Address
		fields string // empty for a good one
	}{
		"a subscription":          {good, ""},
		"a broken subscription":   {bad, "subscription.endpoint subscription.keys.auth"},
		"a topic":                 {push.Address{Platform: push.Ntfy, URL: "https://n.example/t"}, ""},
		"no topic":                {push.Address{Platform: push.Ntfy, URL: "https://n.example/"}, "url"},
		"a topic without TLS":     {push.Address{Platform: push.Ntfy, URL: "http://n.example/t"}, "url"},
		"a reply topic":           {push.Address{Platform: push.Ntfy, URL: "https://n.example/t", Reply: "https://n.example/u"}, ""},
		"a reply topic elsewhere": {push.Address{Platform: push.Ntfy, URL: "https://n.example/t", Reply: "https://m.example/u"}, "reply"},
		"a webhook":               {push.Address{Platform: push.Webhook, URL: "https://h.example/?x=y"}, ""},
		"a broken webhook":        {push.Address{Platform: push.Webhook, URL: "h.example", Secret: "s"}, "url secret"},
	} {
		err := s.Check(c.a)
		if (err == nil) != (c.fields == "") || err != nil && domaintest.Fields(err) != c.fields {
			t.Errorf("%s: %v", name, err)
		}
	}
	domaintest.Refused(t, "without a key", direct.New(direct.Options{}).Check(good), fault.Precondition, "PARLEY_VAPID_KEY")
	if s.PublicKey() == "" || direct.New(direct.Options{}).PublicKey() != "" {
		t.Error("the public key is not that of the pair")
	}
}
