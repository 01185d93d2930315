//go:build laptop

package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

// absent returns the error for a setting that this program cannot follow.
func absent(setting string) error {
	return fmt.Errorf("%s needs the whole program, and this one is the part for a laptop, which make run builds: run "+
		"make build, or install a release (docs/install.md), or take the setting away", setting)
}

// Tracer is that of a program without traces.
type Tracer struct{}

// Handler returns h.
func (*Tracer) Handler(h http.Handler) http.Handler { return h }

// Close returns nil.
func (*Tracer) Close(context.Context) error { return nil }

// Trace returns nil, and an error if the environment configures a tracer.
func Trace(_ context.Context, env func(string) string, _ string) (*Tracer, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if env(name) != "" {
			return nil, absent(name)
		}
	}
	return nil, nil
}

// OpenStore returns an error.
func OpenStore(context.Context, string, string, *Tracer) (store.Driver, error) {
	return nil, absent("--store firestore")
}

// SignIns returns an error.
func SignIns(context.Context, string, admission.List) (auth.Keys, error) {
	return nil, absent("--firebase-project")
}

// Messaging returns an error.
func Messaging(_ context.Context, _, endpoint string, _ *slog.Logger) (push.Sender, error) {
	if endpoint != "" {
		return nil, absent("--fcm-endpoint")
	}
	return nil, absent("--fcm-project")
}

// Checks returns an error.
func Checks(Deployment) ([]doctor.Check, error) { return nil, absent("--store firestore") }
