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

// Cloud is a deployment in a project of Google's.
type Cloud struct {
	// Project is its id.
	Project string
	// Region is where the functions are; empty for wherever they are found.
	Region string
	// Name begins the names of all that Terraform made: its variable name.
	Name string
	// Schema, Reactions and Sweeps are what the deployment should have.
	Schema    *store.Schema
	Reactions []app.Reaction
	Sweeps    []app.Sweep
	// Store opens the store.
	Store func(context.Context) (Reader, error)
	// Now is this machine's clock.
	Now func() time.Time
	// Find finds credentials; nil is the application default ones.
	Find func(ctx context.Context, scopes ...string) (*google.Credentials, error)
	// Transport carries all calls but those of Store; nil is the default one.
	Transport http.RoundTripper

	once    sync.Once
	session *session
	failed  error
}

// The checks of a deployment.
const (
	credentialsName = "credentials"
	clockName       = "clock"
	storeName       = "store"
	databaseName    = "database"
	indexesName     = "indexes"
	fieldsName      = "fields"
	ttlName         = "ttl"
	triggersName    = "triggers"
	sweepsName      = "sweeps"
	pushName        = "push"
)

// Checks are all there is to look at.
func (c *Cloud) Checks() []Check {
	checks := []Check{
		{Name: credentialsName, Look: c.credentials},
		{Name: clockName, Look: c.clock},
		{Name: databaseName, Look: c.asked(c.database)},
		{Name: storeName, Look: func(ctx context.Context) Result {
			if _, err := c.signIn(ctx); err != nil {
				return skip("not looked at: there are no credentials")
			}
			return read(ctx, c.Store, c.Now, "Firestore in "+c.Project,
				"look at the checks beside this one, and whether the account has roles/datastore.viewer")
		}},
		{Name: indexesName, Look: c.asked(c.indexes)},
		{Name: fieldsName, Look: c.asked(c.fields)},
		{Name: ttlName, Look: c.asked(c.ttl)},
		{Name: triggersName, Look: c.asked(c.triggers)},
		{Name: sweepsName, Look: c.asked(c.sweeps)},
		{Name: pushName, Look: c.asked(c.push)},
	}
	for i := range checks {
		checks[i].Stuck = network
	}
	return checks
}

// Emulator are the checks of a Firestore emulator at a host:port. What it does not have
// is skipped.
func Emulator(host string, store func(context.Context) (Reader, error), now func() time.Time) []Check {
	fix := "start it (make emulator), or unset FIRESTORE_EMULATOR_HOST to look at the cloud"
	checks := (&Cloud{}).Checks()
	for i := range checks {
		checks[i].Look = func(context.Context) Result {
			return skip("FIRESTORE_EMULATOR_HOST is set: an emulator has none")
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

// Reader reads through an open store, which Close closes.
type Reader interface {
	Read(context.Context) error
	Close() error
}

// slow is how long a read takes from far away.
const slow = time.Second

// read reads twice: the first read connects, the second tells how far away the store is.
func read(ctx context.Context, open func(context.Context) (Reader, error), now func() time.Time, what,
	fix string) Result {
	store, err := open(ctx)
	if err != nil {
		return fail("cannot open "+what+": "+err.Error(), fix)
	}
	defer func() { _ = store.Close() }() // nothing was written
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

// reference answers nothing, at once, to everybody.
const reference = "https://www.googleapis.com/generate_204"

// clock compares this machine's with Google's. It asks without credentials: a clock that
// is off is why there may be none.
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
	_ = res.Body.Close() // it has none
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return warn("cannot be compared: "+reference+" tells no time", network)
	}
	// Google told the second in which it answered, somewhere between the two.
	travel := after.Sub(before)
	off := before.Add(travel / 2).Sub(date.Add(time.Second / 2))
	doubt := travel/2 + time.Second/2
	state := judge(max(off.Abs()-doubt, 0))
	if state == OK {
		return ok("this machine's is Google's, to within %v", (off.Abs() + doubt).Round(time.Second))
	}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return Result{State: state,
		Said: fmt.Sprintf("this machine's is %v %s Google's", off.Abs().Round(time.Second), way), Fix: setClock}
}

// again is how a deployment is put right.
func (c *Cloud) again() string {
	region := c.Region
	if region == "" {
		region = "REGION"
	}
	return fmt.Sprintf("deploy again: make deploy PROJECT=%s REGION=%s", c.Project, region)
}
