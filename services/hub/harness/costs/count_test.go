package costs

import (
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// bill is the cost of some calls: the operations of the server and of the functions, and the calls of functions.
type bill struct {
	ops
	triggers int
}

func (b bill) plus(o bill) bill {
	return bill{ops{b.reads + o.reads, b.writes + o.writes, b.deletes + o.deletes, 0}, b.triggers + o.triggers}
}

// minus subtracts another bill n times.
func (b bill) minus(o bill, n int) bill {
	return bill{ops{b.reads - n*o.reads, b.writes - n*o.writes, b.deletes - n*o.deletes, 0}, b.triggers - n*o.triggers}
}

// costs returns the cost of fn, including that of the reactions to its changes.
func (c *cloud) costs(fn func()) bill {
	c.t.Helper()
	called := func() (n int) {
		for _, k := range c.triggers {
			n += k
		}
		return n
	}
	server, functions, before := c.server.now(), c.functions.now(), called()
	fn()
	c.react()
	s, f := c.server.now().minus(server), c.functions.now().minus(functions)
	return bill{ops{s.reads + f.reads, s.writes + f.writes, s.deletes + f.deletes, 0}, called() - before}
}

// counted is the result of the count.
type counted struct {
	calls, expensive []bill // of each share of mix and expensive, for all its calls
	mix              bill   // of 100 calls
	listened         int    // writes of 100 calls to collections that waiting calls listen to

	lookup, touched, directory, flush, flushTwo bill
	idle                                        map[string]bill // of a run with nothing to do, by sweep
	after                                       bill            // of all sweeps after 100 calls
	expired                                     int             // the documents of 100 calls that TTL deletes
	batch                                       bill            // of the sweep of one batch of the ledger
	bytes                                       int             // the size of the documents of 100 calls
	stays                                       map[string]int  // the documents that are never deleted, by collection
}

const oneDay = 24 * time.Hour

// sweepSteps are the times from one run of the sweeps to the next, short enough that no document is swept much later
// than it is due.
var sweepSteps = []time.Duration{70 * time.Minute, oneDay, 7 * oneDay, 31 * oneDay, 31 * oneDay}

// count makes the 100 calls of the mix, then lets time pass for the sweeps, and then makes the expensive calls.
func count(t *testing.T) *counted {
	c := newCloud(t)
	n := &counted{idle: map[string]bill{}}
	for _, s := range c.sweeps {
		c.sweep(s) // the first one in the life of a database, and of a server, looks for documents of earlier versions
		n.idle[s.Name] = c.costs(func() { c.sweep(s) })
	}
	listened, size := c.listened(), c.size()
	n.calls = c.run(mix)
	for _, b := range n.calls {
		n.mix = n.mix.plus(b)
	}
	n.listened = c.listened() - listened
	c.hub.Flush()
	n.bytes = c.size() - size
	c.overheads(n)
	c.sweepAll(n)
	c.warm(c.alpha, c.beta)
	n.expensive = c.run(expensive)
	return n
}

// run makes the calls of the shares round by round and returns the cost of each share.
func (c *cloud) run(shares []share) []bill {
	c.t.Helper()
	bills := make([]bill, len(shares))
	last := 1
	for _, s := range shares {
		last = max(last, s.from+s.of)
	}
	for round := range last {
		for i, s := range shares {
			if round < s.from || round >= s.from+max(s.of, 1) {
				continue
			}
			if s.prepare != nil {
				s.prepare(c)
				c.react()
			}
			bills[i] = bills[i].plus(c.costs(func() { s.do(c, round) }))
		}
	}
	return bills
}

// overheads counts the costs that calls share: look-ups of keys and programs, and flushes of the ledger.
func (c *cloud) overheads(n *counted) {
	c.t.Helper()
	look := func() { c.call(c.other, "get_tasks", args{"target": "gamma"}) }
	message := args{"message": "m", "source": "gamma", "target": "gamma", "message_type": "STATUS"}
	send := func() { c.call(c.other, "send_message", message) }
	send()
	warm, sent := c.costs(look), c.costs(send)
	c.hub.Flush()
	look()
	n.flush = c.costs(c.hub.Flush)
	c.call(c.alpha, "get_tasks", args{"target": "alpha"})
	c.call(c.beta, "get_tasks", args{"target": "beta"})
	n.flushTwo = c.costs(c.hub.Flush)

	c.clock.Pass(56 * time.Second) // a key is cached for 55 seconds
	n.lookup = c.costs(look).minus(warm, 1)
	c.clock.Pass(5 * time.Second) // and the programs of a user for 60
	n.directory = c.costs(send).minus(sent, 1)
	c.hub.Flush()
	c.clock.Pass(11 * time.Minute) // the use of a key is recorded every 10 minutes
	n.touched = c.costs(func() { look(); c.hub.Flush() }).minus(warm, 1).minus(n.lookup, 1).minus(n.flush, 1)
	c.eraseOthers()
}

// sweepAll lets time pass and counts the sweeps and TTL deletions of the documents that the calls have created.
func (c *cloud) sweepAll(n *counted) {
	c.t.Helper()
	batches := c.left()["ledger"]
	var ledger bill
	for _, d := range sweepSteps {
		c.clock.Pass(d)
		for _, s := range c.sweeps {
			b := c.costs(func() { c.sweep(s) }).minus(n.idle[s.Name], 1)
			if s.Name == "ledger" {
				ledger = ledger.plus(b)
			} else {
				n.after = n.after.plus(b)
			}
		}
		n.expired += c.expire()
	}
	// The query of the run that found the batches was subtracted as that of an idle run.
	ledger.reads += n.idle["ledger"].reads
	n.batch = bill{ops{reads: ledger.reads / batches, deletes: ledger.deletes / batches}, 0}
	n.stays = c.left()
}
