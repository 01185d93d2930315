package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley.internal/services/hub/harness/chaos"
	"parley.internal/services/hub/harness/chaos/claims"
	"parley.internal/services/hub/harness/program"
)

// claimOptions are the numbers of the runs in which claimers claim files.
type claimOptions struct {
	claimers, globs, kills int
	asleep                 time.Duration
}

// claim lets claimers claim files on each of the stores, with the hub and the emulator of a run, and reports whether there
// were no violations.
func (c claimOptions) claim(ctx context.Context, o chaos.Options, out io.Writer) (good bool, err error) {
	later := filepath.Join(o.Dir, "parley-later")
	if err := program.BuildLater(ctx, later); err != nil {
		return false, err
	}
	good = true
	for _, store := range []string{"sqlite", "firestore"} {
		p := claims.Options{Hub: o.Hub, Env: append([]string{"PARLEY_KEYRING=off"}, o.Env...), Dir: filepath.Join(o.Dir, store),
			Claimers: c.claimers, Globs: c.globs, Kills: c.kills, Seed: o.Seed, Notes: o.Notes,
			Later: append([]string{later}, o.Hub[1:]...), Asleep: c.asleep}
		if store == "firestore" {
			p.Project, p.Emulator = "demo-claims-"+strings.ToLower(rand.Text()[:12]), o.Emulator
		}
		if err := os.MkdirAll(p.Dir, 0o700); err != nil {
			return false, err
		}
		report, err := claims.Run(ctx, p)
		if err != nil {
			return false, fmt.Errorf("files on %s: %w", store, err)
		}
		if err := report.Write(out); err != nil {
			return false, err
		}
		good = good && len(report.Violations) == 0
	}
	return good, nil
}
