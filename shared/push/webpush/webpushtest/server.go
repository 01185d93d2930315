package webpushtest

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Subscription is a browser's subscription, with the keys in base64url.
type Subscription struct{ Endpoint, P256dh, Auth string }

// Message is a push that the service accepted or refused.
type Message struct {
	Endpoint string
	Header   http.Header
	// Claims are those of the sender's token, whose signature is valid.
	Claims map[string]any
	// Key is the sender's public VAPID key.
	Key string
	// Size is the length of the encrypted body, and Text the decrypted message.
	Size   int
	Text   []byte
	Status int
}

// Server is a push service. It is safe for concurrent use.
type Server struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	browsers map[string]Browser
	answers  map[string]func(w http.ResponseWriter, size int) int
	messages []Message
}

// New starts a service that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{t: t, browsers: map[string]Browser{}, answers: map[string]func(http.ResponseWriter, int) int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Subscribe makes a subscription of a new browser.
func (s *Server) Subscribe() Subscription {
	s.t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	b := Browser{Key: key, Auth: []byte(rand.Text()[:16])}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := fmt.Sprintf("/push/%d-%s", len(s.browsers), rand.Text())
	s.browsers[path] = b
	return Subscription{s.URL + path, encode(key.PublicKey().Bytes()), encode(b.Auth)}
}

// Answer sets the function that answers pushes to an endpoint: it may set headers, and returns the status. A push that
// is too large, of more than 4,096 bytes, is refused before.
func (s *Server) Answer(endpoint string, answer func(w http.ResponseWriter, size int) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[strings.TrimPrefix(endpoint, s.URL)] = answer
}

// Messages returns the pushes since the last call.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.messages
	s.messages = nil
	return out
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	b, ok := s.browsers[r.URL.Path]
	m := Message{Endpoint: s.URL + r.URL.Path, Header: r.Header, Size: len(body)}
	switch {
	case err != nil || r.Method != http.MethodPost || r.Header.Get("TTL") == "" ||
		r.Header.Get("Content-Encoding") != "aes128gcm":
		m.Status = http.StatusBadRequest
	case !ok:
		m.Status = http.StatusNotFound
	case len(body) > 4096:
		m.Status = http.StatusRequestEntityTooLarge
	default:
		if m.Claims, m.Key, err = Token(r.Header.Get("Authorization")); err != nil {
			s.t.Errorf("the token is not valid: %v", err)
			m.Status = http.StatusForbidden
			break
		}
		if m.Text, err = b.Decrypt(body); err != nil {
			s.t.Errorf("the push cannot be decrypted: %v", err)
		}
		m.Status = http.StatusCreated
		if answer := s.answers[r.URL.Path]; answer != nil {
			m.Status = answer(w, len(body))
		}
	}
	s.messages = append(s.messages, m)
	w.WriteHeader(m.Status)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
