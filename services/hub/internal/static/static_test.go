package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/static"
)

var text = strings.Repeat("the same words ", 1000)

func get(t *static.Text, method string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	return w.Result()
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		from = z
	}
	b, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestATextIsCompressedForThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	s := static.New("text/plain", []byte(text))
	for accept, packed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "GZIP": true, "*": true, "": false,
		"br": false, "gzip;q=0": false, "*;q=0": false, "gzip;q=0, *": false, "identity": false} {
		r := get(s, "GET", "Accept-Encoding", accept)
		got := read(t, r)
		if r.StatusCode != 200 || got != text || (r.Header.Get("Content-Encoding") == "gzip") != packed ||
			r.Header.Get("Vary") != "Accept-Encoding" || r.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%q: got %d with %v", accept, r.StatusCode, r.Header)
		}
		if packed && r.ContentLength > int64(len(text)/10) {
			t.Errorf("%q: %d bytes of %d were sent", accept, r.ContentLength, len(text))
		}
	}
}

func TestWhoHasTheTextGetsNone(t *testing.T) {
	t.Parallel()
	s := static.New("text/plain", []byte(text))
	plain, packed := get(s, "GET").Header.Get("ETag"), get(s, "GET", "Accept-Encoding", "gzip").Header.Get("ETag")
	if plain == "" || packed == "" || plain == packed {
		t.Fatalf("the tags are %s and %s, want two", plain, packed)
	}
	for tag, status := range map[string]int{plain: 304, packed: 304, "W/" + plain: 304, `"other", ` + plain: 304, "*": 304,
		`"other"`: 200, "": 200, strings.Trim(plain, `"`): 200} {
		r := get(s, "GET", "If-None-Match", tag)
		if body := read(t, r); r.StatusCode != status || (status == 304) != (body == "") || r.Header.Get("ETag") == "" {
			t.Errorf("%q: got %d with %d bytes, want %d", tag, r.StatusCode, len(body), status)
		}
	}
	if other := static.New("text/plain", []byte(text+"!")); get(other, "GET", "If-None-Match", plain).StatusCode != 200 {
		t.Error("another text has the same tag")
	}
}

func TestAHeadRequestGetsTheHeadersAlone(t *testing.T) {
	t.Parallel()
	r := get(static.New("text/plain", []byte(text)), "HEAD")
	if body := read(t, r); r.StatusCode != 200 || body != "" || r.Header.Get("Content-Length") != "15000" {
		t.Errorf("got %d, %q, %v", r.StatusCode, body, r.Header)
	}
}

func TestATextThatCompressionMakesLongerIsSentAsItIs(t *testing.T) {
	t.Parallel()
	if r := get(static.New("text/plain", []byte("a")), "GET", "Accept-Encoding", "gzip"); read(t, r) != "a" ||
		r.Header.Get("Content-Encoding") != "" {
		t.Errorf("got %v", r.Header)
	}
}
