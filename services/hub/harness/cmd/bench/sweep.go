package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
)

// expired is the number of messages to sweep in the small and in the large measurement.
type expired [2]int

// The memory of a sweep must not grow with the number of documents, apart from variations due to garbage collection.
// Differences below noise, in bytes, are ignored.
const (
	memoryAtMost = 1.5
	noise        = 4 << 20
)

// swept is a measured sweep.
type swept struct {
	store    string
	messages int
	handled  int
	took     time.Duration
	peak     uint64 // growth of the heap at its largest, in bytes
}

// sweeps measures the sweep of expired messages on both stores and writes the results. On a machine without a Firestore
// emulator it leaves out Firestore, unless the emulator is required.
func sweeps(ctx context.Context, dir string, sizes expired, out io.Writer) error {
	var all []swept
	for _, n := range sizes {
		d, err := sqlite.Open(ctx, filepath.Join(dir, fmt.Sprintf("sweep-%d.db", n)), app.Schema())
		if err != nil {
			return err
		}
		s, err := sweepOne(ctx, "sqlite", store.New(d, app.Schema()), n)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	e, err := emulator.Start(ctx)
	switch {
	case errors.Is(err, emulator.ErrNone) && !emulator.Required():
		fmt.Fprintln(out, "\nNo Firestore emulator was found: its sweeps are left out.")
	case err != nil:
		return err
	default:
		defer e.Stop()
		for _, n := range sizes {
			d, err := firestore.Open(ctx, firestore.Options{Project: "demo-" + uuid.NewString(), EmulatorHost: e.Addr})
			if err != nil {
				return err
			}
			s, err := sweepOne(ctx, "firestore", store.New(d, app.Schema()), n)
			if err != nil {
				return err
			}
			all = append(all, s)
		}
	}
	return reportSweeps(out, all)
}

// sweepOne creates that number of expired messages and sweeps them. It closes db.
func sweepOne(ctx context.Context, name string, db *store.DB, messages int) (s swept, err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := expire(ctx, db, messages); err != nil {
		return s, err
	}
	s = swept{store: name, messages: messages}
	stop := watchHeap()
	begin := time.Now()
	for _, sweep := range app.New(db, app.Ports{}).Sweeps() {
		if sweep.Name == "relay" {
			report, err := sweep.Run(ctx, store.NewAdmin(db))
			if err != nil {
				return s, err
			}
			s.handled = report.Total()
		}
	}
	s.took, s.peak = time.Since(begin), stop()
	if s.handled != messages {
		return s, fmt.Errorf("all %d expired messages must be swept, but %d were", messages, s.handled)
	}
	return s, nil
}

// groupSize is the number of members of the group that the messages are sent to. Each member gets a copy.
const groupSize = 100

// expire creates unread messages that expired an hour ago.
func expire(ctx context.Context, db *store.DB, messages int) error {
	past := time.Now().Add(-time.Hour).UTC()
	r := app.New(db, app.Ports{Now: func() time.Time { return past }}).Relay
	caller := identity.Caller{User: user, Program: "alpha", Kind: identity.Agent}
	members := make([]string, min(groupSize, messages))
	for i := range members {
		members[i] = fmt.Sprintf("program-%03d", i)
	}
	if _, err := r.SetGroup(ctx, caller, relay.SetGroupInput{Name: "crowd", Members: members}); err != nil {
		return err
	}
	in := op.Fill(relay.SendInput{Message: messageText, Source: "alpha", Target: "group:crowd", MessageType: "STATUS",
		TTL: 60})
	for made := 0; made < messages; made += len(members) {
		if _, err := r.Send(ctx, caller, in); err != nil {
			return err
		}
	}
	return nil
}

// watchHeap samples the size of the heap until stop is called, which returns its largest growth in bytes. Meanwhile
// garbage is collected early, so that it counts for little.
func watchHeap() (stop func() uint64) {
	percent := debug.SetGCPercent(10)
	runtime.GC()
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, peak := heap(), uint64(0)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap())
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	return func() uint64 {
		close(end)
		<-done
		debug.SetGCPercent(percent)
		return peak - min(peak, before)
	}
}

func reportSweeps(out io.Writer, all []swept) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nSWEEP OF EXPIRED MESSAGES\tSTORE\tSECONDS\tMESSAGES/S\tPEAK MIB")
	for _, s := range all {
		rate := float64(s.handled) / s.took.Seconds()
		fmt.Fprintf(t, "%d\t%s\t%.2f\t%.0f\t%.1f\n",
			s.handled, s.store, s.took.Seconds(), rate, float64(s.peak)/(1<<20))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := 0; i+1 < len(all); i += 2 {
		few, many := all[i], all[i+1]
		ratio := float64(many.peak) / float64(max(few.peak, noise))
		fmt.Fprintf(out, "memory on %s, %d messages ÷ %d: %.2f, limit %.1f  %s\n",
			few.store, many.messages, few.messages, ratio, memoryAtMost, verdict(ratio <= memoryAtMost))
	}
	return nil
}
