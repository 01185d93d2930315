package firestore_test

import (
	"context"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
)

func TestWhatChangedSinceItWasReadIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change []store.Write // after the first run has read a and b
		action func(n int64) store.Write
		runs   int
		want   store.Fields // of a
	}{
		{"nothing", nil, func(n int64) store.Write { return put("a", store.Fields{"n": n}) }, 1, store.Fields{"n": int64(1)}},
		{"the document that is written", []store.Write{patch("a", store.Add("n", 10))},
			func(n int64) store.Write { return put("a", store.Fields{"n": n}) }, 2, store.Fields{"n": int64(11)}},
		{"the document that is patched", []store.Write{patch("a", store.Add("n", 10))},
			func(n int64) store.Write { return patch("a", store.Set("n", n)) }, 2, store.Fields{"n": int64(11)}},
		{"the document that is deleted", []store.Write{patch("a", store.Add("n", 10))},
			func(int64) store.Write { return remove("a") }, 2, nil},
		{"a document that is not written", []store.Write{patch("b", store.Add("n", 10))},
			func(n int64) store.Write { return put("a", store.Fields{"n": n}) }, 1, store.Fields{"n": int64(1)}},
		{"the document is gone", []store.Write{remove("a")},
			func(n int64) store.Write { return put("a", store.Fields{"n": n}) }, 2, store.Fields{"n": int64(-1)}},
		{"the patched document is gone", []store.Write{remove("a")},
			func(n int64) store.Write {
				if n < 0 {
					return put("a", store.Fields{"gone": true})
				}
				return patch("a", store.Set("n", n))
			}, 2, store.Fields{"gone": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, met := failing(t, map[string][]codes.Code{})
			write(t, d, put("a", store.Fields{"n": int64(0)}), put("b", store.Fields{"n": int64(0)}))
			runs := 0
			err := d.UpdateUnchanged(t.Context(), func(ctx context.Context, r store.Reads) ([]store.Write, error) {
				runs++
				raws, err := r.Get(ctx, []store.Ref{at("a"), at("b")})
				if err != nil {
					return nil, err
				}
				if runs == 1 && tc.change != nil {
					write(t, d, tc.change...)
				}
				n := int64(-1)
				if raws[0] != nil {
					n = raws[0].Fields["n"].(int64) + 1
				}
				return []store.Write{tc.action(n)}, nil
			})
			if err != nil || runs != tc.runs {
				t.Errorf("%d runs, %v; want %d", runs, err, tc.runs)
			}
			if got := read(t, d, "a"); len(got) != len(tc.want) || got["n"] != tc.want["n"] {
				t.Errorf("left is %v, want %v", got, tc.want)
			}
			for _, req := range met.sent["BatchGetDocuments"] {
				if req.(*firestorepb.BatchGetDocumentsRequest).GetConsistencySelector() != nil {
					t.Error("it reads in a transaction")
				}
			}
			if met.count("Rollback") > 0 {
				t.Error("there is something to roll back")
			}
		})
	}
}

func TestWhatChangesAtEachTryIsAConflict(t *testing.T) {
	t.Parallel()
	d, _ := failing(t, map[string][]codes.Code{"Commit": append([]codes.Code{codes.OK}, repeat(codes.FailedPrecondition, 99)...)})
	write(t, d, put("a", store.Fields{}))
	err := d.UpdateUnchanged(t.Context(), func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		_, err := r.Get(ctx, []store.Ref{at("a")})
		return []store.Write{put("a", store.Fields{"n": int64(1)})}, err
	})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v: %v", fault.Of(err), err)
	}
}

func TestACommitWithoutAnAnswerChangesNothingLater(t *testing.T) {
	t.Parallel()
	d, met := failing(t, map[string][]codes.Code{"Commit": {codes.OK, codes.Unavailable}})
	write(t, d, put("a", store.Fields{"name": "x", "n": int64(0)}))
	err := d.UpdateUnchanged(t.Context(), func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		_, err := r.Query(ctx, byName("x"))
		return []store.Write{put("a", store.Fields{"n": int64(1)})}, err
	})
	if !fault.Is(err, fault.OutcomeUnknown) || met.count("Commit") != 3 {
		t.Fatalf("%v: %v after %d commits", fault.Of(err), err, met.count("Commit"))
	}
	late := met.sent["Commit"][1].(*firestorepb.CommitRequest)
	conn, err := grpc.NewClient("passthrough:///"+emulator.Shared(t), grpc.WithPerRPCCredentials(admin{}),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := firestorepb.NewFirestoreClient(conn).Commit(t.Context(), late); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("the late commit: %v", err)
	}
	if got := read(t, d, "a"); got["n"] != int64(0) {
		t.Errorf("left is %v", got)
	}
}
