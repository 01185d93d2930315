package firestore

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"parley.internal/shared/fault"
)

// toFault is the fault in what an RPC returned. ctx is the caller's own: where
// that has ended, the status tells nothing more.
func (d *Driver) toFault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if ctx.Err() != nil {
		return fault.From(ctx.Err())
	}
	switch code := status.Code(err); code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return fault.Wrap(fault.Unavailable, err, "the store cannot answer now; repeat the call")
	case codes.ResourceExhausted:
		return fault.Wrap(fault.Unavailable, err, "the store is over its quota; repeat the call later").After(time.Second)
	case codes.Aborted:
		return contended(err)
	case codes.PermissionDenied, codes.Unauthenticated, codes.NotFound:
		return fault.Wrap(fault.Internal, err, "firestore: %s refuses: is this the right project and database, and may these credentials use it?", d.root)
	case codes.FailedPrecondition:
		return fault.Wrap(fault.Internal, err, "firestore: %s", status.Convert(err).Message())
	default:
		return fault.Wrap(fault.Internal, err, "firestore: %v", code)
	}
}

func contended(err error) error {
	return fault.Wrap(fault.Conflict, err, "too many calls change this at once; repeat the call")
}

// failure is what an RPC's error means for trying again.
type failure int

const (
	final     failure = iota
	aborted           // the server gave the transaction up; nothing was applied
	transient         // no answer: nothing is known
)

func classify(err error) failure {
	switch status.Code(err) {
	case codes.Aborted:
		return aborted
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Canceled:
		return transient
	case codes.InvalidArgument:
		// A transaction that the server ended while fn was thinking.
		m := status.Convert(err).Message()
		if strings.Contains(m, "transaction") && (strings.Contains(m, "expired") || strings.Contains(m, "no longer valid")) {
			return aborted
		}
	}
	return final
}
