//go:build !laptop

package cloud

import (
	"context"
	"log/slog"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/doctor"
	"parley.internal/services/hub/internal/firebase"
	"parley.internal/services/hub/internal/trace"
	"parley.internal/shared/push"
	"parley.internal/shared/push/fcm"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Tracer sends traces. All methods of a nil Tracer are valid and send none.
type Tracer = trace.Tracer

// Trace returns the tracer that the environment configures, or nil without an error if it configures none.
func Trace(ctx context.Context, env func(string) string, version string) (*Tracer, error) {
	return trace.Start(ctx, env, version)
}

// OpenStore opens the Firestore store of a project, or the emulator's at a host:port if that is not empty.
func OpenStore(ctx context.Context, project, emulator string, tracer *Tracer) (store.Driver, error) {
	return firestore.Open(ctx, firestore.Options{Project: project, EmulatorHost: emulator, GRPC: tracer.GRPC()})
}

// SignIns looks up the ID tokens of a Firebase project, for the people whom the list admits.
func SignIns(ctx context.Context, project string, allow admission.List) (auth.Keys, error) {
	return firebase.New(ctx, project, allow)
}

// Messaging returns a sender to the apps of a Firebase project, by way of a stand-in for Firebase Cloud Messaging if the
// endpoint is not empty.
func Messaging(ctx context.Context, project, endpoint string, log *slog.Logger) (push.Sender, error) {
	return fcm.New(ctx, fcm.Options{Project: project, Endpoint: endpoint, Log: log})
}

// Checks returns the checks of a deployment.
func Checks(d Deployment) ([]doctor.Check, error) {
	if d.EmulatorHost != "" {
		return doctor.Emulator(d.EmulatorHost, d.Store, d.Now), nil
	}
	c := &doctor.Cloud{Project: d.Project, Region: d.Region, Name: d.Name, Schema: d.Schema, Reactions: d.Reactions,
		Sweeps: d.Sweeps, Store: d.Store, Now: d.Now}
	return c.Checks(), nil
}
