package app

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"parley.internal/shared/store"
)

// stepped is a driver that counts its steps and calls before with the number of the next one. A step is a read outside
// of a transaction, or a whole transaction.
type stepped struct {
	store.Driver
	mu     sync.Mutex
	steps  int
	before func(step int)
}

func (d *stepped) step() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps++
	if d.before != nil {
		d.before(d.steps)
	}
}

func (d *stepped) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	if d.step(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.Driver.Get(ctx, refs)
}

func (d *stepped) Query(ctx context.Context, plan store.Plan) ([]store.Raw, error) {
	if d.step(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.Driver.Query(ctx, plan)
}

func (d *stepped) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	if d.step(); ctx.Err() != nil {
		return ctx.Err()
	}
	return d.Driver.Update(ctx, fn)
}

// documents returns all documents of the store by path.
func (p *filled) documents() map[store.Ref]store.Fields {
	p.t.Helper()
	all := map[store.Ref]store.Fields{}
	for _, user := range []string{"u", "v"} {
		for _, def := range Schema().Defs() {
			coll := strings.Replace(def.Name, "teams/*", "teams/"+p.deletedTeam, 1)
			if strings.Contains(coll, "*") {
				continue
			}
			raws, err := p.driver.Driver.Query(p.t.Context(), store.Plan{
				User:  user,
				Coll:  coll,
				Def:   def,
				Limit: store.MaxLimit,
			})
			if err != nil {
				p.t.Fatal(err)
			}
			for _, raw := range raws {
				all[raw.Ref] = raw.Fields
			}
		}
	}
	return all
}

// differences returns the documents that differ between two stores, as text.
func differences(got, want map[store.Ref]store.Fields) (out []string) {
	for ref, f := range want {
		if other, there := got[ref]; !there {
			out = append(out, fmt.Sprintf("%v is gone", ref))
		} else if !reflect.DeepEqual(other, f) {
			out = append(out, fmt.Sprintf("%v is %v instead of %v", ref, other, f))
		}
	}
	for ref := range got {
		if _, there := want[ref]; !there {
			out = append(out, fmt.Sprintf("%v is left", ref))
		}
	}
	return out
}
