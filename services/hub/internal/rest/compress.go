package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"sync"

	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/static"
)

// worthPacking is the size of the smallest answer that is compressed, in bytes. Most answers to agents are smaller, and
// cost no time of the processor.
const worthPacking = 4 << 10

var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("rest: " + err.Error()) // only a level that does not exist is refused
	}
	return w
}}

// writeJSON answers with a value as JSON, compressed where that is worth it and the client takes it. An answer to a call
// needs its bearer token, which no page of another origin has, so its length tells nobody about its contents.
func writeJSON(c echo.Context, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	if len(text) < worthPacking || !static.AcceptsGzip(c.Request().Header.Values(echo.HeaderAcceptEncoding)) {
		return c.JSONBlob(status, append(text, '\n'))
	}
	var packed bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	// A buffer takes everything.
	_, _ = w.Write(text)
	_ = w.Close()
	h.Set(echo.HeaderContentEncoding, "gzip")
	return c.JSONBlob(status, packed.Bytes())
}
