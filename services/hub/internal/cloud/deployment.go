package cloud

import (
	"context"
	"time"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
)

// Deployment is a Google Cloud project, or a Firestore emulator, for [Checks].
type Deployment struct {
	// EmulatorHost is the host:port of the emulator. If it is empty, the project is checked.
	EmulatorHost string
	Project      string
	// Region is the region of the functions, empty for any. Name is the prefix of the names of all resources.
	Region, Name string
	// Schema, Reactions and Sweeps are the expected indexes, triggers and scheduled functions.
	Schema    *store.Schema
	Reactions []app.Reaction
	Sweeps    []app.Sweep
	// Store opens the store.
	Store func(context.Context) (doctor.Reader, error)
	Now   func() time.Time
}
