package rest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

func TestALargeAnswerIsCompressedForAClientThatTakesIt(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for range 10 {
		body := map[string]any{"title": "t", "target": "alpha", "instructions": strings.Repeat("do it again; ", 100)}
		if a := hub.REST(key, "POST", "/v1/tasks", body); a.Status != http.StatusCreated {
			t.Fatal(a)
		}
	}
	read := func(path string, header ...string) hubtest.Answer {
		t.Helper()
		a := hub.Raw("GET", path, nil, append(header, "Authorization", "Bearer "+key)...)
		if a.Status != http.StatusOK || a.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s: %s, %v", path, a, a.Header)
		}
		return a
	}
	plain := read("/v1/tasks?target=alpha", "Accept-Encoding", "identity")
	packed := read("/v1/tasks?target=alpha", "Accept-Encoding", "br, gzip")
	if plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" ||
		len(packed.Body)*5 > len(plain.Body) {
		t.Fatalf("%d bytes with %v; plain %d", len(packed.Body), packed.Header, len(plain.Body))
	}
	r, err := gzip.NewReader(bytes.NewReader(packed.Body))
	hubtest.Must(t, err)
	text, err := io.ReadAll(r)
	hubtest.Must(t, err)
	data := func(text []byte) string {
		t.Helper()
		var body struct{ Data json.RawMessage }
		hubtest.Must(t, json.Unmarshal(text, &body))
		return string(body.Data)
	}
	if data(text) != data(plain.Body) || !strings.Contains(data(text), "do it again") {
		t.Errorf("unpacked: %.200s", text)
	}
	if a := read("/v1/me", "Accept-Encoding", "gzip"); a.Header.Get("Content-Encoding") != "" {
		t.Errorf("a small answer is compressed: %s", a)
	}
}
