package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/keys"
	"parley.internal/shared/relay"
	"parley.internal/shared/sleep"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// neighbourAtMost is the required limit for the p99 of a modest user beside a greedy one, as a multiple of that without.
const neighbourAtMost = 2.0

const (
	// modest is the number of users within the limits. Each sends a message to itself and lists its tasks every pace.
	modest = 8
	pace   = 100 * time.Millisecond
	// The greedy user has greedyKeys keys. It waits more often than it may, and sends twice the calls that it may and
	// every bodyPace a body of 1 MiB, at a fixed pace, because it shares the cores with the server.
	greedyKeys  = 8
	greedyWaits = 300
	waitPace    = time.Second           // of each wait that is refused
	callPace    = 20 * time.Millisecond // of each key
	bodyPace    = 100 * time.Millisecond
)

// The limits of a server that others can reach, which one on loopback does not have by default.
var cloudLimits = []string{"--rate", "50", "--burst", "200", "--user-rate", "200", "--user-burst", "800"}

// runNeighbours measures the users beside a greedy one alone.
func runNeighbours(ctx context.Context, o options, out, _ io.Writer) (err error) {
	dir, binary, done, err := workshop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return neighbours(ctx, binary, dir, o.slice, o.slices, out)
}

// neighbours measures the calls and the wakes of modest users alone and beside a greedy one, in slices that alternate.
func neighbours(ctx context.Context, binary, dir string, slice time.Duration, rounds int, out io.Writer) (err error) {
	data := filepath.Join(dir, "neighbours")
	users, err := seedUsers(ctx, data)
	if err != nil {
		return err
	}
	t, err := launch(ctx, binary, data, cloudLimits...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	n := &neighbourhood{target: t, users: users}
	var alone, beside times
	if err := n.slice(ctx, slice, &times{}, false); err != nil { // the first slice warms up
		return err
	}
	for range rounds {
		if err := n.slice(ctx, slice, &alone, false); err != nil {
			return err
		}
		if err := n.slice(ctx, slice, &beside, true); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d users alone, and beside a greedy one at its limits, %v each in %d slices; of the greedy one's calls %d were "+
		"carried out and %d refused:\n", modest, time.Duration(rounds)*slice, rounds, n.done, n.refused)
	for _, m := range []struct {
		what          string
		alone, beside []time.Duration
	}{{"calls", alone.calls, beside.calls}, {"wakes", alone.wakes, beside.wakes}} {
		slices.Sort(m.alone)
		slices.Sort(m.beside)
		few, many := quantile(m.alone, 0.99), quantile(m.beside, 0.99)
		ratio := float64(many) / float64(few)
		if _, err = fmt.Fprintf(out, "  p99 of %d and %d %s: %s ms alone, %s ms beside it, ratio %.2f (limit %.1f: %s)\n", len(m.alone),
			len(m.beside), m.what, ms(few), ms(many), ratio, neighbourAtMost, verdict(ratio <= neighbourAtMost)); err != nil {
			return err
		}
	}
	return nil
}

// seedUsers creates a store with the keys of the users: one of each modest user, and then those of the greedy one.
func seedUsers(ctx context.Context, dir string) (out []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	schema := app.Schema()
	d, err := sqlite.Open(ctx, filepath.Join(dir, "parley.db"), schema)
	if err != nil {
		return nil, err
	}
	db := store.New(d, schema)
	defer func() { err = errors.Join(err, db.Close()) }()
	a := app.New(db, app.Ports{})
	for i := range modest + greedyKeys {
		owner := "greedy"
		if i < modest {
			owner = fmt.Sprintf("modest-%d", i)
		}
		made, err := a.Keys.Issue(ctx, owner, keys.CreateInput{Program: programName(i)})
		if err != nil {
			return nil, err
		}
		out = append(out, made.Key)
	}
	return out, nil
}

// times are measured times. They are safe for concurrent use while a slice runs.
type times struct {
	mu           sync.Mutex
	calls, wakes []time.Duration
}

func (t *times) add(to *[]time.Duration, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*to = append(*to, d)
}

// neighbourhood is a server with its users.
type neighbourhood struct {
	*target
	users []string // their keys

	mu            sync.Mutex
	done, refused int // calls of the greedy user
}

// slice lets the modest users call for a time, and returns the first error of theirs.
func (n *neighbourhood) slice(ctx context.Context, d time.Duration, into *times, greedy bool) error {
	whole, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	if greedy {
		n.greed(whole, &all)
		if err := sleep.For(ctx, d/4); err != nil { // until it is at its limits
			return err
		}
	}
	began := time.Now()
	sending, stop := context.WithTimeout(whole, d)
	defer stop()
	var senders sync.WaitGroup
	for i := range modest {
		c := n.setup.With(client.WithKey(n.users[i]))
		all.Go(func() { n.read(whole, c, began, into, cancel) })
		senders.Go(func() { n.send(sending, c, programName(i), into, cancel) })
	}
	senders.Wait()
	if err := context.Cause(whole); err != nil {
		return err
	}
	return ctx.Err()
}

// send makes the calls of a modest user. A message is the time at which it is sent.
func (n *neighbourhood) send(ctx context.Context, c *client.Client, self string, into *times, failed func(error)) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, call := range []func() error{
			func() error {
				_, err := c.SendMessage(context.WithoutCancel(ctx), relay.SendInput{Message: strconv.FormatInt(time.Now().UnixNano(), 10),
					Source: self, Target: self, MessageType: "STATUS"})
				return err
			},
			func() error {
				_, err := c.GetTasks(context.WithoutCancel(ctx), dispatch.ListInput{Target: self})
				return err
			},
		} {
			begin := time.Now()
			if err := call(); err != nil {
				failed(err)
				return
			}
			into.add(&into.calls, time.Since(begin))
		}
	}
}

