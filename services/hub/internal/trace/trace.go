// Package trace sends OpenTelemetry traces of requests, and of calls to the store
// behind them, where an exporter is configured by the standard variables
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, over HTTP).
// Without one nothing is wrapped and nothing is measured. What callers send is
// never an attribute of a span.
package trace

import (
	"context"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
)

// Tracer sends traces. A nil Tracer sends none.
type Tracer struct{ provider *sdk.TracerProvider }

// Start is the tracer that the environment configures, nil for none.
func Start(ctx context.Context, env func(string) string, version string) (*Tracer, error) {
	if env("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "parley"),
			attribute.String("service.version", version)))
	if err != nil {
		return nil, err
	}
	t := &Tracer{sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))}
	otel.SetTracerProvider(t.provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return t, nil
}

// Handler traces the requests to h.
func (t *Tracer) Handler(h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return otelhttp.NewHandler(h, "request", otelhttp.WithTracerProvider(t.provider))
}

// GRPC traces the calls of a gRPC client.
func (t *Tracer) GRPC() []grpc.DialOption {
	if t == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(t.provider)))}
}

// Close sends what waits.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
