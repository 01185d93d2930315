package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// Text is a text with its media type, its compressed form and its ETag. Make one with [New]. It is safe for concurrent
// use.
type Text struct {
	kind          string
	plain, packed []byte
	tag           string
}

// New returns a text that is served with a media type.
func New(kind string, text []byte) *Text {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic("static: " + err.Error()) // only a level that does not exist is refused
	}
	// A buffer takes everything.
	_, _ = w.Write(text)
	_ = w.Close()
	sum := sha256.Sum256(text)
	t := &Text{kind: kind, plain: text, tag: hex.EncodeToString(sum[:16])}
	if b.Len() < len(text) {
		t.packed = b.Bytes()
	}
	return t
}

// ServeHTTP answers GET and HEAD. Browsers may cache the answer but must revalidate it on each use, unless a
// Cache-Control was set before.
func (t *Text) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	h.Add("Vary", "Accept-Encoding")
	body, tag := t.plain, `"`+t.tag+`"`
	packed := t.packed != nil && AcceptsGzip(r.Header.Values("Accept-Encoding"))
	if packed {
		body, tag = t.packed, `"`+t.tag+`-gzip"`
	}
	h.Set("ETag", tag)
	if t.known(r.Header.Values("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", t.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that has gone needs no answer
	}
}

// known reports whether a client has the text, in either form.
func (t *Text) known(given []string) bool {
	for _, line := range given {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == `"`+t.tag+`"` || tag == `"`+t.tag+`-gzip"` {
				return true
			}
		}
	}
	return false
}

// AcceptsGzip reports whether a client takes gzip.
func AcceptsGzip(given []string) bool {
	any := false
	for _, line := range given {
		for coding := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			_, q, _ := strings.Cut(weight, "=")
			v, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			takes := err != nil || v > 0
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				return takes
			case "*":
				any = takes
			}
		}
	}
	return any
}
