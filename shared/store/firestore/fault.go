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

// toFault converts the error of an RPC to a fault. ctx is the caller's own: if it has ended, its error takes the place
// of the status.
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
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown:
		return fault.Wrap(fault.Unavailable, err, "the store cannot answer now; repeat the call")
	case codes.ResourceExhausted:
		return fault.Wrap(fault.Unavailable, err, "the store is over its quota; repeat the call later").After(time.Second)
	case codes.Aborted:
		return contended(err)
	case codes.PermissionDenied, codes.Unauthenticated, codes.NotFound:
		return fault.Wrap(fault.Internal, err, "firestore: access to %s failed: "+
			"check the project, the database and the permissions of the credentials", d.root)
	case codes.FailedPrecondition:
		return fault.Wrap(fault.Internal, err, "firestore: %s", status.Convert(err).Message())
	default:
		return fault.Wrap(fault.Internal, err, "firestore: %v", code)
	}
}

func contended(err error) error {
	return fault.Wrap(fault.Conflict, err, "too many calls change this at once; repeat the call")
}

// failure classifies the error of an RPC by whether the call can be repeated.
type failure int

const (
	final     failure = iota // must not be repeated
	aborted                  // the server aborted the transaction; nothing was applied
	transient                // there was no answer; the outcome is unknown
)

func classify(err error) failure {
	switch status.Code(err) {
	case codes.Aborted:
		return aborted
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Canceled, codes.Unknown:
		return transient // Unknown is the status of a server that failed without giving one
	case codes.InvalidArgument:
		// The server ended the transaction while fn was running.
		m := status.Convert(err).Message()
		if strings.Contains(m, "transaction") && (strings.Contains(m, "expired") || strings.Contains(m, "no longer valid")) {
			return aborted
		}
	}
	return final
}
