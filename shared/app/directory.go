package app

import (
	"context"
	"sync"
	"time"

	"parley.internal/shared/relay"
)

// directory caches who is known, so that sending a message costs no read.
type directory struct {
	source relay.Directory
	now    func() time.Time
	mu     sync.Mutex
	known  map[string]listing
}

type listing struct {
	programs []string
	at       time.Time
}

// fresh is how long the programs of a user are taken as known; maxUsers bounds
// how many users' are kept.
const (
	fresh    = time.Minute
	maxUsers = 10_000
)

// Programs implements relay.Directory.
func (d *directory) Programs(ctx context.Context, user string) ([]string, error) {
	d.mu.Lock()
	l, ok := d.known[user]
	d.mu.Unlock()
	now := d.now()
	if ok && now.Sub(l.at) < fresh {
		return l.programs, nil
	}
	programs, err := d.source.Programs(ctx, user)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxUsers {
		d.known = map[string]listing{}
	}
	d.known[user] = listing{programs, now}
	return programs, nil
}

func (d *directory) forget(user string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, user)
}
