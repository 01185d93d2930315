package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"parley.internal/services/hub/harness/scale/tally"
	"parley.internal/shared/client"
	"parley.internal/shared/sleep"
)

// Options configure a run.
type Options struct {
	// Hub is the path of the program.
	Hub string
	// Dir is an empty directory for the server's data and its log.
	Dir string
	// Agents is the number of agents, and For the time in which they send.
	Agents int
	For    time.Duration
	// Pace is the average time between two actions of an agent.
	Pace time.Duration
	Seed uint64
	// Quick says that times and memory are not judged.
	Quick bool
	// Notes receives lines about the progress.
	Notes io.Writer
}

// patience is the time for which the agents read after the last sending. Messages that were read without a receipt come
// again after 120 seconds.
const patience = 150 * time.Second

// run is the state of a run in progress.
type run struct {
	options Options
	server  *server
	client  *client.Client // without a key
	tally   *tally.Tally
	calls   *calls
	agents  []*agent
	human   *human
}

// Run runs the server and the agents and returns the report. An error means that the run could not be completed.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	secrets, err := seed(ctx, o.Dir, o.Agents)
	if err != nil {
		return nil, fmt.Errorf("cannot make the keys: %w", err)
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	// An agent has a connection for each of its waits, and one for its other calls.
	transport := &http.Transport{MaxIdleConnsPerHost: 4 * o.Agents, DisableCompression: true}
	defer transport.CloseIdleConnections()
	r := &run{options: o, server: s, tally: tally.New(), calls: newCalls()}
	r.client, err = client.New(s.url, "", client.WithHTTPClient(&http.Client{Transport: transport}),
		client.WithUserAgent("parley-scale"), client.WithObserver(r.calls.observe))
	if err != nil {
		return nil, err
	}
	r.human = &human{run: r, client: r.client.With(client.WithKey(secrets.human))}
	for i, key := range secrets.agents {
		r.agents = append(r.agents, newAgent(r, i, key))
	}
	if err := r.formTeams(ctx); err != nil {
		return nil, fmt.Errorf("cannot form the teams: %w", err)
	}
	return r.work(ctx)
}

// arrival is the time between the arrivals of two agents.
const arrival = 10 * time.Millisecond

// work lets the agents arrive one after another and then act, and at the end lets them read the rest.
func (r *run) work(ctx context.Context) (*Report, error) {
	began := time.Now()
	arrived := time.Duration(len(r.agents)) * arrival
	reading, stopReading := context.WithCancel(ctx)
	sending, stopSending := context.WithTimeout(reading, arrived+r.options.For)
	defer stopSending()
	var readers, senders sync.WaitGroup
	defer readers.Wait()
	defer stopReading()
	usage := watch(reading, r.server.pid())
	readers.Go(func() { r.human.answer(reading) })
	for i, a := range r.agents {
		comes := time.Duration(i) * arrival
		senders.Go(func() { a.act(reading, sending, comes, arrived-comes) })
		for _, read := range a.waits() {
			readers.Go(func() {
				if sleep.For(reading, comes) == nil {
					read(reading)
				}
			})
		}
	}
	senders.Wait()
	sent := time.Now()
	fmt.Fprintf(r.options.Notes, "%6.1fs  the agents send no more; %d texts are missing\n",
		time.Since(began).Seconds(), r.tally.Missing())
	for r.tally.Missing() > 0 && time.Since(sent) < patience && ctx.Err() == nil {
		if sleep.For(ctx, 100*time.Millisecond) != nil {
			break
		}
	}
	stopReading()
	readers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	peak, processor, err := usage()
	if err != nil {
		return nil, err
	}
	out := &Report{Agents: r.options.Agents, Quick: r.options.Quick, For: r.options.For, Rest: time.Since(sent),
		Peak: peak, Processor: processor, Calls: r.calls.all()}
	for _, c := range channels {
		out.Channels = append(out.Channels, Channel{c, r.tally.Sum(c)})
	}
	return out, nil
}
