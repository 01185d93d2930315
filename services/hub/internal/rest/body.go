package rest

import (
	"bytes"
	"net/http"

	"parley.internal/services/hub/internal/bodies"
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
		return nil, err
	}
	return b.Bytes(), nil
}
