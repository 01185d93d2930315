// Package trace sends OpenTelemetry traces of HTTP requests and of the store calls behind them.
//
// An exporter is configured by the standard variables OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, over HTTP. Without either, nothing is wrapped and nothing is measured. Request
// and response bodies are never attributes of a span.
package trace
