package firestore_test

import (
	"context"
	"path"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// faulty fails the first calls of a method with the given codes, in place of the server, and records the requests.
type faulty struct {
	mu    sync.Mutex
	codes map[string][]codes.Code
	sent  map[string][]any
}

func (f *faulty) meet(method string, req any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	method = path.Base(method)
	f.sent[method] = append(f.sent[method], req)
	if next := f.codes[method]; len(next) > 0 {
		f.codes[method] = next[1:]
		if next[0] != codes.OK {
			return status.Error(next[0], "injected")
		}
	}
	return nil
}

// count returns the number of calls of a method.
func (f *faulty) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sent[method])
}

type faultyStream struct {
	grpc.ClientStream
	f      *faulty
	method string
	err    error
}

func (s *faultyStream) SendMsg(m any) error {
	if s.err = s.f.meet(s.method, m); s.err != nil {
		return nil // streams report errors when they are read
	}
	return s.ClientStream.SendMsg(m)
}

func (s *faultyStream) RecvMsg(m any) error {
	if s.err != nil {
		return s.err
	}
	return s.ClientStream.RecvMsg(m)
}

// failing returns a driver whose calls fail with the given codes.
func failing(t *testing.T, calls map[string][]codes.Code) (*firestore.Driver, *faulty) {
	t.Helper()
	f := &faulty{codes: calls, sent: map[string][]any{}}
	opts := emulated(t)
	opts.GRPC = []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			if err := f.meet(method, req); err != nil {
				return err
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(
			ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			stream grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, cc, method, opts...)
			return &faultyStream{ClientStream: s, f: f, method: method}, err
		}),
	}
	return open(t, opts), f
}

func repeat(c codes.Code, n int) []codes.Code {
	out := make([]codes.Code, n)
	for i := range out {
		out[i] = c
	}
	return out
}

const none = fault.Kind(-1)

func TestACommitIsRepeatedOnlyIfThatIsSafe(t *testing.T) {
	t.Parallel()
	f := store.Fields{}
	for _, tc := range []struct {
		name  string
		write store.Write
		met   []codes.Code
		kind  fault.Kind
		sent  int
	}{
		{"contention, for a create", create("a", f), repeat(codes.Aborted, 3), none, 4},
		{"contention without end", create("a", f), repeat(codes.Aborted, 99), fault.Conflict, 12},
		{"no answer, for a put", put("a", f), repeat(codes.Unavailable, 2), none, 3},
		{"no answer without end", put("a", f), repeat(codes.Unavailable, 9), fault.OutcomeUnknown, 3},
		{"a failure without a status, for a put", put("a", f), repeat(codes.Unknown, 2), none, 3},
		{"failures without a status, without end", put("a", f), repeat(codes.Unknown, 9), fault.OutcomeUnknown, 3},
		{"no answer, for a delete", remove("a"), repeat(codes.DeadlineExceeded, 1), none, 2},
		{"no answer, for a create: it may be there", create("a", f), repeat(codes.Unavailable, 1), fault.OutcomeUnknown, 1},
		{"no answer, for an addition: it may be added", patch("a", store.Add("n", 1)),
			repeat(codes.Unavailable, 1), fault.OutcomeUnknown, 1},
		{"over the quota", put("a", f), repeat(codes.ResourceExhausted, 1), fault.Unavailable, 1},
		{"refused credentials", put("a", f), repeat(codes.PermissionDenied, 1), fault.Internal, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, met := failing(t, map[string][]codes.Code{"Commit": tc.met})
			err := commit(t, d, tc.write)
			if tc.kind == none && err != nil || tc.kind != none && !fault.Is(err, tc.kind) {
				t.Errorf("got %v: %v", fault.Of(err), err)
			}
			if n := met.count("Commit"); n != tc.sent {
				t.Errorf("sent %d times, want %d", n, tc.sent)
			}
		})
	}
}

