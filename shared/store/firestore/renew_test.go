package firestore

import (
	"fmt"
	"net"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"parley.internal/shared/store"
)

// listenServer is a Firestore server with the Listen method only. Each stream of a client is sent to the test, which
// decides on its responses. The emulator cannot delay its responses, and fails if listeners start and stop during
// writes.
type listenServer struct {
	firestorepb.UnimplementedFirestoreServer
	streams chan *clientStream
}

type clientStream struct {
	bound  time.Time // the lower bound of the client's query
	send   chan func(firestorepb.Firestore_ListenServer) error
	closed chan struct{}
}

func (s *listenServer) Listen(stream firestorepb.Firestore_ListenServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	where := req.GetAddTarget().GetQuery().GetStructuredQuery().GetWhere()
	h := &clientStream{
		bound: where.GetFieldFilter().GetValue().GetTimestampValue().AsTime(),
		send:  make(chan func(firestorepb.Firestore_ListenServer) error), closed: make(chan struct{}),
	}
	defer close(h.closed)
	select {
	case s.streams <- h:
	case <-stream.Context().Done():
		return nil
	}
	for {
		select {
		case do := <-h.send:
			if err := do(stream); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (h *clientStream) say(t *testing.T, do func(firestorepb.Firestore_ListenServer) error) {
	t.Helper()
	select {
	case h.send <- do:
	case <-h.closed:
		t.Fatal("the listener was ended")
	case <-time.After(10 * time.Second):
		t.Fatal("the listener is stuck")
	}
}

const target = int32('g' + 'o') // the one that the high-level client listens to

// snapshot sends documents and the end of a snapshot at the given time.
func (h *clientStream) snapshot(t *testing.T, at time.Time, ids ...string) {
	t.Helper()
	h.say(t, func(s firestorepb.Firestore_ListenServer) error {
		for _, id := range ids {
			now := timestamppb.New(at)
			change := &firestorepb.DocumentChange{TargetIds: []int32{target}, Document: &firestorepb.Document{
				Name: "projects/p/databases/(default)/documents/users/u/things/" + id,
				Fields: map[string]*firestorepb.Value{
					changedField: {ValueType: &firestorepb.Value_TimestampValue{TimestampValue: now}},
				},
				CreateTime: now, UpdateTime: now,
			}}
			res := &firestorepb.ListenResponse_DocumentChange{DocumentChange: change}
			if err := s.Send(&firestorepb.ListenResponse{ResponseType: res}); err != nil {
				return err
			}
		}
		for _, c := range []*firestorepb.TargetChange{
			{TargetChangeType: firestorepb.TargetChange_CURRENT, TargetIds: []int32{target}},
			{ReadTime: timestamppb.New(at), ResumeToken: []byte("token")},
		} {
			res := &firestorepb.ListenResponse_TargetChange{TargetChange: c}
			if err := s.Send(&firestorepb.ListenResponse{ResponseType: res}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *clientStream) fail(t *testing.T) {
	t.Helper()
	h.say(t, func(firestorepb.Firestore_ListenServer) error { return status.Error(codes.PermissionDenied, "no more") })
}

func (h *clientStream) ended(t *testing.T) {
	t.Helper()
	select {
	case <-h.closed:
	case <-time.After(10 * time.Second):
		t.Error("the listener goes on")
	}
}

func (s *listenServer) next(t *testing.T) *clientStream {
	t.Helper()
	select {
	case h := <-s.streams:
		return h
	case <-time.After(10 * time.Second):
		t.Fatal("no stream was opened")
	}
	return nil
}

// watched returns a server and the changes of a driver that watches a collection of it.
func watched(t *testing.T, renew renewal, first func(*listenServer)) (*listenServer, chan store.Change) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, g := &listenServer{streams: make(chan *clientStream)}, grpc.NewServer()
	firestorepb.RegisterFirestoreServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	d, err := Open(t.Context(), Options{Project: "p", EmulatorHost: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	d.renew = renew
	heard, began := make(chan store.Change, 100), make(chan error)
	go func() {
		_, err := d.Watch(t.Context(), "u", "things", func(c store.Change) { heard <- c })
		began <- err
	}()
	first(s)
	if err := <-began; err != nil {
		t.Fatal(err)
	}
	return s, heard
}

func expect(t *testing.T, heard chan store.Change, want string) {
	t.Helper()
	select {
	case c := <-heard:
		if got := fmt.Sprintf("%s %v", c.Ref.ID, c.Lost); got != want {
			t.Fatalf("received %s, want %s", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("never received %s", want)
	}
}

var (
	often = renewal{maxDocs: 1 << 30, maxAge: time.Millisecond, jitter: 1}
	never = renewal{maxDocs: 1 << 30, maxAge: time.Hour, jitter: 1}
	full  = renewal{maxDocs: 1, maxAge: time.Hour, jitter: 1}
)

func TestReplacingAListenerLosesNoChange(t *testing.T) {
	t.Parallel()
	var old *clientStream
	s, heard := watched(t, often, func(s *listenServer) {
		old = s.next(t)
		old.snapshot(t, time.Now(), "initial")
	})
	fresh := s.next(t)
	// The old listener reports changes while the new one starts.
	old.snapshot(t, time.Now(), "from the old")
	expect(t, heard, "from the old false")
	// The first snapshot of the new listener has the changes that the old one did not report.
	fresh.snapshot(t, time.Now(), "from the old", "late")
	got := map[string]bool{}
	for range 2 {
		got[(<-heard).Ref.ID] = true
	}
	if !got["late"] {
		t.Errorf("received %v: a change between the two is lost", got)
	}
	old.ended(t)
	fresh.snapshot(t, time.Now(), "from the new")
	expect(t, heard, "from the new false")
}

func TestAListenerWithManyDocumentsIsReplacedByOneWithANewerBound(t *testing.T) {
	t.Parallel()
	var old *clientStream
	s, heard := watched(t, full, func(s *listenServer) {
		old = s.next(t)
		old.snapshot(t, time.Now())
	})
	old.snapshot(t, time.Now(), "a", "b")
	<-heard
	<-heard
	fresh := s.next(t)
	if !fresh.bound.After(old.bound) {
		t.Errorf("the bound went from %v to %v", old.bound, fresh.bound)
	}
	fresh.snapshot(t, time.Now())
	old.ended(t)
}

func TestAListenerThatCannotBeReplacedGoesOn(t *testing.T) {
	t.Parallel()
	var old *clientStream
	s, heard := watched(t, often, func(s *listenServer) {
		old = s.next(t)
		old.snapshot(t, time.Now())
	})
	s.next(t).fail(t)
	old.snapshot(t, time.Now(), "a")
	expect(t, heard, "a false")
	s.next(t).snapshot(t, time.Now())
	old.ended(t)
}

func TestAListenerReportsItsFailure(t *testing.T) {
	t.Parallel()
	var only *clientStream
	_, heard := watched(t, never, func(s *listenServer) {
		only = s.next(t)
		only.snapshot(t, time.Now())
	})
	only.fail(t)
	expect(t, heard, " true")
}

func TestALocalClockThatIsAheadIsCorrected(t *testing.T) {
	t.Parallel()
	server := func() time.Time { return time.Now().Add(-time.Hour) }
	_, heard := watched(t, never, func(s *listenServer) {
		wrong := s.next(t)
		wrong.snapshot(t, server())
		wrong.ended(t)
		right := s.next(t)
		if off := server().Sub(right.bound); off < margin-time.Second || off > margin+10*time.Second {
			t.Errorf("the bound is %v before the server's time", off)
		}
		right.snapshot(t, server())
		right.snapshot(t, server(), "a")
	})
	expect(t, heard, "a false")
}
