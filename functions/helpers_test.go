package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	"github.com/googleapis/google-cloudevents-go/cloud/firestoredata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	_ "parley.internal/functions"
	"parley.internal/functions/internal/event"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/push/fcm/fcmtest"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/supervise"
)

const helperVariable = "FUNCTIONS_TEST_HELPER"

// The framework's server cannot be stopped, so it runs as a process of its own: this binary with the address as its
// argument.
func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "" {
		os.Exit(m.Run())
	}
	host, port, err := net.SplitHostPort(os.Args[1])
	if err == nil {
		err = funcframework.StartHostPort(host, port)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// world is a server of the functions with its own store and stand-in for FCM.
type world struct {
	*app.App
	t       *testing.T
	fcm     *fcmtest.Server
	project string
	url     string
	now     func() time.Time
	logs    *supervise.Output
	// end stops the functions; their output is complete then.
	end func()
}

var (
	human = identity.Caller{User: "u", Kind: identity.Human}
	alpha = identity.Caller{User: "u", Program: "alpha", Kind: identity.Agent}
	beta  = identity.Caller{User: "u", Program: "beta", Kind: identity.Agent}
)

func begin(t *testing.T, env ...string) *world {
	t.Helper()
	w := &world{t: t, fcm: fcmtest.New(t), project: emulator.Project(t), logs: &supervise.Output{}}
	w.now = func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	host := emulator.Shared(t)
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: host, Project: w.project})
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, app.Schema())
	t.Cleanup(func() { _ = db.Close() })
	w.App = app.New(db, app.Ports{Now: func() time.Time { return w.now() }})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := supervise.Server{
		Args: func(addr string) []string { return []string{self, addr} },
		Env: append([]string{helperVariable + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
			"GOOGLE_CLOUD_PROJECT=" + w.project,
			emulator.Variable + "=" + host, "PARLEY_FCM_ENDPOINT=" + w.fcm.Endpoint(),
			"PARLEY_PUBLIC_URL=https://parley.example/"}, env...),
		Path: "/CleanupLedger", Status: http.StatusMethodNotAllowed, Output: w.logs,
	}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	w.url, w.end = p.URL(), p.Stop
	return w
}

// change is an event in the form of Eventarc.
type change struct {
	function, id string
	kind         store.EventKind
	at           time.Time
	body         []byte
}

// post delivers the event once, in the binary mode of HTTP, and returns the answer's status.
func (w *world) post(c change) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/"+c.function, bytes.NewReader(c.body))
	if err != nil {
		w.t.Fatal(err)
	}
	const schema = "https://github.com/googleapis/google-cloudevents/blob/main/proto/google/events/cloud/firestore/v1/" +
		"data.proto"
	for name, value := range map[string]string{"Content-Type": "application/protobuf", "Ce-Specversion": "1.0",
		"Ce-Id": c.id, "Ce-Type": event.Type(c.kind),
		"Ce-Source":  "//firestore.googleapis.com/projects/" + w.project + "/databases/(default)",
		"Ce-Time":    c.at.Format(time.RFC3339Nano),
		"Ce-Project": w.project, "Ce-Database": "(default)", "Ce-Namespace": "(default)", "Ce-Location": "eur3",
		"Ce-Dataschema": schema} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// doc returns a document of the user as stored in the database.
func (w *world) doc(path string) *firestoredata.Document {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet,
		"http://"+emulator.Shared(w.t)+"/v1/projects/"+w.project+"/databases/(default)/documents/users/u/"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	d := &firestoredata.Document{}
	if err == nil {
		err = protojson.Unmarshal(body, d)
	}
	if err != nil || d.Name == "" {
		w.t.Fatalf("%s is not there: %v\n%s", path, err, body)
	}
	return d
}

// event returns the event of a change that happened now.
func (w *world) event(function string, before, after *firestoredata.Document) change {
	w.t.Helper()
	c := change{function: function, id: strings.ToLower(function) + "-1", kind: store.Created, at: w.now()}
	if before != nil {
		c.kind = store.Updated
	}
	var err error
	if c.body, err = proto.Marshal(&firestoredata.DocumentEventData{Value: after, OldValue: before}); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// registerDevices registers a device of the human for each token.
func (w *world) registerDevices(tokens ...string) {
	w.t.Helper()
	for _, token := range tokens {
		d, err := w.Signal.Register(w.t.Context(), human,
			op.Fill(signal.DeviceInput{Token: token, Platform: "android"}))
		must(w, d, err)
	}
}

func must[T any](w *world, v T, err error) T {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// tokens returns the tokens of the pushes in the order of arrival.
func (w *world) tokens() string {
	var out []string
	for _, m := range w.fcm.Messages() {
		out = append(out, m.Token)
	}
	return strings.Join(out, " ")
}

// swept is the answer of a sweep.
type swept struct {
	status  int
	allow   string
	Success bool
	Data    *app.Report
	Error   *struct{ Code, Message string }
}

func (w *world) sweep(method, function string) swept {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+"/"+function, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	s := swept{status: res.StatusCode, allow: res.Header.Get("Allow")}
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil {
		w.t.Fatal(err)
	}
	return s
}