func TestATransactionRunsAgainAfterContention(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		met  map[string][]codes.Code
		kind fault.Kind
		runs int
	}{
		{"at the commit", map[string][]codes.Code{"Commit": repeat(codes.Aborted, 2)}, none, 3},
		{"at a read", map[string][]codes.Code{"RunQuery": repeat(codes.Aborted, 2)}, none, 3},
		{"at the first read", map[string][]codes.Code{"BatchGetDocuments": repeat(codes.Aborted, 2)}, none, 3},
		{"a read that fails without a status", map[string][]codes.Code{"RunQuery": repeat(codes.Unknown, 1)}, none, 2},
		{"reads that fail without a status, without end", map[string][]codes.Code{"RunQuery": repeat(codes.Unknown, 9)},
			fault.Unavailable, 3},
		{"a read without answer", map[string][]codes.Code{"RunQuery": repeat(codes.Unavailable, 1)}, none, 2},
		{"a commit without answer is not repeated",
			map[string][]codes.Code{"Commit": repeat(codes.Unavailable, 1)}, fault.OutcomeUnknown, 1},
		{"reads without answer, without end", map[string][]codes.Code{"RunQuery": repeat(codes.Unavailable, 9)},
			fault.Unavailable, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, met := failing(t, tc.met)
			runs := 0
			err := d.Update(t.Context(), func(ctx context.Context, r store.Reads) ([]store.Write, error) {
				runs++
				// The driver must notice the error even if fn ignores it.
				_, _ = r.Get(ctx, []store.Ref{at("a")})
				_, _ = r.Query(ctx, byName("x"))
				return []store.Write{put("a", store.Fields{"n": int64(runs)})}, nil
			})
			if tc.kind == none && err != nil || tc.kind != none && !fault.Is(err, tc.kind) {
				t.Errorf("got %v: %v", fault.Of(err), err)
			}
			if runs != tc.runs {
				t.Errorf("%d runs, want %d", runs, tc.runs)
			}
			if tc.kind == none {
				if got := read(t, d, "a"); got["n"] != int64(runs) {
					t.Errorf("the last run's write is not there: %v", got)
				}
			}
			met.namesThePreviousOne(t)
		})
	}
}

// namesThePreviousOne checks that each transaction but the first names a failed one.
func (f *faulty) namesThePreviousOne(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	opened := 0
	for _, req := range f.sent["BatchGetDocuments"] {
		tx := req.(*firestorepb.BatchGetDocumentsRequest).GetNewTransaction()
		if tx == nil {
			continue
		}
		opened++
		if named := len(tx.GetReadWrite().GetRetryTransaction()) > 0; opened > 1 && !named && f.answeredRead() {
			t.Errorf("attempt %d does not name the attempt that it repeats", opened)
		}
	}
	if len(f.sent["BeginTransaction"]) > 0 {
		t.Error("a BeginTransaction was sent")
	}
}

// answeredRead reports whether the first read was answered, so that the driver knew the transaction's id.
func (f *faulty) answeredRead() bool {
	return len(f.sent["RunQuery"]) == len(f.sent["BatchGetDocuments"])
}

func TestAReadWithoutAnAnswerIsRepeated(t *testing.T) {
	t.Parallel()
	d, met := failing(t, map[string][]codes.Code{
		"BatchGetDocuments": repeat(codes.Unavailable, 2), "RunQuery": repeat(codes.Unavailable, 9),
	})
	if _, err := d.Get(t.Context(), []store.Ref{at("a")}); err != nil {
		t.Error(err)
	}
	if _, err := d.Query(t.Context(), byName("x")); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if a, b := met.count("BatchGetDocuments"), met.count("RunQuery"); a != 3 || b != 3 {
		t.Errorf("sent %d and %d times", a, b)
	}
}

func TestRetriesEndWithTheCallersContext(t *testing.T) {
	t.Parallel()
	d, _ := failing(t, map[string][]codes.Code{"Commit": repeat(codes.Aborted, 99)})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := d.Update(ctx, func(context.Context, store.Reads) ([]store.Write, error) {
		return []store.Write{put("a", store.Fields{})}, nil
	})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v: %v", fault.Of(err), err)
	}
}

func TestAnExhaustedQuotaSetsRetryAfter(t *testing.T) {
	t.Parallel()
	d, _ := failing(t, map[string][]codes.Code{"RunQuery": repeat(codes.ResourceExhausted, 1)})
	_, err := d.Query(t.Context(), byName("x"))
	if !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter != time.Second {
		t.Errorf("got %v", err)
	}
}
