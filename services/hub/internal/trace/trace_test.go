package trace

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestNothingIsWrappedWithoutAnExporter(t *testing.T) {
	t.Parallel()
	tracer, err := Start(t.Context(), func(string) string { return "" }, "v")
	if err != nil || tracer != nil || tracer.GRPC() != nil || tracer.Close(t.Context()) != nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	h := http.NotFoundHandler()
	if got := httptest.NewRecorder(); tracer.Handler(h) == nil {
		t.Fatal(got)
	}
}

func TestARequestIsSentAsASpan(t *testing.T) {
	got := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, err := Start(t.Context(), func(k string) string {
		if k == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return collector.URL
		}
		return ""
	}, "v")
	if err != nil || tracer == nil {
		t.Fatal(tracer, err)
	}
	h := tracer.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/health", nil))
	if w.Code != http.StatusTeapot || len(tracer.GRPC()) == 0 {
		t.Fatalf("status %d", w.Code)
	}
	if err := tracer.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if path := <-got; path != "/v1/traces" {
		t.Fatalf("the collector was called at %s", path)
	}
}
