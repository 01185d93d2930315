package txproxy

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type thing struct {
	N int64 `json:"n"`
}

var things = store.Collection[thing]{Name: "things", Indexes: []string{"n"}}

// newProxy returns a store and the raw client of a hub, both behind one proxy, and the name of their database.
func newProxy(t *testing.T) (*store.Tenant, *grpc.ClientConn, string) {
	t.Helper()
	project := emulator.Project(t)
	p, err := New(t.Context(), emulator.Shared(t))
	if err != nil {
		t.Fatal(err)
	}
	d, err := firestore.Open(t.Context(), firestore.Options{Project: project, EmulatorHost: p.Addr})
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, store.NewSchema(things.Def()))
	hub, err := grpc.NewClient("passthrough:///"+p.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = hub.Close() // the test may have done so
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.User("u"), hub, "projects/" + project + "/databases/(default)"
}

func put(ctx context.Context, u *store.Tenant, n int64) error {
	return u.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var v thing
		if err := store.Load(ctx, tx, things.Fetch("a", &v)); err != nil {
			return err
		}
		things.Put(tx, "a", thing{n})
		return nil
	})
}

func owner(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner")
}

// begin locks the document in a transaction, by reading it or by a query.
func begin(t *testing.T, hub *grpc.ClientConn, database string, query bool) {
	t.Helper()
	c := firestorepb.NewFirestoreClient(hub)
	mode := &firestorepb.TransactionOptions_ReadWrite_{ReadWrite: &firestorepb.TransactionOptions_ReadWrite{}}
	options := &firestorepb.TransactionOptions{Mode: mode}
	user := database + "/documents/users/u"
	var tx []byte
	if query {
		q := &firestorepb.StructuredQuery{From: []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: "things"}}}
		s, err := c.RunQuery(owner(t.Context()), &firestorepb.RunQueryRequest{
			Parent:              user,
			QueryType:           &firestorepb.RunQueryRequest_StructuredQuery{StructuredQuery: q},
			ConsistencySelector: &firestorepb.RunQueryRequest_NewTransaction{NewTransaction: options},
		})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := s.Recv(); err == nil; r, err = s.Recv() {
			tx = append(tx, r.GetTransaction()...)
		}
	} else {
		s, err := c.BatchGetDocuments(owner(t.Context()), &firestorepb.BatchGetDocumentsRequest{
			Database:            database,
			Documents:           []string{user + "/things/a"},
			ConsistencySelector: &firestorepb.BatchGetDocumentsRequest_NewTransaction{NewTransaction: options},
		})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := s.Recv(); err == nil; r, err = s.Recv() {
			tx = append(tx, r.GetTransaction()...)
		}
	}
	if len(tx) == 0 {
		t.Fatal("no transaction was begun")
	}
}

// The emulator would keep the locks for a minute, longer than an update tries to lock the document.
func TestTheLocksOfAKilledHubAreReleased(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]bool{"by reading it": false, "by a query": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, hub, database := newProxy(t)
			if err := put(t.Context(), u, 1); err != nil {
				t.Fatal(err)
			}
			begin(t, hub, database, query)
			if err := hub.Close(); err != nil {
				t.Fatal(err)
			}
			if err := put(t.Context(), u, 2); err != nil {
				t.Errorf("after the end of the hub that held the lock: %v", err)
			}
			if v, err := things.Get(t.Context(), u, "a"); err != nil || v.N != 2 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// A wait uses streams in both directions, and a refused commit a status with details.
func TestTheProxyIsTransparentToADriver(t *testing.T) {
	t.Parallel()
	u, _, _ := newProxy(t)
	if err := put(t.Context(), u, 1); err != nil {
		t.Fatal(err)
	}
	looks, seen := 0, int64(0)
	err := things.Wait(t.Context(), u, nil, 40*time.Second, func(ctx context.Context) (bool, error) {
		v, err := things.Get(ctx, u, "a")
		if looks++; looks == 2 && err == nil { // the listener stands
			err = put(ctx, u, 2)
		}
		seen = v.N
		return seen == 2, err
	})
	if err != nil || seen != 2 {
		t.Errorf("the wait ended with %d, %v", seen, err)
	}
	err = u.Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		things.Create(tx, "a", thing{})
		return nil
	})
	if err == nil || err.Error() != `things "a" already exists` {
		t.Errorf("created twice: %v", err)
	}
}
