package relay

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
)

// hooked is a driver that counts its calls, those in transactions and commits
// too, and tells when a query over all users has been answered.
type hooked struct {
	store.Driver
	calls atomic.Int64
	then  func()
}

func (d *hooked) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	d.calls.Add(1)
	return d.Driver.Get(ctx, refs)
}

func (d *hooked) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.calls.Add(1)
	raws, err := d.Driver.Query(ctx, p)
	if p.User == "" && d.then != nil {
		d.then()
	}
	return raws, err
}

func (d *hooked) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	return d.Driver.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		writes, err := fn(ctx, &inside{r, d})
		if err == nil && len(writes) > 0 {
			d.calls.Add(1)
		}
		return writes, err
	})
}

// inside counts the reads of a transaction.
type inside struct {
	store.Reads
	d *hooked
}

func (r *inside) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	r.d.calls.Add(1)
	return r.Reads.Get(ctx, refs)
}

func (r *inside) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	r.d.calls.Add(1)
	return r.Reads.Query(ctx, p)
}

// eachHooked is each, on drivers with hooks, and no attempt comes to nothing.
func eachHooked(t *testing.T, test func(*testing.T, *mail, *hooked)) {
	t.Helper()
	t.Parallel()
	schema := store.NewSchema(append(Defs(), once.Def())...)
	for name, open := range map[string]func(*testing.T) (store.Driver, error){
		"sqlite": func(t *testing.T) (store.Driver, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema)
		},
		"firestore": func(t *testing.T) (store.Driver, error) {
			return firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			d := &hooked{Driver: inner}
			db := store.New(d, schema)
			t.Cleanup(func() { _ = db.Close() })
			m := &mail{t: t, now: t0, looks: make(chan struct{}, 1)}
			m.Service = &Service{DB: db, Directory: known{"alpha", "beta", "gamma"}, Now: m.clock, NewID: m.id}
			test(t, m, d)
		})
	}
}
