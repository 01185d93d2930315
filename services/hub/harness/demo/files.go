package demo

import (
	"context"
	"maps"
	"sync"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/files"
)

// repository is the project whose files are reserved.
const repository = "github.com/acme/orchard"

// reservations are those that hold at the end of the day, one that the person broke, and a file that was changed past
// one.
func reservations() []step {
	reserve := func(before time.Duration, who, worktree, branch, reason string, more in, paths ...string) step {
		all := in{"project": repository, "paths": paths, "worktree": worktree, "branch": branch, "reason": reason,
			"leaseSeconds": 7200}
		maps.Copy(all, more)
		return step{before, who, "reserve_files", all, "reservations.0.reservationId as " + who + "Holds"}
	}
	const here, release, aside, retries = "orchard", "checkout-2.4", "orchard-retries", "capture-retries"
	return []step{
		reserve(at(0, 55), "release", here, release, "Builds the staging image", nil, "deploy/staging/"),
		reserve(at(0, 45), "backend", aside, retries, "Retries of a failed capture", nil, "payments/capture/**"),
		reserve(at(0, 38), "reviewer", here, release, "Second pass over the refund endpoint",
			in{"mode": "shared", "leaseSeconds": 5400}, "payments/refund.go"),
		reserve(at(0, 36), "tester", here, release, "Reads how a refund is made", in{"mode": "shared"}, "payments/refund.go"),
		{at(0, 26), person, "break_reservation", in{"reservationId": "$releaseHolds",
			"reason": "Staging stays as it is until the quota is raised"}, ""},
		reserve(at(0, 17), "backend", aside, retries, "A second capture returns the first result", in{"taskId": "$idempotent"},
			"payments/{attempt,order}.go", "migrations/*_attempts.sql"),
		reserve(at(0, 11), "frontend", here, release, "Shows what went wrong with a card",
			in{"sessionId": "frontend/1", "leaseSeconds": 3600}, "web/checkout/**/*.{tsx,css}"),
		{at(0, 7), "tester", "hook_event", in{"version": 1, "client": "claude", "event": "tool", "thread": "suite",
			"sessionId": "tester/1", "project": repository, "worktree": here, "branch": release,
			"changed": []string{"web/checkout/error.tsx"}}, ""},
	}
}

// Wait keeps two agents in line for files that others hold, on the server of a store that the day was played into. keys
// are those that [Play] returned. It returns when ctx ends, or once both have their turn.
func Wait(ctx context.Context, url string, keys map[string]string) {
	var all sync.WaitGroup
	for program, in := range map[string]files.ReserveInput{
		"architect": {Paths: []string{"payments/**"}, Mode: files.Exclusive, Reason: "Moves the adapters"},
		"frontend":  {Paths: []string{"payments/capture/errors.go"}, Mode: files.Shared, Reason: "Reads the codes of a decline"},
	} {
		in.Project, in.LeaseSeconds, in.WaitMs = repository, 1800, 55_000
		all.Go(func() { wait(ctx, url, keys[program], in) })
	}
	all.Wait()
}

// wait reserves files for the holder of a key as soon as it is its turn.
func wait(ctx context.Context, url, key string, in files.ReserveInput) {
	c, err := client.New(url, key)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		if _, err := c.ReserveFiles(ctx, in); err == nil {
			return
		}
		select { // a server that has not started refuses at once
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
