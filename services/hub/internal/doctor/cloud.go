//go:build !laptop

package doctor

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2/google"

	"parley.internal/shared/app"
	"parley.internal/shared/store"
)

// Cloud is a deployment in a Google Cloud project. Its fields must not change after the first call of Checks.
type Cloud struct {
	// Project is the id of the project.
	Project string
	// Region is the region of the functions; empty for any region.
	Region string
	// Name is the prefix of all resource names, the variable name of the Terraform configuration.
	Name string
	// Schema, Reactions and Sweeps are the expected indexes, triggers and scheduled functions.
	Schema    *store.Schema
	Reactions []app.Reaction
	Sweeps    []app.Sweep
	// Store opens the store.
	Store func(context.Context) (Reader, error)
	// Now is the clock of this machine.
	Now func() time.Time
	// Find finds credentials; nil for the application default credentials.
	Find func(ctx context.Context, scopes ...string) (*google.Credentials, error)
	// Transport carries all calls except those of Store; nil for http.DefaultTransport.
	Transport http.RoundTripper

	once    sync.Once
	session *session
	failed  error
}

// The names of the checks of the cloud alone.
const (
	credentialsName = "credentials"
	databaseName    = "database"
	indexesName     = "indexes"
	fieldsName      = "fields"
	ttlName         = "ttl"
	triggersName    = "triggers"
	sweepsName      = "sweeps"
	pushName        = "push"
)

// Checks returns all checks of the deployment. They share one sign-in.
func (c *Cloud) Checks() []Check {
	checks := []Check{
		{Name: credentialsName, Look: c.credentials},
		{Name: clockName, Look: c.clock},
		{Name: databaseName, Look: c.signedIn(c.database)},
		{Name: storeName, Look: func(ctx context.Context) Result {
			if _, err := c.signIn(ctx); err != nil {
				return skip("not checked: there are no credentials")
			}
			return read(ctx, c.Store, c.Now, "Firestore in "+c.Project,
				"see the other checks, and give the account roles/datastore.viewer")
		}},
		{Name: indexesName, Look: c.signedIn(c.indexes)},
		{Name: fieldsName, Look: c.signedIn(c.fields)},
		{Name: ttlName, Look: c.signedIn(c.ttl)},
		{Name: triggersName, Look: c.signedIn(c.triggers)},
		{Name: sweepsName, Look: c.signedIn(c.sweeps)},
		{Name: pushName, Look: c.signedIn(c.push)},
	}
	for i := range checks {
		checks[i].Stuck = network
	}
	return checks
}

// Emulator returns the checks of a Firestore emulator at a host:port. Checks of features that an emulator lacks are
// skipped.
func Emulator(host string, store func(context.Context) (Reader, error), now func() time.Time) []Check {
	fix := "start it (make emulator), or unset FIRESTORE_EMULATOR_HOST to check the cloud"
	checks := (&Cloud{}).Checks()
	for i := range checks {
		checks[i].Look = func(context.Context) Result {
			return skip("not checked: FIRESTORE_EMULATOR_HOST is set, and an emulator has none")
		}
		if checks[i].Name == storeName {
			checks[i].Stuck = fix
			checks[i].Look = func(ctx context.Context) Result {
				return read(ctx, store, now, "the emulator at "+host, fix)
			}
		}
	}
	return checks
}

// slow is the duration of a read beyond which the store is too far away.
const slow = time.Second

// read reads twice: the first read connects, and the second measures the distance to the store.
func read(ctx context.Context, open func(context.Context) (Reader, error), now func() time.Time, what,
	fix string) Result {
	store, err := open(ctx)
	if err != nil {
		return fail("cannot open "+what+": "+err.Error(), fix)
	}
	defer func() { _ = store.Close() }() // nothing was written, so no error matters
	if err := store.Read(ctx); err != nil {
		return fail("cannot read from "+what+": "+err.Error(), fix)
	}
	start := now()
	if err := store.Read(ctx); err != nil {
		return fail("cannot read from "+what+": "+err.Error(), fix)
	}
	took := now().Sub(start).Round(time.Millisecond)
	if took > slow {
		return warn(fmt.Sprintf("a read from %s takes %v", what, took), "run the server where the database is")
	}
	return ok("a read from %s takes %v", what, took)
}

// reference is a URL of Google that answers at once, without a body and without credentials.
const reference = "https://www.googleapis.com/generate_204"

// clock compares the clock of this machine with Google's. It asks without credentials, since a wrong clock may be the
// reason that there are none.
func (c *Cloud) clock(ctx context.Context) Result {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, reference, nil)
	if err != nil {
		return fail(err.Error(), "")
	}
	before := c.Now()
	res, err := (&http.Client{Transport: c.transport()}).Do(req)
	if err != nil {
		return unreached(err)
	}
	after := c.Now()
	_ = res.Body.Close() // the body is empty
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return warn("cannot be compared: "+reference+" sends no Date header", network)
	}
	// The Date header has whole seconds, of a moment between before and after.
	travel := after.Sub(before)
	off := before.Add(travel / 2).Sub(date.Add(time.Second / 2))
	doubt := travel/2 + time.Second/2
	state := judge(max(off.Abs()-doubt, 0))
	if state == OK {
		return ok("the clock of this machine agrees with Google's to within %v", (off.Abs() + doubt).Round(time.Second))
	}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return Result{State: state,
		Said: fmt.Sprintf("the clock of this machine is %v %s Google's", off.Abs().Round(time.Second), way),
		Fix:  setClock}
}

// again returns the advice to deploy again.
func (c *Cloud) again() string {
	region := c.Region
	if region == "" {
		region = "REGION"
	}
	return fmt.Sprintf("deploy again: make deploy PROJECT=%s REGION=%s", c.Project, region)
}
