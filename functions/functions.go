package functions

import (
	"os"
	"time"
	_ "time/tzdata" // quiet hours have time zones, and the runtime may have none

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"parley.internal/functions/internal/entry"
	"parley.internal/shared/cloudlog"
)

func init() {
	points := &entry.Points{Env: os.Getenv, Now: time.Now, Log: cloudlog.New(os.Stderr)}
	reactions, sweeps := entry.Names()
	for _, name := range reactions {
		functions.CloudEvent(name, points.React(name))
	}
	for _, name := range sweeps {
		functions.HTTP(name, points.Sweep(name))
	}
}
