//go:build !laptop

package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2/google"
	functions "google.golang.org/api/cloudfunctions/v2"
	projects "google.golang.org/api/cloudresourcemanager/v3"
	scheduler "google.golang.org/api/cloudscheduler/v1"
	admin "google.golang.org/api/firestore/v1"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/app"
	"parley.internal/shared/store/firestore"
)

const (
	name   = "my-project"
	region = "europe-west1"
	person = "ann@example.org"
	sender = "parley-triggers@my-project.iam.gserviceaccount.com"
)

var now = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// parley is the expected deployment, created once.
var parley = sync.OnceValue(func() *app.App { return app.New(nil, app.Ports{}) })

// project answers the calls of Google's APIs for one project, over HTTP.
type project struct {
	t         *testing.T
	database  *admin.GoogleFirestoreAdminV1Database
	indexes   []*admin.GoogleFirestoreAdminV1Index
	fields    []*admin.GoogleFirestoreAdminV1Field
	functions []*functions.Function
	gone      []string // unreachable regions
	jobs      map[string]*scheduler.Job
	fcm       string
	bindings  []*projects.Binding
	own       []string // permissions of the caller
	account   string
	date      time.Time
	// refused are the refusals of a host, in place of its answers.
	refused map[string]refusal
	// hung, if not nil, holds back every answer until it is closed at the end of the test.
	hung chan struct{}
	// broken is the error of every call, nil for none.
	broken error

	mu    sync.Mutex
	calls []string
}

type refusal struct {
	code                 int
	message, reason, api string
}

// deployed returns a project with a healthy deployment.
func deployed(t *testing.T) *project {
	p := &project{t: t, fcm: "ENABLED", account: person, date: now, jobs: map[string]*scheduler.Job{},
		refused: map[string]refusal{},
		database: &admin.GoogleFirestoreAdminV1Database{Name: "projects/my-project/databases/(default)",
			LocationId: region, Type: "FIRESTORE_NATIVE",
			DeleteProtectionState:         "DELETE_PROTECTION_ENABLED",
			PointInTimeRecoveryEnablement: "POINT_IN_TIME_RECOVERY_ENABLED"},
		bindings: []*projects.Binding{{Role: "roles/datastore.user", Members: []string{"serviceAccount:" + sender}},
			{Role: "roles/firebasecloudmessaging.admin",
				Members: []string{"user:" + person, "serviceAccount:" + sender}}},
	}
	p.index()
	a := parley()
	add := func(function string, trigger *functions.EventTrigger) {
		p.functions = append(p.functions,
			&functions.Function{Name: "projects/my-project/locations/" + region + "/functions/" + function,
				State: "ACTIVE", EventTrigger: trigger})
	}
	for i, r := range a.Reactions() {
		add([]string{"parley-on-session-update", "parley-on-task-create", "parley-on-task-update"}[i],
			&functions.EventTrigger{
				EventType: "google.cloud.firestore.document.v1." + string(r.Kind), RetryPolicy: "RETRY_POLICY_RETRY",
				Trigger: "projects/my-project/locations/" + region + "/triggers/t",
				EventFilters: []*functions.EventFilter{{Attribute: "database", Value: "(default)"},
					{Attribute: "namespace", Value: "(default)"},
					{Attribute: "document", Operator: "match-path-pattern",
						Value: "users/{uid}/" + r.Collection + "/{id}"}}})
	}
	for i, s := range a.Sweeps() {
		add(
			[]string{"parley-cleanup-expired-sessions", "parley-cleanup-orphaned-tasks", "parley-cleanup-expired-relay",
				"parley-cleanup-ledger"}[i], nil)
		p.jobs["parley-"+s.Name] = &scheduler.Job{State: "ENABLED", Status: &scheduler.Status{},
			LastAttemptTime: now.Add(-s.Every).Format(time.RFC3339Nano)}
	}
	return p
}

