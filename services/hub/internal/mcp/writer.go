package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"

	"github.com/labstack/echo/v4"
)

// standIn is the id of every request that mcp-go reads, which would change some ids: it reads numbers as float64. It is
// random, so that no result contains it.
var standIn = rand.Text()

var standInField = []byte(`"id":"` + standIn + `"`)

// writer writes a response of mcp-go with the id of the request, byte for byte, or the error that replaces it.
type writer struct {
	*echo.Response
	id   json.RawMessage
	call *call
	// failed is the first error of writing.
	failed error
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	parts := [][]byte{p}
	if e := w.call.instead; e != nil {
		text, err := e.response(w.id)
		if err != nil {
			return 0, err
		}
		parts, w.call.instead = [][]byte{text}, nil
	} else if before, after, found := bytes.Cut(p, standInField); found {
		parts = [][]byte{before, []byte(`"id":`), w.id, after}
	}
	for _, part := range parts {
		if _, err := w.Response.Write(part); err != nil {
			w.failed = err
			return 0, err
		}
	}
	return len(p), nil
}
