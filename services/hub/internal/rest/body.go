package rest

import (
	"bytes"
	"errors"
	"net/http"

	"parley.internal/services/hub/internal/bodies"
	"parley.internal/shared/fault"
)

// Body reads the body of a request. It takes no more memory than the body has bytes, and no more before they arrive than
// [bodies.Small].
func Body(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, bodies.Small)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(r.Body); err != nil {
		return nil, badBody(err)
	}
	return b.Bytes(), nil
}

// badBody returns the answer to a body that cannot be read: one that is too large as it is, and Invalid for one that ends
// early or is not framed as HTTP says.
func badBody(err error) error {
	var large *http.MaxBytesError
	var f *fault.Error
	if errors.As(err, &large) || errors.As(err, &f) {
		return err
	}
	return fault.Wrap(fault.Invalid, err, "the body cannot be read: it ends early, or its length or chunks are malformed; "+
		"send it again, whole")
}
