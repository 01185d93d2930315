package costs

import (
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// bill is what something costs: the server's operations, the functions', and the
// functions that were called.
type bill struct {
	ops
	triggers int
}

func (b bill) plus(o bill) bill {
	return bill{ops{b.reads + o.reads, b.writes + o.writes, b.deletes + o.deletes, 0}, b.triggers + o.triggers}
}

// minus is a bill without n times another.
func (b bill) minus(o bill, n int) bill {
	return bill{ops{b.reads - n*o.reads, b.writes - n*o.writes, b.deletes - n*o.deletes, 0}, b.triggers - n*o.triggers}
}

// costs counts what fn comes to, with what the functions do about it.
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

// counted is all that is counted.
type counted struct {
	calls, dear []bill // of mix and dear, each of them of all its calls
	mix         bill   // of 100 calls
	listened    int    // writes of 100 calls to collections that waiters listen to

	lookup, touched, directory, flush, flushTwo bill
	idle                                        map[string]bill // a run of a sweep with nothing to do
	after                                       bill            // what 100 calls leave to be swept, until nothing is left
	expired                                     int             // of it, deleted by TTL
	batch                                       bill            // the end of a batch of the ledger
	bytes                                       int             // that 100 calls leave
	stays                                       map[string]int  // documents that stay for good
}

// afterwards are the times at which what is left is looked at, from one to the next, so
// that nothing that is due is found late by much.
var afterwards = []time.Duration{70 * time.Minute, 24 * time.Hour, 7 * 24 * time.Hour, 31 * 24 * time.Hour, 31 * 24 * time.Hour}

// count makes the calls of the mix, once each 100 of them, and then lets time pass.
func count(t *testing.T) *counted {
	c := newCloud(t)
	n := &counted{idle: map[string]bill{}}
	for _, s := range c.sweeps {
		n.idle[s.Name] = c.costs(func() { c.sweep(s) })
	}
	listened, size := c.listened(), c.size()
	n.calls = c.run(mix)
	for _, b := range n.calls {
		n.mix = n.mix.plus(b)
	}
	n.listened = c.listened() - listened
	c.hub.Settle()
	n.bytes = c.size() - size
	c.overheads(n)
	c.afterwards(n)
	c.warm(c.alpha, c.beta)
	n.dear = c.run(dear)
	return n
}

// run makes the calls of shares, round by round.
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

// overheads counts what is no call's own.
func (c *cloud) overheads(n *counted) {
	c.t.Helper()
	look := func() { c.call(c.other, "get_tasks", args{"target": "gamma"}) }
	send := func() {
		c.call(c.other, "send_message", args{"message": "m", "source": "gamma", "target": "gamma", "message_type": "STATUS"})
	}
	send()
	warm, sent := c.costs(look), c.costs(send)
	c.hub.Settle()
	look()
	n.flush = c.costs(c.hub.Settle)
	c.call(c.alpha, "get_tasks", args{"target": "alpha"})
	c.call(c.beta, "get_tasks", args{"target": "beta"})
	n.flushTwo = c.costs(c.hub.Settle)

	c.clock.Add(56 * time.Second) // a key is known for 55 seconds
	n.lookup = c.costs(look).minus(warm, 1)
	c.clock.Add(5 * time.Second) // and programs for 60
	n.directory = c.costs(send).minus(sent, 1)
	c.hub.Settle()
	c.clock.Add(11 * time.Minute) // the use of a key is noted every 10 minutes
	n.touched = c.costs(func() { look(); c.hub.Settle() }).minus(warm, 1).minus(n.lookup, 1).minus(n.flush, 1)
	c.goAway()
}

// afterwards lets time pass, and the functions and Firestore's TTL take away what the
// calls have left.
func (c *cloud) afterwards(n *counted) {
	c.t.Helper()
	batches := c.left()["ledger"]
	var ledger bill
	for _, d := range afterwards {
		c.clock.Add(d)
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
	// The one run that found them has the query of an idle one for its first.
	ledger.reads += n.idle["ledger"].reads
	n.batch = bill{ops{reads: ledger.reads / batches, deletes: ledger.deletes / batches}, 0}
	n.stays = c.left()
}
