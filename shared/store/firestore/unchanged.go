package firestore

import (
	"context"
	"strings"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// UpdateUnchanged runs fn on reads outside of a transaction, and applies its writes if none of the documents that they
// change, of those that fn has read, was changed since. It holds no locks, so that readers of one collection on several
// servers do not wait for each other. fn runs again after contention.
func (d *Driver) UpdateUnchanged(ctx context.Context, fn work) error {
	return d.update(ctx, fn, func(a *attempt) { a.seen = &seen{at: map[string]*timestamppb.Timestamp{}} })
}

// seen are documents by name, and the times of their last changes.
type seen struct {
	mu sync.Mutex
	at map[string]*timestamppb.Timestamp
}

func (s *seen) note(doc *firestorepb.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[doc.GetName()] = doc.GetUpdateTime()
}

// require makes a commit depend on the documents that it changes being as they were read. It returns the name of one of
// them, an empty text if there is none.
func (s *seen) require(req *firestorepb.CommitRequest) (one string) {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range req.GetWrites() {
		name := w.GetUpdate().GetName()
		if name == "" {
			name = w.GetDelete()
		}
		if at := s.at[name]; at != nil {
			w.CurrentDocument = &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_UpdateTime{UpdateTime: at}}
			one = name
		}
	}
	return one
}

// changed reports whether a commit was refused because a document is not as it was read.
func changed(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition:
		return true
	case codes.NotFound: // a missing database has the same status
		return !strings.HasPrefix(status.Convert(err).Message(), "The database")
	}
	return false
}

// touch changes nothing in a document but the time of its last change, after a commit that depends on it got no answer:
// if that commit arrives later, it is refused, and a caller that looks at the documents now sees the outcome. Where the
// server does not answer in [rollbackTimeout] either, the outcome stays open.
func (d *Driver) touch(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	req := &firestorepb.CommitRequest{Database: d.root, Writes: []*firestorepb.Write{{
		Operation:        &firestorepb.Write_Update{Update: &firestorepb.Document{Name: name}},
		UpdateMask:       &firestorepb.DocumentMask{},
		UpdateTransforms: []*firestorepb.DocumentTransform_FieldTransform{stamp()},
		CurrentDocument:  exists(true),
	}}}
	for try := 1; ; try++ {
		call, done := d.call(ctx)
		_, err := d.client.Commit(call, req)
		done()
		if err == nil || classify(err) == final || !pause(ctx, try) {
			return
		}
	}
}
