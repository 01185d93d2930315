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

// Tracer sends traces. All methods of a nil Tracer are valid and send none.
type Tracer struct{ provider *sdk.TracerProvider }

// Start returns the tracer that the environment configures, or nil without an error if it configures none. Start sets
// the global tracer provider and propagator of OpenTelemetry. Close the tracer at the end.
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

// Handler returns a handler that traces the requests to h.
func (t *Tracer) Handler(h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return otelhttp.NewHandler(h, "request", otelhttp.WithTracerProvider(t.provider))
}

// GRPC returns the options that trace the calls of a gRPC client.
func (t *Tracer) GRPC() []grpc.DialOption {
	if t == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(t.provider)))}
}

// Close sends the spans that are still buffered, within the deadline of ctx, and stops the tracer.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
