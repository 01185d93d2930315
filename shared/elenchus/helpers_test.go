package elenchus

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/store"
)

var (
	alpha   = domaintest.Bound("u", "alpha")
	beta    = domaintest.Bound("u", "beta")
	gamma   = domaintest.Bound("u", "gamma")
	mallory = domaintest.Bound("u", "mallory")
	unbound = domaintest.Unbound("u")
	human   = domaintest.Human("u")
	other   = domaintest.Bound("v", "alpha")
)

// fixture is a service on an empty store, with a clock that the test moves.
type fixture struct {
	*Service
	domaintest.Clock
	t *testing.T
}

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), idempotency.Def())...)
}

// fakeRandom is a random source with a fixed seed. It is safe for concurrent use.
type fakeRandom struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *fakeRandom) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.Read(p)
}

func over(t *testing.T, db *store.DB) *fixture {
	c := &fixture{t: t}
	c.Service = &Service{DB: db, Now: c.Clock.Now, Random: &fakeRandom{r: rand.New(rand.NewSource(1))}}
	return c
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

func (c *fixture) start(maxRounds int, given ...string) string {
	c.t.Helper()
	in := StartInput{
		Target:       "src/auth.ts",
		Requirements: "safe",
		WorkingDir:   "/home/u/app",
		MaxRounds:    maxRounds,
		Files:        pairs(given),
	}
	return domaintest.Must(c.Start(c.t.Context(), alpha, in))(c.t).SessionID
}

// pairs returns files from alternating paths and contents.
func pairs(list []string) []FileInput {
	var out []FileInput
	for p := range slices.Chunk(list, 2) {
		out = append(out, FileInput{p[0], p[1]})
	}
	return out
}

// known returns issues with an id only, as a round names known issues.
func known(ids ...string) []IssueInput {
	var out []IssueInput
	for _, id := range ids {
		out = append(out, IssueInput{ID: id})
	}
	return out
}

// fresh returns complete issues.
func fresh(severity Severity, ids ...string) []IssueInput {
	out := known(ids...)
	for i := range out {
		out[i].Severity, out[i].Summary, out[i].Category = severity, "about "+out[i].ID, "CORRECTNESS"
	}
	return out
}

// turn submits a round of the next role.
func (c *fixture) turn(id string, in RoundInput) RoundOutput {
	c.t.Helper()
	v := c.session(id)
	in.SessionID, in.Role = id, v.NextRole()
	if in.Output == "" {
		in.Output = "looked"
	}
	return domaintest.Must(c.SubmitRound(c.t.Context(), alpha, in))(c.t)
}

func (c *fixture) session(id string) Session {
	c.t.Helper()
	return domaintest.Must(sessions.Get(c.t.Context(), c.DB.User("u"), id))(c.t)
}

// all returns the issues of a verification by id.
func (c *fixture) all(id string) map[string]IssueView {
	c.t.Helper()
	out := map[string]IssueView{}
	in := IssuesInput{SessionID: id, Limit: 100}
	for {
		page := domaintest.Must(c.GetIssues(c.t.Context(), alpha, in))(c.t)
		for _, i := range page.Issues {
			out[i.ID] = i
		}
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			return out
		}
	}
}

// texts returns the files of a context, by path, as layer and content.
func (c *fixture) texts(id string) map[string]string {
	c.t.Helper()
	list := domaintest.Must(c.GetContext(c.t.Context(), alpha, ContextInput{SessionID: id}))(c.t)
	out := map[string]string{}
	for _, f := range list.Files {
		one := domaintest.Must(c.GetContext(c.t.Context(), alpha, ContextInput{SessionID: id, Path: f.Path}))(c.t)
		out[f.Path] = string(f.Layer) + ":" + *one.Content
	}
	return out
}

// on returns the disks of a server on the machine of one user, that of alpha.
func on(d disk) func(user string) Reader {
	return func(user string) Reader {
		if user != alpha.User {
			return nil
		}
		return d
	}
}

// disk is a working directory in memory.
type disk map[string]string

func (d disk) Read(_ context.Context, workingDir, p string) (string, error) {
	if text, ok := d[p]; ok && workingDir == "/home/u/app" {
		return text, nil
	}
	return "", fmt.Errorf("%s in %s: %w", p, workingDir, fs.ErrNotExist)
}

func (d disk) Check(_ context.Context, workingDir string) error {
	if workingDir != "/home/u/app" {
		return fmt.Errorf("working directory %q is refused: it is not under the allowed root /home/u/app", workingDir)
	}
	return nil
}

func (d disk) Tree(_ context.Context, workingDir, dir string, keep func(string) bool) ([]string, error) {
	out := []string{}
	for p := range d {
		if workingDir == "/home/u/app" && (dir == "" || strings.HasPrefix(p, dir+"/")) && keep(p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, fs.ErrNotExist
	}
	return out[:min(len(out), 200)], nil
}

func (d disk) Files(_ context.Context, workingDir, dir, ext string) ([]string, error) {
	out := []string{}
	for p := range d {
		if workingDir == "/home/u/app" && path.Dir(p) == path.Join(dir, ".") && strings.HasSuffix(p, ext) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, fs.ErrNotExist
	}
	return out, nil
}
