package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// Every input of every operation gets a result, or a fault that names the mistake and is never internal, at a cost in
// proportion to its length.
func FuzzEveryInputHasAnOutcome(f *testing.F) {
	driver, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "parley.db"), app.Schema())
	if err != nil {
		f.Fatal(err)
	}
	db := store.New(driver, app.Schema())
	f.Cleanup(func() {
		if err := db.Close(); err != nil {
			f.Error(err)
		}
	})
	hub := app.New(db, app.Ports{Now: func() time.Time {
		return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	}})
	ops := hub.Catalogue().Ops()
	for i, o := range ops {
		cases := o.Cases()
		for _, e := range cases.Examples {
			text, err := json.Marshal(e.In)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), false, text)
			f.Add(uint8(i), true, text)
		}
		for _, r := range cases.Refused {
			f.Add(uint8(i), false, []byte(r.In))
		}
	}
	for _, text := range []string{`{"waitMs":55000}`, `{"limit":1e400}`, `{"cursor":"AAAA"}`, `{"a":"\ud800"}`, `[]`, `{"stories":"[{}]"}`} {
		f.Add(uint8(0), true, []byte(text))
	}
	alpha := identity.Caller{User: "u", Program: "alpha", KeyID: "alpha", Kind: identity.Agent}
	human := identity.Caller{User: "u", Program: "human", KeyID: "human", Kind: identity.Human}
	over := make(chan struct{})
	close(over) // no call waits
	calls := 0
	f.Fuzz(func(t *testing.T, which uint8, asHuman bool, text []byte) {
		o, caller := ops[int(which)%len(ops)], alpha
		if asHuman {
			caller = human
		}
		// The cost of a call grows with the documents of its user, such as keys, so each user has those of a thousand calls.
		caller.User = fmt.Sprint("u", calls/1000)
		calls++
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := hub.Catalogue().Call(store.WithEnd(t.Context(), over), o, op.Call{Caller: caller, Input: op.Parse(text)})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20+1000*uint64(len(text)) {
			t.Errorf("%s: %d bytes of input take %d MiB: %.300q", o.Name, len(text), used>>20, text)
		}
		if err == nil {
			if !json.Valid(res.Data) {
				t.Errorf("%s: %s", o.Name, res.Data)
			}
			return
		}
		var bad *fault.Error
		if !errors.As(err, &bad) || bad.Kind == fault.Internal {
			t.Fatalf("%s: %v for %q", o.Name, err, text)
		}
		if !utf8.ValidString(bad.Message) || len(bad.Problems) > 21 || len(bad.Message) > 50_000 {
			t.Errorf("%s: %d problems, %.300q", o.Name, len(bad.Problems), bad.Message)
		}
	})
}
