package rest

import (
	"bytes"
	"net/http"
)

// Body reads the body of a request. It takes no more memory than the body has bytes, and no more before they arrive than
// [smallBody].
func Body(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, smallBody)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// smallBody is the size, in bytes, of the bodies that are read without regard to the memory that others take.
const smallBody = 64 << 10
