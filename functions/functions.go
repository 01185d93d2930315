package functions

import (
	"os"
	"time"
	_ "time/tzdata" // for quiet hours; the runtime may have no time zones

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"parley.internal/functions/internal/entry"
	"parley.internal/shared/cloudlog"
)

func init() {
	handlers := &entry.Handlers{Env: os.Getenv, Now: time.Now, Log: cloudlog.New(os.Stderr)}
	reactions, sweeps := entry.Names()
	for _, name := range reactions {
		functions.CloudEvent(name, handlers.React(name))
	}
	for _, name := range sweeps {
		functions.HTTP(name, handlers.Sweep(name))
	}
}
