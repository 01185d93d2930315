package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"parley.internal/shared/app"
)

// shown lists the collections that a person may read, with those below them, and the reason. Every other collection is
// closed.
var shown = map[string]string{
	"tasks":           "the person's work, questions, alerts, dreams and sprints",
	"leases":          "the leases of claimed tasks, which are stored apart from the tasks",
	"sessions":        "the sessions of agents",
	"heartbeats":      "the heartbeats of sessions, which are stored apart from the sessions",
	"relay":           "the messages between agents",
	"fires":           "debates",
	"councils":        "councils",
	"councilRequests": "the questions to councils, which are stored apart from the councils",
	"teams":           "teams",
	"teamBoards":      "the states of a team's tasks, which are stored apart from the team",
	"teamBeats":       "the heartbeats of a team's members, which are stored apart from the team",
	"verifications":   "verifications",
	"devices":         "the devices that receive notifications, to remove a lost phone",
	"settings":        "the person's settings, to change them",
}

// schema returns the path of every collection of a user, with a parent document for a collection below one.
func schema(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, d := range app.Schema().Defs() {
		paths = append(paths, strings.ReplaceAll(d.Name, "*", "parent"))
	}
	return slices.Sorted(slices.Values(paths))
}

func top(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// first returns an error if a query is refused or finds no document.
func first(t *testing.T, q firestore.Query) error {
	it := q.Limit(1).Documents(t.Context())
	defer it.Stop()
	_, err := it.Next()
	if err == iterator.Done {
		return fmt.Errorf("nothing was found")
	}
	return err
}

// access tries every method on the document d of a collection and returns the names of those that succeeded. It deletes
// the document last.
func access(t *testing.T, c *firestore.Client, coll string) string {
	t.Helper()
	ctx, d := t.Context(), c.Doc(coll+"/d")
	var can []string
	for _, try := range []struct {
		name string
		do   func() error
	}{
		{"get", func() error { _, err := d.Get(ctx); return err }},
		{"list", func() error { return first(t, c.Collection(coll).Query) }},
		{"create", func() error { _, err := c.Doc(coll+"/new").Create(ctx, fields{"x": 1}); return err }},
		{"put", func() error { _, err := d.Set(ctx, fields{"x": 2}); return err }},
		{"update", func() error { _, err := d.Update(ctx, []firestore.Update{{Path: "x", Value: 2}}); return err }},
		{"delete", func() error { _, err := d.Delete(ctx); return err }},
	} {
		switch err := try.do(); status.Code(err) {
		case codes.OK:
			can = append(can, try.name)
		case codes.PermissionDenied:
		default:
			t.Errorf("%s of %s: %v", try.name, coll, err)
		}
	}
	return strings.Join(can, " ")
}

func collections(t *testing.T, p *project) {
	server, me := p.as(t, admin), p.as(t, ann)
	others := map[string]*firestore.Client{"another": p.as(t, bob), "nobody": p.as(t, nobody)}
	seen := map[string]bool{}
	for _, path := range schema(t) {
		coll := "users/ann/" + path
		if _, err := server.Doc(coll+"/d").Set(t.Context(), fields{"x": 1}); err != nil {
			t.Fatal(err)
		}
		for name, c := range others {
			if can := access(t, c, coll); can != "" {
				t.Errorf("%s can %s in %s", name, can, coll)
			}
		}
		want := ""
		if seen[top(path)] = true; shown[top(path)] != "" {
			want = "get list"
		}
		if path == "devices" {
			want += " delete"
		}
		if can := access(t, me, coll); can != want {
			t.Errorf("the user can %q in %s, want %q", can, path, want)
		}
	}
	for name := range maps.Keys(shown) {
		if !seen[name] {
			t.Errorf("%s is shown, and there is no such collection", name)
		}
	}
	// A process names the runner that holds it, which only that runner may know.
	for _, never := range []string{
		"apiKeys", "links", "ledger", "ledgerDaily", "idempotency", "pushes", "pushQuotas", "teamProcesses",
	} {
		if !seen[never] || shown[never] != "" {
			t.Errorf("%s is not among the closed collections", never)
		}
	}
}

func outside(t *testing.T, p *project) {
	server := p.as(t, admin)
	for _, coll := range []string{
		"users", "tasks", "other/ann/tasks", "users/ann/unknown", "users/ann/unknown/parent/tasks",
		"users/ann/apiKeys/parent/tasks",
	} {
		if _, err := server.Doc(coll+"/d").Set(t.Context(), fields{"x": 1}); err != nil {
			t.Fatal(err)
		}
		for _, w := range []signIn{ann, nobody} {
			if can := access(t, p.as(t, w), coll); can != "" {
				t.Errorf("%q can %s in %s", w.uid, can, coll)
			}
		}
	}
	_, err := p.as(t, ann).Doc("users/ann").Get(t.Context())
	refused(t, "the user's own document, which is none of Parley's", err)
}

// An anonymous sign-in may not even read documents of the same user id.
func anonymously(t *testing.T, p *project) {
	for _, coll := range slices.Sorted(maps.Keys(shown)) {
		if can := access(t, p.as(t, anonymous), "users/ann/"+coll); can != "" {
			t.Errorf("an anonymous user can %s in %s", can, coll)
		}
	}
}

// reads reports whether a person reads the tasks of the user with that id.
func reads(t *testing.T, p *project, w signIn) bool {
	t.Helper()
	if _, err := p.as(t, admin).Doc("users/"+w.uid+"/tasks/d").Set(t.Context(), fields{"x": 1}); err != nil {
		t.Fatal(err)
	}
	_, err := p.as(t, w).Doc("users/" + w.uid + "/tasks/d").Get(t.Context())
	if err != nil {
		refused(t, w.uid+" with "+w.claims, err)
	}
	return err == nil
}

func admissions(t *testing.T, p *project) {
	for claims, want := range map[string]bool{
		`{"parley":true}`:          true,
		`{"parley":false}`:         false,
		`{"parley":"true"}`:        false,
		`{"parley":1}`:             false,
		`{"admin":true}`:           false,
		`{"email_verified":true}`:  false,
		`{"email":"ann@corp.net"}`: false,
		`{"email":"ann@example.org","email_verified":true}`:    true,
		`{"email":"ANN@Example.Org","email_verified":true}`:    true,
		`{"email":"ann@example.org","email_verified":false}`:   false,
		`{"email":"ann@example.org","email_verified":"true"}`:  false,
		`{"email":"ann@example.org"}`:                          false,
		`{"email":"ben@example.org","email_verified":true}`:    false,
		`{"email":"ben@CORP.example","email_verified":true}`:   true,
		`{"email":"ben@a.corp.example","email_verified":true}`: false,
	} {
		if got := reads(t, p, signIn{"unlisted", "password", claims}); got != want {
			t.Errorf("with %s a person is admitted: %t, want %t", claims, got, want)
		}
	}
	if !reads(t, p, signIn{"listed", "password", `{}`}) {
		t.Error("a listed user id is not admitted")
	}
	if reads(t, p, signIn{"Listed", "password", `{}`}) {
		t.Error("a listed user id in other case is admitted")
	}
	if reads(t, p, signIn{"local", "password", `{"parley":true,"email":"ann@example.org","email_verified":true}`}) {
		t.Error("the hub's own user is signed in")
	}
}

func lookalikes(t *testing.T, p *project) {
	for _, email := range []string{"boss@corp.example@evil.example", `\"boss@corp.example\"@evil.example`, "@corp.example",
		"corp.example", "", "@", "boss@corp.example.evil.example", "ann@example.org ", "\u212Aate@corp.example"} {
		claims := `{"email":"` + email + `","email_verified":true}`
		if reads(t, p, signIn{"unlisted2", "password", claims}) {
			t.Errorf("%s admits", claims)
		}
	}
}

func groups(t *testing.T, p *project) {
	c := p.as(t, ann)
	for _, path := range schema(t) {
		id := path[strings.LastIndexByte(path, '/')+1:]
		refused(t, "a query over every "+id, first(t, c.CollectionGroup(id).Query))
	}
}
