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

// listenServer is a Firestore that only listens: each stream that a client opens
// comes to the test, which says what it hears. The emulator cannot be told to be
// late, and fails of itself where listeners come and go while others write.
type listenServer struct {
	firestorepb.UnimplementedFirestoreServer
	streams chan *heardStream
}

type heardStream struct {
	bound  time.Time // what the client asked to be told after
	send   chan func(firestorepb.Firestore_ListenServer) error
	closed chan struct{}
}

func (s *listenServer) Listen(stream firestorepb.Firestore_ListenServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	where := req.GetAddTarget().GetQuery().GetStructuredQuery().GetWhere()
	h := &heardStream{
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

func (h *heardStream) say(t *testing.T, do func(firestorepb.Firestore_ListenServer) error) {
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

// snapshot sends documents, and that this is all there was at a time.
func (h *heardStream) snapshot(t *testing.T, at time.Time, ids ...string) {
	t.Helper()
	h.say(t, func(s firestorepb.Firestore_ListenServer) error {
		for _, id := range ids {
			now := timestamppb.New(at)
			change := &firestorepb.DocumentChange{TargetIds: []int32{target}, Document: &firestorepb.Document{
				Name:       "projects/p/databases/(default)/documents/users/u/things/" + id,
				Fields:     map[string]*firestorepb.Value{changedField: {ValueType: &firestorepb.Value_TimestampValue{TimestampValue: now}}},
				CreateTime: now, UpdateTime: now,
			}}
			if err := s.Send(&firestorepb.ListenResponse{ResponseType: &firestorepb.ListenResponse_DocumentChange{DocumentChange: change}}); err != nil {
				return err
			}
		}
		for _, c := range []*firestorepb.TargetChange{
			{TargetChangeType: firestorepb.TargetChange_CURRENT, TargetIds: []int32{target}},
			{ReadTime: timestamppb.New(at), ResumeToken: []byte("token")},
		} {
			if err := s.Send(&firestorepb.ListenResponse{ResponseType: &firestorepb.ListenResponse_TargetChange{TargetChange: c}}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *heardStream) fail(t *testing.T) {
	t.Helper()
	h.say(t, func(firestorepb.Firestore_ListenServer) error { return status.Error(codes.PermissionDenied, "no more") })
}

func (h *heardStream) ended(t *testing.T) {
	t.Helper()
	select {
	case <-h.closed:
	case <-time.After(10 * time.Second):
		t.Error("the listener goes on")
	}
}

func (s *listenServer) next(t *testing.T) *heardStream {
	t.Helper()
	select {
	case h := <-s.streams:
		return h
	case <-time.After(10 * time.Second):
		t.Fatal("nobody listens")
	}
	return nil
}

// watched is a driver that watches a collection of such a server.
func watched(t *testing.T, renew renewal, first func(*listenServer)) (*listenServer, chan store.Change) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, g := &listenServer{streams: make(chan *heardStream)}, grpc.NewServer()
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
			t.Fatalf("heard %s, want %s", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("never heard %s", want)
	}
}

var (
	often = renewal{heard: 1 << 30, maxAge: time.Millisecond, chance: 1}
	never = renewal{heard: 1 << 30, maxAge: time.Hour, chance: 1}
	full  = renewal{heard: 1, maxAge: time.Hour, chance: 1}
)

func TestNoChangeIsLostWhereAListenerIsReplaced(t *testing.T) {
	t.Parallel()
	var old *heardStream
	s, heard := watched(t, often, func(s *listenServer) {
		old = s.next(t)
		old.snapshot(t, time.Now(), "initial")
	})
	fresh := s.next(t)
	// While the new one begins the old one is heard.
	old.snapshot(t, time.Now(), "told by the old")
	expect(t, heard, "told by the old false")
	// What the old one has not told yet is there when the new one begins.
	fresh.snapshot(t, time.Now(), "told by the old", "late")
	got := map[string]bool{}
	for range 2 {
		got[(<-heard).Ref.ID] = true
	}
	if !got["late"] {
		t.Errorf("heard %v: a change between the two is lost", got)
	}
	old.ended(t)
	fresh.snapshot(t, time.Now(), "told by the new")
	expect(t, heard, "told by the new false")
}

func TestAListenerThatHeldMuchIsReplacedWithANewerBound(t *testing.T) {
	t.Parallel()
	var old *heardStream
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
	var old *heardStream
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

func TestAListenerThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	var only *heardStream
	_, heard := watched(t, never, func(s *listenServer) {
		only = s.next(t)
		only.snapshot(t, time.Now())
	})
	only.fail(t)
	expect(t, heard, " true")
}

func TestAClockThatIsAheadIsPutRight(t *testing.T) {
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