// index adds all indexes of firestore.indexes.json, in the form in which Firestore lists them.
func (p *project) index() {
	var file struct {
		Indexes []struct {
			CollectionGroup, QueryScope string
			Fields                      []*admin.GoogleFirestoreAdminV1IndexField
		}
		FieldOverrides []struct {
			CollectionGroup, FieldPath string
			TTL                        bool
			Indexes                    []struct{ Order, ArrayConfig, QueryScope string }
		}
	}
	text, err := firestore.IndexesJSON(app.Schema())
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	const groups = "projects/my-project/databases/(default)/collectionGroups/"
	for i, x := range file.Indexes {
		way := x.Fields[len(x.Fields)-1].Order
		if way == "" {
			way = "ASCENDING"
		}
		p.indexes = append(p.indexes,
			&admin.GoogleFirestoreAdminV1Index{Name: fmt.Sprintf("%s%s/indexes/%d", groups, x.CollectionGroup, i),
				QueryScope: x.QueryScope, State: "READY",
				Fields: append(x.Fields, &admin.GoogleFirestoreAdminV1IndexField{FieldPath: "__name__", Order: way})})
	}
	for _, o := range file.FieldOverrides {
		f := &admin.GoogleFirestoreAdminV1Field{Name: groups + o.CollectionGroup + "/fields/" + o.FieldPath,
			IndexConfig: &admin.GoogleFirestoreAdminV1IndexConfig{AncestorField: groups + "__default__/fields/*"}}
		for _, x := range o.Indexes {
			f.IndexConfig.Indexes = append(f.IndexConfig.Indexes,
				&admin.GoogleFirestoreAdminV1Index{QueryScope: x.QueryScope, State: "READY",
					Fields: []*admin.GoogleFirestoreAdminV1IndexField{
						{FieldPath: o.FieldPath, Order: x.Order, ArrayConfig: x.ArrayConfig}}})
		}
		if o.TTL {
			f.TtlConfig = &admin.GoogleFirestoreAdminV1TtlConfig{State: "ACTIVE"}
		}
		p.fields = append(p.fields, f)
	}
}

// field returns a field with an override.
func (p *project) field(group, path string) *admin.GoogleFirestoreAdminV1Field {
	i := slices.IndexFunc(p.fields, func(f *admin.GoogleFirestoreAdminV1Field) bool {
		return strings.HasSuffix(f.Name, "/collectionGroups/"+group+"/fields/"+path)
	})
	if i < 0 {
		p.t.Fatalf("no override of %s.%s", group, path)
	}
	return p.fields[i]
}

func (p *project) function(short string) *functions.Function {
	i := slices.IndexFunc(p.functions, func(f *functions.Function) bool {
		return strings.HasSuffix(f.Name, "/parley-"+short)
	})
	if i < 0 {
		p.t.Fatalf("no function %s", short)
	}
	return p.functions[i]
}

func (p *project) drop(short string) {
	f := p.function(short)
	p.functions = slices.DeleteFunc(p.functions, func(g *functions.Function) bool { return f == g })
}

func (p *project) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The server notices that the client is gone only after it read the body.
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	p.mu.Lock()
	p.calls = append(p.calls, r.Method+" "+r.Host+r.URL.Path)
	p.mu.Unlock()
	if p.hung != nil {
		select {
		case <-p.hung:
		case <-r.Context().Done():
		}
		return
	}
	w.Header().Set("Date", p.date.Format(http.TimeFormat))
	if no, refused := p.refused[r.Host]; refused {
		p.refuse(w, no)
		return
	}
	if r.Host == "oauth2.googleapis.com" {
		answer(w, map[string]any{"access_token": "the token", "token_type": "Bearer", "expires_in": 3600})
		return
	}
	if strings.HasSuffix(r.URL.Path, "/generate_204") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Header.Get("Authorization") != "Bearer the token" || r.Header.Get("X-Goog-User-Project") != name {
		p.t.Errorf("%s is called with the headers %v", r.URL, r.Header)
	}
	p.serve(w, r)
}

