package shim

import (
	"bytes"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/app"
)

// delivery is a request that the functions received.
type delivery struct {
	path   string
	header http.Header
	body   string
}

// between returns a shim before functions that answer with the statuses in turn, and with the last one from then on.
func between(t *testing.T, pause time.Duration, statuses ...int) (s *Shim, emulators string, got chan delivery) {
	t.Helper()
	got = make(chan delivery, 100)
	n := 0
	functions := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(statuses[min(n, len(statuses)-1)])
		n++
		got <- delivery{r.URL.Path, r.Header, string(body)}
	}))
	s = &Shim{Target: functions.URL, Log: slog.New(slog.DiscardHandler), Tries: 3, Pause: pause}
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		front.Close()
		s.Close()
		functions.Close()
	})
	return s, front.URL, got
}

func tell(t *testing.T, method, url, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/protobuf",
		"ce-datacontenttype": "application/protobuf", "ce-id": "e", "ce-specversion": "1.0", "X-Other": "x"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

const trigger = "/functions/projects/demo-p/triggers/OnTaskCreate"

func text(body string) string { return base64.StdEncoding.EncodeToString([]byte(body)) }

func TestAnEventIsDeliveredInTheFormOfEventarc(t *testing.T) {
	t.Parallel()
	_, front, got := between(t, time.Millisecond, http.StatusOK)
	if status := tell(t, http.MethodPost, front+trigger, text("\x00\xffbinary")); status != http.StatusOK {
		t.Errorf("the emulator is answered %d", status)
	}
	d := <-got
	if d.path != "/OnTaskCreate" || d.body != "\x00\xffbinary" || d.header.Get("Ce-Id") != "e" ||
		d.header.Get("Ce-Specversion") != "1.0" || d.header.Get("Content-Type") != "application/protobuf" {
		t.Errorf("delivered %+v", d)
	}
	if d.header.Values("Ce-Datacontenttype") != nil || d.header.Values("X-Other") != nil {
		t.Errorf("too much is delivered: %v", d.header)
	}
}

func TestAnEventIsDeliveredUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		statuses []int
		want     int
	}{
		"taken at once":      {[]int{204}, 1},
		"taken at last":      {[]int{500, 429, 200}, 3},
		"never taken at all": {[]int{503}, 3},
	} {
		s, front, got := between(t, time.Millisecond, tc.statuses...)
		tell(t, http.MethodPost, front+trigger, text("x"))
		s.deliveries.Wait()
		if len(got) != tc.want {
			t.Errorf("%s: delivered %d times", name, len(got))
		}
		for range tc.want {
			if d := <-got; d.body != "x" || d.header.Get("Ce-Id") != "e" {
				t.Errorf("%s: delivered %+v", name, d)
			}
		}
	}
}

func TestCloseDropsPendingDeliveries(t *testing.T) {
	t.Parallel()
	s, front, got := between(t, time.Hour, http.StatusInternalServerError)
	tell(t, http.MethodPost, front+trigger, text("x"))
	<-got
	s.Close()
	if status := tell(t, http.MethodPost, front+trigger, text("x")); status != http.StatusServiceUnavailable ||
		len(got) != 0 {
		t.Errorf("afterwards it answers %d, delivered %d", status, len(got))
	}
}

func TestAnInvalidEventIsRefused(t *testing.T) {
	t.Parallel()
	s, front, got := between(t, time.Millisecond, http.StatusOK)
	for what, tc := range map[string]struct {
		method, path, body string
		want               int
	}{
		"another path":  {http.MethodPost, "/", text("x"), http.StatusNotFound},
		"no name":       {http.MethodPost, "/functions/projects/p/triggers/", text("x"), http.StatusNotFound},
		"a longer path": {http.MethodPost, trigger + "/x", text("x"), http.StatusNotFound},
		"a GET":         {http.MethodGet, trigger, "", http.StatusNotFound},
		"no base64":     {http.MethodPost, trigger, "!", http.StatusBadRequest},
	} {
		if status := tell(t, tc.method, front+tc.path, tc.body); status != tc.want {
			t.Errorf("%s is answered %d", what, status)
		}
	}
	if s.deliveries.Wait(); len(got) != 0 {
		t.Errorf("%d were delivered", len(got))
	}
}

func TestEachReactionIsRegisteredAsATrigger(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	status := http.StatusOK
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told.WriteString(r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Content-Type") + " " + string(body) +
			"\n")
		w.WriteHeader(status)
	}))
	defer emulator.Close()
	reactions := app.New(nil, app.Ports{}).Reactions()
	addr := strings.TrimPrefix(emulator.URL, "http://")
	if err := Register(t.Context(), addr, "demo-p", reactions); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`POST /emulator/v1/projects/demo-p/eventarcTrigger?eventarcTriggerId=OnTaskUpdate application/json ` +
			`{"database":"(default)","document":{"matchType":"PATH_PATTERN","value":"users/{uid}/tasks/{id}"},` +
			`"eventType":"google.cloud.firestore.document.v1.updated","namespace":"(default)"}`,
		"eventarcTriggerId=OnTaskCreate ", "eventarcTriggerId=OnSessionUpdate ", "users/{uid}/sessions/{id}",
		"document.v1.created",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("%s is not in\n%s", want, &told)
		}
	}
	status = http.StatusNotFound
	if err := Register(t.Context(), addr, "demo-p", reactions); err == nil ||
		!strings.Contains(err.Error(), reactions[0].Name) {
		t.Errorf("refused, it says %v", err)
	}
}
