package firestore

import (
	"context"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"parley.internal/shared/store"
)

// sampled is the number of users whose samples are kept.
const sampled = 1000

// samples measure the documents of users, a page at a time.
type samples struct {
	mu    sync.Mutex
	users *simplelru.LRU[string, sample]
}

// sample is the part of a user's documents that was measured, up to and including the one named after.
type sample struct {
	after string
	// read is of this pass over the documents, whole of the last one, which had all of them.
	read, whole store.Usage
}

func newSamples() *samples {
	users, err := simplelru.NewLRU[string, sample](sampled, nil)
	if err != nil {
		panic("firestore: " + err.Error()) // only a size below 1 is refused
	}
	return &samples{users: users}
}

func (s *samples) get(user string) sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.users.Get(user)
	return v
}

func (s *samples) set(user string, v sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users.Add(user, v)
}

// Usage implements store.Driver. The number is Firestore's count, which costs a read for each thousand documents. The
// bytes are estimated from a sample of at most 300 more documents at each call.
func (d *Driver) Usage(ctx context.Context, user string) (store.Usage, error) {
	n, err := d.countDescendants(ctx, user)
	if err != nil || n == 0 {
		return store.Usage{}, err
	}
	s := d.samples.get(user)
	raws, err := d.descendantsPage(ctx, user, s.after)
	if err != nil {
		return store.Usage{}, err
	}
	for _, raw := range raws {
		s.read.Documents++
		s.read.Bytes += int64(store.Size(raw.Fields))
		s.after = d.name(raw.Ref)
	}
	if len(raws) < userDataPage {
		s = sample{whole: s.read}
	}
	d.samples.set(user, s)
	docs, bytes := s.read.Documents+s.whole.Documents, s.read.Bytes+s.whole.Bytes
	return store.Usage{Documents: n, Bytes: int64(float64(n) * float64(bytes) / float64(max(docs, 1)))}, nil
}

// countDescendants returns the number of all documents below a user.
func (d *Driver) countDescendants(ctx context.Context, user string) (n int64, err error) {
	const as = "n"
	req := &firestorepb.RunAggregationQueryRequest{
		Parent: d.documents() + "/users/" + user,
		QueryType: &firestorepb.RunAggregationQueryRequest_StructuredAggregationQuery{
			StructuredAggregationQuery: &firestorepb.StructuredAggregationQuery{
				QueryType: &firestorepb.StructuredAggregationQuery_StructuredQuery{StructuredQuery: &firestorepb.StructuredQuery{
					From: []*firestorepb.StructuredQuery_CollectionSelector{{AllDescendants: true}}}},
				Aggregations: []*firestorepb.StructuredAggregationQuery_Aggregation{{Alias: as,
					Operator: &firestorepb.StructuredAggregationQuery_Aggregation_Count_{
						Count: &firestorepb.StructuredAggregationQuery_Aggregation_Count{}}}},
			}},
	}
	err = d.retryRead(ctx, func() error {
		ctx, cancel := d.call(ctx)
		defer cancel()
		stream, err := d.client.RunAggregationQuery(ctx, req)
		if err != nil {
			return err
		}
		res, err := stream.Recv()
		n = res.GetResult().GetAggregateFields()[as].GetIntegerValue()
		return err
	})
	return n, d.toFault(ctx, err)
}
