package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/store"
)

// Open opens an empty store. It closes the driver when the test ends.
type Open func(t *testing.T, schema *store.Schema) store.Driver

type item struct {
	Status    string    `json:"status"`
	Routes    []string  `json:"routes"`
	Rank      int       `json:"rank"`
	Kind      string    `json:"kind,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Due       time.Time `json:"due,omitzero"`
	Body      string    `json:"body,omitempty"`
	Count     int64     `json:"count"`
	Next      int       `json:"next"`
}

type inner struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

type rich struct {
	item
	Text    string             `json:"text"`
	Whole   int64              `json:"whole"`
	Part    float64            `json:"part"`
	Yes     bool               `json:"yes"`
	At      time.Time          `json:"at"`
	List    []inner            `json:"list"`
	Map     map[string]inner   `json:"map"`
	Pointer *inner             `json:"pointer,omitempty"`
	Raw     json.RawMessage    `json:"raw,omitempty"`
	Floats  map[string]float64 `json:"floats"`
}

var (
	items = store.Collection[item]{Name: "items", Indexes: []string{
		"status,routes[],rank desc,createdAt", "routes[],rank desc,createdAt",
		"routes[],rank desc,createdAt,due", "status", "createdAt", "createdAt desc", "status,rank"},
		Filters: []string{"kind,rank desc,createdAt"}, AllUsers: []string{"due"}, Unindexed: []string{"body"}}
	riches   = store.Collection[rich]{Name: "riches"}
	messages = store.Collection[item]{Name: "items/*/messages", Indexes: []string{"next"},
		AllUsers: []string{"status,createdAt"}}
)

// Schema returns the schema of the suite.
func Schema() *store.Schema { return store.NewSchema(items.Def(), riches.Def(), messages.Def()) }

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func put(t *testing.T, u *store.Tenant, docs map[string]item) {
	t.Helper()
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		for id, d := range docs {
			items.Put(tx, id, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func ids(page store.Page[item]) []string {
	out := []string{}
	for _, d := range page.Docs {
		out = append(out, d.ID)
	}
	return out
}

func query(t *testing.T, r store.Reader, q store.Query) []string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 50
	}
	page, err := items.Query(t.Context(), r, q)
	if err != nil {
		t.Fatal(err)
	}
	return ids(page)
}

// Suite checks every promise of the port on a driver, each as a subtest with a store of its own.
func Suite(t *testing.T, open Open) {
	promises := []struct {
		name string
		test func(*testing.T, *store.DB)
	}{
		{"a document comes back as it was put", keeps},
		{"one user's documents are not another's", tenancy},
		{"a transaction reads before it writes", readsFirst},
		{"a transaction that fails changes nothing", allOrNothing},
		{"preconditions are checked at the commit", preconditions},
		{"single fields are set, added to and removed", patches},
		{"a query that no declared index serves is refused", undeclared},
		{"the order is by value, then by id", ordered},
		{"times are ordered with their fractions", fractions},
		{"conditions hold", conditions},
		{"pages cover every document once", paging},
		{"a cursor of another query or user is refused", cursors},
		{"following by a number of the parent leaves no gap", following},
		{"documents are deleted in bulk", bulkDelete},
		{"of 16 competing transactions one wins", competing},
		{"of 16 that consume a document one gets it", consuming},
		{"counters lose nothing", counters},
		{"transactions in turn do not abort each other", takeTurns},
		{"a document over 1 MiB is refused", tooLarge},
		{"a malformed id is refused", badIDs},
		{"collections below different documents are separate", below},
		{"an administrator sees all users", allUsers},
		{"a walk finds all documents of a user", walks},
		{"what a user keeps is counted", usage},
		{"an erasure deletes all documents of a user and none of another", erases},
		{"a wait is woken by a change that matches", waitWakes},
		{"a distributor is given a change once, in place of the waits on it", waitOnDistributor},
		{"a wait ends by itself and when the store drains", waitEnds},
		{"too many waiters are turned away", waitCap},
		{"a wait follows no collection below documents", waitBelow},
		{"a wait is ended by its caller, without a fault", waitIsEnded},
	}
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			schema := Schema()
			p.test(t, store.New(open(t, schema), schema, store.WaitLimits(2, 20)))
		})
	}
	t.Run("a hundred users wait at once", func(t *testing.T) {
		t.Parallel()
		schema := Schema()
		manyUsersWait(t, store.New(open(t, schema), schema))
	})
	for name, test := range map[string]func(*testing.T, *store.DB){
		"the log has every change once":          logs,
		"a reader of the log misses nothing":     logMissesNothing,
		"the log takes the largest commit":       logTakesTheLargestCommit,
		"a wait on the log is woken by a change": logWakes,
		"an erasure leaves no log":               logIsErased,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := LogSchema()
			test(t, store.New(open(t, schema), schema))
		})
	}
	for name, test := range map[string]func(*testing.T, *store.DB){
		"a search finds what is written, and nothing else": searches,
		"a search is narrowed":                             searchNarrows,
		"the pages of a search have every document once":   searchPages,
		"a search follows the changes of a document":       searchFollows,
		"a search finds the first words of a long text":    searchLong,
		"an erasure leaves nothing to be found":            searchErased,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := TextSchema()
			test(t, store.New(open(t, schema), schema))
		})
	}
	t.Run("the first attempt of a transaction can be aborted", func(t *testing.T) {
		t.Parallel()
		schema := Schema()
		abortsFirst(t, store.New(open(t, schema), schema, store.AbortFirst()))
	})
}

func number(i int) string { return fmt.Sprintf("%03d", i) }
