package firestore

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	hi "cloud.google.com/go/firestore"

	"parley.internal/shared/store"
)

// listener is one stream of snapshots.
type listener struct {
	bound, begun time.Time
	first        snapshot
	snaps        chan snapshot
	cancel       context.CancelFunc
	done         chan struct{}
}

type snapshot struct {
	changes []store.Change
	size    int
	at      time.Time
	err     error
}

// listen starts a listener. Its snapshots must be received until it is stopped.
func (d *Driver) listen(ctx context.Context, user, coll string) (*listener, error) {
	on, err := d.takeLine(ctx)
	if err != nil {
		return nil, err
	}
	l := &listener{
		bound: d.now().Add(-margin), begun: time.Now(),
		snaps: make(chan snapshot), done: make(chan struct{}),
	}
	ctx, l.cancel = context.WithCancel(ctx)
	iter := on.client.Collection("users/"+user+"/"+coll).Where(changedField, ">", l.bound).Snapshots(ctx)
	go func() {
		defer close(l.done)
		defer d.leaveLine(on)
		defer iter.Stop()
		for {
			s := d.next(iter)
			select {
			case l.snaps <- s:
			case <-ctx.Done():
				return
			}
			if s.err != nil {
				return
			}
		}
	}()
	return l, nil
}

func (l *listener) stop() {
	l.cancel()
	<-l.done
}

// next returns the next snapshot. The client library panics if its document count is wrong; next turns this into an
// error.
func (d *Driver) next(iter *hi.QuerySnapshotIterator) (s snapshot) {
	defer func() {
		if p := recover(); p != nil {
			s = snapshot{err: fmt.Errorf("firestore: listener: %v", p)}
		}
	}()
	found, err := iter.Next()
	if err != nil {
		return snapshot{err: err}
	}
	s = snapshot{size: found.Size, at: found.ReadTime}
	for _, c := range found.Changes {
		ref, ok := d.ref(c.Doc.Ref.Path)
		if !ok {
			continue
		}
		change := store.Change{Ref: ref}
		if c.Kind != hi.DocumentRemoved {
			change.Fields = plainFields(c.Doc.Data())
			delete(change.Fields, changedField)
			delete(change.Fields, shardField)
		}
		s.changes = append(s.changes, change)
	}
	return s
}

// replace starts a new listener and sends it to moved, or nil if it could not be started; the old one then goes on.
func (w *watcher) replace(moved chan<- *listener) {
	select {
	case w.d.moving <- struct{}{}:
	case <-w.ctx.Done():
		return
	}
	next, err := w.begin(w.ctx)
	<-w.d.moving
	if err != nil {
		next = nil
	}
	select {
	case moved <- next:
	case <-w.ctx.Done():
		if next != nil {
			next.stop()
		}
	}
}

func (w *watcher) notifyAll(changes []store.Change) {
	for _, c := range changes {
		w.notify(c)
	}
}

// plainFields converts a document of the high-level client to the store's types.
func plainFields(m map[string]any) store.Fields {
	d := make(store.Fields, len(m))
	for k, v := range m {
		d[k] = plain(v)
	}
	return d
}

func plain(v any) any {
	switch x := v.(type) {
	case nil, bool, int64, float64, string:
		return x
	case time.Time:
		return microseconds(x)
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = plain(e)
		}
		return list
	case map[string]any:
		return plainFields(x)
	case *hi.DocumentRef:
		return x.Path
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case geoPoint:
		return point(x)
	}
	return nil
}
