package firestore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	hi "cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

type swept struct {
	At time.Time `json:"at"`
}

var due = store.Collection[swept]{Name: "due", AllUsers: []string{"at"}}

// admin holds the credentials that the emulator accepts as an administrator's, which writes in bulk need.
type admin struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (admin) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity returns false: the emulator serves without TLS.
func (admin) RequireTransportSecurity() bool { return false }

// dueNow returns the number of documents that a sweep finds, page by page.
func dueNow(t *testing.T, db *store.DB) int {
	t.Helper()
	n, cursor := 0, ""
	for {
		docs, next, err := due.QueryAll(t.Context(), store.NewAdmin(db), store.Query{
			Where: []store.Cond{store.Le("at", time.Now())}, Order: []string{"at"}, Limit: 100, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		n += len(docs)
		for i, d := range docs {
			if i > 0 && d.Value.At.Before(docs[i-1].Value.At) {
				t.Fatal("the documents are not in the order of their times")
			}
		}
		if cursor = next; next == "" {
			return n
		}
	}
}

// Documents of a version without shards are found by the sweeps of several new servers.
func TestASweepFindsDocumentsFromBeforeTheyHadShards(t *testing.T) {
	t.Parallel()
	const documents, users = 650, 3
	host, project := emulator.Shared(t), emulator.Project(t)
	schema := store.NewSchema(due.Def())
	connect := func() *store.DB {
		return store.New(open(t, firestore.Options{EmulatorHost: host, Project: project}), schema)
	}
	client, err := hi.NewClient(t.Context(), project, option.WithEndpoint(host), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithPerRPCCredentials(admin{})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	batch := client.BulkWriter(t.Context())
	var jobs []*hi.BulkWriterJob
	for i := range documents {
		doc := client.Doc(fmt.Sprintf("users/u%d/due/d%d", i%users, i))
		job, err := batch.Set(doc, map[string]any{"at": time.Now().Add(-time.Duration(i) * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	batch.End()
	for _, job := range jobs {
		if _, err := job.Results(); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if n := dueNow(t, connect()); n != documents {
				t.Errorf("a sweep finds %d documents of %d", n, documents)
			}
		})
	}
	wg.Wait()
	db := connect()
	err = db.User("u0").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		due.Put(tx, "new", swept{At: time.Now().Add(-time.Hour)})
		due.Patch(tx, "d0", store.Set("at", time.Now().Add(time.Hour)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := dueNow(t, db); n != documents {
		t.Errorf("after one more and one that is not due any more, a sweep finds %d", n)
	}
	err = db.User("u0").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		due.Patch(tx, "d3", store.Set(store.ShardField, 1))
		return nil
	})
	if err == nil {
		t.Error("a document may set its shard")
	}
}
