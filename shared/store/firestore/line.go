package firestore

import (
	"context"

	hi "cloud.google.com/go/firestore"

	"parley.internal/shared/fault"
)

const (
	// perLine is the number of listeners that share a connection. One carries about 100 streams, of which some are for
	// listeners that take the place of others.
	perLine = 80
	// maxLines is the number of connections for listeners.
	maxLines = 8
)

// MaxListeners returns the number of listeners that the connections of a driver carry.
func (*Driver) MaxListeners() int { return maxLines * perLine }

// line is a connection that listeners share.
type line struct {
	client    *hi.Client
	listeners int
}

// takeLine takes a place on the connection with the fewest listeners, or on a new one where all are full.
func (d *Driver) takeLine(ctx context.Context) (*line, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var l *line
	for _, each := range d.lines {
		if l == nil || each.listeners < l.listeners {
			l = each
		}
	}
	if l == nil || l.listeners >= perLine && len(d.lines) < maxLines {
		if d.closed {
			return nil, fault.New(fault.Unavailable, "the store is closed")
		}
		opts, err := d.opts.client(1)
		if err != nil {
			return nil, err
		}
		// The client outlives this call.
		client, err := hi.NewClientWithDatabase(context.WithoutCancel(ctx), d.opts.Project, d.opts.Database, opts...)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "firestore: cannot create a client of %s", d.root)
		}
		l = &line{client: client}
		d.lines = append(d.lines, l)
	}
	l.listeners++
	return l, nil
}

// leaveLine gives the place of a listener back.
func (d *Driver) leaveLine(l *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.listeners--
}