// read waits for the messages of a modest user until ctx ends. Those that were sent before began are of another slice.
func (n *neighbourhood) read(ctx context.Context, c *client.Client, began time.Time, into *times, failed func(error)) {
	for ctx.Err() == nil {
		out, err := c.GetMessages(ctx, relay.GetInput{WaitMs: 5000})
		now := time.Now()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed(err)
			return
		}
		for _, m := range out.Messages {
			at, err := strconv.ParseInt(m.Message, 10, 64)
			if err != nil {
				failed(err)
				return
			}
			if sent := time.Unix(0, at); !sent.Before(began) {
				into.add(&into.wakes, now.Sub(sent))
			}
		}
	}
}

// greed lets the greedy user call until ctx ends.
func (n *neighbourhood) greed(ctx context.Context, all *sync.WaitGroup) {
	own := n.users[modest:]
	count := func(err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err != nil {
			n.refused++
		} else {
			n.done++
		}
	}
	every := func(pace time.Duration, call func() error) {
		all.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for {
				if err := call(); ctx.Err() == nil {
					count(err)
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for i := range greedyWaits {
		c := n.setup.With(client.WithKey(own[i%greedyKeys]))
		every(waitPace, func() error {
			_, err := c.GetMessages(ctx, relay.GetInput{WaitMs: 20_000})
			return err
		})
	}
	for i, key := range own {
		c := n.setup.With(client.WithKey(key))
		every(callPace, func() error {
			_, err := c.CreateTask(ctx, dispatch.CreateInput{Title: "more", Target: programName(i)})
			return err
		})
	}
	every(bodyPace, func() error { return n.big(ctx, own[0]) })
}

// bigBody is one of 1 MiB, with more elements than a list may have.
var bigBody = `{"projectName":"p","stories":[` + strings.Repeat("{},", (1<<20-100)/3) + `{}]}`

func (n *neighbourhood) big(ctx context.Context, key string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.base+"/v1/sprints", strings.NewReader(bigBody))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := n.target.client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if res.Body.Close(); err == nil && res.StatusCode >= http.StatusBadRequest {
		err = errors.New(res.Status)
	}
	return err
}
