package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Text is a text with its media type, its compressed form and its ETag, which are made at the first request, so that the
// start of a server does not wait for them. Make one with [New]. It is safe for concurrent use.
type Text struct {
	kind    string
	plain   []byte
	prepare func() prepared
}

// prepared is the compressed form and the tag of a text, which its first request makes. packed is nil where it would be
// no shorter.
type prepared struct {
	packed []byte
	tag    string
}

// New returns a text that is served with a media type. The text must not change.
func New(kind string, text []byte) *Text {
	return &Text{kind: kind, plain: text, prepare: sync.OnceValue(func() prepared { return prepareText(text) })}
}

func prepareText(text []byte) prepared {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic("static: " + err.Error()) // only a level that does not exist is refused
	}
	// A buffer takes everything.
	_, _ = w.Write(text)
	_ = w.Close()
	sum := sha256.Sum256(text)
	out := prepared{tag: hex.EncodeToString(sum[:16])}
	if b.Len() < len(text) {
		out.packed = b.Bytes()
	}
	return out
}

// ServeHTTP answers GET and HEAD. Browsers may cache the answer but must revalidate it on each use, unless a
// Cache-Control was set before.
func (t *Text) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	h.Add("Vary", "Accept-Encoding")
	p := t.prepare()
	body, tag := t.plain, `"`+p.tag+`"`
	packed := p.packed != nil && AcceptsGzip(r.Header.Values("Accept-Encoding"))
	if packed {
		body, tag = p.packed, `"`+p.tag+`-gzip"`
	}
	h.Set("ETag", tag)
	if p.known(r.Header.Values("If-None-Match")) {
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
func (p prepared) known(given []string) bool {
	for _, line := range given {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == `"`+p.tag+`"` || tag == `"`+p.tag+`-gzip"` {
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
