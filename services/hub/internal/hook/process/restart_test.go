package process_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook/hooktest"
)

func TestAQuestionOutlivesARestartOfTheServerAndIsPutOnce(t *testing.T) {
	t.Parallel()
	hub := hooktest.New(t)
	address := "127.0.0.1:0"
	var waits atomic.Int32
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			waits.Add(1)
		}
		hub.ServeHTTP(w, r)
	})
	serve := func() *http.Server {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		s := &http.Server{Handler: handler}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	server := serve()
	m := hooktest.NewMachine(t, "http://"+address, "claude")
	m.Conn.Permissions = connection.Permissions{On: true, Timeout: 120}
	m.Connect(m.Conn)
	done := make(chan hooktest.Result, 1)
	go func() { done <- m.Hook("t1", "PermissionRequest", bash) }()
	hooktest.Eventually(t, "the hook waits for the answer", func() bool { return waits.Load() > 0 })
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	hub.Set("down", 0) // as a proxy says it while the server starts
	serve()
	hub.Set("", 0)
	hub.Answer("allow")
	if got := <-done; !strings.Contains(got.Out, `"allow"`) || len(hub.Asked()) != 1 {
		t.Errorf("got %+v, and asked %q", got, hub.Asked())
	}
}