func (p *project) refuse(w http.ResponseWriter, no refusal) {
	e := map[string]any{"code": no.code, "message": no.message, "error": "invalid_grant",
		"error_description": no.message}
	if no.reason != "" {
		e["details"] = []any{
			map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": no.reason,
				"metadata": map[string]any{"service": no.api}}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.code)
	if no.reason == "invalid_grant" {
		_ = json.NewEncoder(w).Encode(e)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *project) serve(w http.ResponseWriter, r *http.Request) {
	notFound := refusal{code: http.StatusNotFound, message: "not found"}
	path, base := r.URL.Path, "/v1/projects/my-project/databases/(default)"
	at := r.Host + path
	job, isJob := strings.CutPrefix(at,
		"cloudscheduler.googleapis.com/v1/projects/my-project/locations/"+region+"/jobs/")
	where, isFunctions := strings.CutPrefix(at, "cloudfunctions.googleapis.com/v2/projects/my-project/locations/")
	switch {
	case strings.HasPrefix(at, "firestore.googleapis.com"+base) && p.database == nil:
		p.refuse(w, notFound)
	case at == "firestore.googleapis.com"+base:
		answer(w, p.database)
	case at == "firestore.googleapis.com"+base+"/collectionGroups/-/indexes":
		// The list has several pages.
		if half := len(p.indexes) / 2; r.URL.Query().Get("pageToken") == "" {
			answer(w, admin.GoogleFirestoreAdminV1ListIndexesResponse{Indexes: p.indexes[:half], NextPageToken: "more"})
		} else {
			answer(w, admin.GoogleFirestoreAdminV1ListIndexesResponse{Indexes: p.indexes[half:]})
		}
	case at == "firestore.googleapis.com"+base+"/collectionGroups/-/fields" &&
		strings.Contains(r.URL.Query().Get("filter"), "ttlConfig:*"):
		answer(w, admin.GoogleFirestoreAdminV1ListFieldsResponse{Fields: p.fields})
	case isFunctions:
		in := strings.TrimSuffix(where, "/functions")
		var seen []*functions.Function
		for _, f := range p.functions {
			if in == "-" || strings.Contains(f.Name, "/locations/"+in+"/") {
				seen = append(seen, f)
			}
		}
		answer(w, functions.ListFunctionsResponse{Functions: seen, Unreachable: p.gone})
	case isJob && p.jobs[job] != nil:
		answer(w, p.jobs[job])
	case at == "serviceusage.googleapis.com/v1/projects/my-project/services/fcm.googleapis.com":
		answer(w, map[string]any{"state": p.fcm})
	case at == "cloudresourcemanager.googleapis.com/v3/projects/my-project:getIamPolicy":
		answer(w, projects.Policy{Bindings: p.bindings, Version: 3})
	case at == "cloudresourcemanager.googleapis.com/v3/projects/my-project:testIamPermissions":
		answer(w, map[string]any{"permissions": p.own})
	case at == "www.googleapis.com/oauth2/v2/userinfo":
		answer(w, map[string]any{"email": p.account})
	default:
		p.refuse(w, notFound)
	}
}

// transport sends every call to the project's server, whatever its host.
func (p *project) transport(server string) http.RoundTripper {
	u, err := url.Parse(server)
	if err != nil {
		p.t.Fatal(err)
	}
	return carrier(func(r *http.Request) (*http.Response, error) {
		if p.broken != nil {
			return nil, p.broken
		}
		r = r.Clone(r.Context())
		r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, u.Scheme, u.Host
		return http.DefaultTransport.RoundTrip(r)
	})
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// cloud returns the deployment with real clients and the credentials of a person.
func (p *project) cloud() *doctor.Cloud {
	server := httptest.NewServer(p)
	p.t.Cleanup(func() {
		if p.hung != nil {
			close(p.hung)
		}
		server.Close()
	})
	a := parley()
	return &doctor.Cloud{Project: name, Name: "parley", Schema: app.Schema(), Reactions: a.Reactions(),
		Sweeps: a.Sweeps(),
		Store:  stored(func(context.Context) error { return nil }), Now: func() time.Time { return now },
		Transport: p.transport(server.URL),
		Find: func(ctx context.Context, scopes ...string) (*google.Credentials, error) {
			file := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`
			return google.CredentialsFromJSONWithType(ctx, []byte(file), google.AuthorizedUser, scopes...)
		}}
}

// stored opens a store whose Read is fn.
func stored(fn func(context.Context) error) func(context.Context) (doctor.Reader, error) {
	return func(context.Context) (doctor.Reader, error) { return reads(fn), nil }
}

type reads func(context.Context) error

func (r reads) Read(ctx context.Context) error { return r(ctx) }
func (r reads) Close() error                   { return nil }

// examine runs checks and returns their results by name.
func examine(t *testing.T, checks []doctor.Check, patience time.Duration) map[string]doctor.Result {
	t.Helper()
	out := map[string]doctor.Result{}
	failed := doctor.Run(t.Context(), checks, patience, func(r doctor.Result) { out[r.Check] = r })
	for _, r := range out {
		if r.State == doctor.Fail {
			failed--
		}
		if (r.State == doctor.OK || r.State == doctor.Skip) != (r.Fix == "") {
			t.Errorf("%v: a result has a fix if and only if it is a warning or a failure", r)
		}
		if line := r.String(); strings.ContainsAny(line, "\n\x1b") || !strings.HasPrefix(line, string(r.State)) ||
			!strings.Contains(line, r.Check) {
			t.Errorf("%q is not the line of a check", line)
		}
	}
	if failed != 0 || len(out) != len(checks) {
		t.Errorf("%d checks gave %d results and another count of failures, by %d", len(checks), len(out), failed)
	}
	return out
}

// wanted compares results with expectations of the form "state words & words & !absent words". Checks without an
// expectation must be ok.
func wanted(t *testing.T, got map[string]doctor.Result, want map[string]string) {
	t.Helper()
	for check, r := range got {
		state, words, _ := strings.Cut(want[check], " ")
		if state == "" {
			state = "ok"
		}
		if string(r.State) != state {
			t.Errorf("%v; want %s", r, state)
		}
		for part := range strings.SplitSeq(words, " & ") {
			unwanted, not := strings.CutPrefix(part, "!")
			if strings.Contains(r.String(), unwanted) == not {
				t.Errorf("%v; want it to say %q", r, part)
			}
		}
	}
	for check := range want {
		if _, there := got[check]; !there {
			t.Errorf("there is no check %s", check)
		}
	}
}
