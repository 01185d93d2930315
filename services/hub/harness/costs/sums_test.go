package costs

import (
	"math"

	"parley.internal/shared/app"
)

// line is a count for a day, with its purpose.
type line struct {
	what string
	n    float64
}

type lines []line

func (l lines) sum() (n float64) {
	for _, x := range l {
		n += x.n
	}
	return n
}

// day is the counts of a day under a load.
type day struct {
	load
	reads, writes, deletes, functions lines
	expired                           float64 // deleted by TTL
	busy                              float64 // seconds in which at least one call is in flight
	flying                            float64 // the average number of calls in flight while agents work
	bytes                             float64 // of new documents
}

// cacheMisses returns the expected number of misses of a cache in a working day, for requests at random times and
// entries that are valid for that many seconds.
func cacheMisses(requests, seconds float64) float64 {
	if requests == 0 {
		return 0
	}
	return requests / (1 + requests*seconds/(workingHours*3600))
}

// batches returns the expected number of batches in a working day that contain at least one event, for events at random
// times and a batch every that many seconds.
func batches(events, seconds float64) float64 {
	n := workingHours * 3600 / seconds
	return n * (1 - math.Exp(-events/n))
}

// runs returns the number of runs of a sweep in a day.
func runs(s app.Sweep) float64 { return 24 / s.Every.Hours() }

// day returns the counts for a load. It assumes that calls come at random times and that there is one server.
func (n *counted) day(l load, sweeps []app.Sweep) day {
	hundreds, agents := float64(l.calls)/100, float64(l.users*l.agents)
	each := float64(l.calls) / float64(l.users) // calls of a user
	lookups := agents * cacheMisses(float64(l.calls)/agents, keyLookup)
	noted := agents * cacheMisses(float64(l.calls)/agents, keyNoted)
	programs := float64(l.users) * cacheMisses(each*sent()/100, programsFor) * float64(l.agents+1)
	flushes := float64(l.users) * batches(each, flushEvery)
	listening := float64(l.users*listeners) * cacheMisses(each*waits()/100, listenerLife)
	idle, sweepRuns := 0.0, 0.0
	for _, s := range sweeps {
		idle += runs(s) * float64(n.idle[s.Name].reads)
		sweepRuns += runs(s)
	}
	// In the worst case each call of a flush is of another program, with totals of its own.
	perCall := n.flushTwo.minus(n.flush, 1)
	base := n.flush.minus(perCall, 1)
	d := day{load: l, bytes: hundreds * float64(n.bytes), expired: hundreds * float64(n.expired)}
	d.reads = lines{
		{"calls", hundreds * float64(n.mix.reads)},
		{"keys and programs", lookups*float64(n.lookup.reads) + programs*float64(n.directory.reads)},
		{"the ledger", float64(l.calls*perCall.reads) + flushes*float64(base.reads+n.batch.reads)},
		{"listeners", hundreds*float64(n.listened) + listening},
		{"sweeping up", hundreds * float64(n.after.reads)},
		{"sweeps with nothing to do", idle},
	}
	d.writes = lines{
		{"calls", hundreds * float64(n.mix.writes)},
		{"the ledger", float64(l.calls*perCall.writes) + flushes*float64(base.writes)},
		{"keys' last use", noted * float64(n.touched.writes)},
		{"sweeping up", hundreds * float64(n.after.writes)},
	}
	d.deletes = lines{
		{"calls", hundreds * float64(n.mix.deletes)},
		{"sweeping up, the ledger among it", hundreds*float64(n.after.deletes) + flushes*float64(n.batch.deletes)},
	}
	d.functions = lines{
		{"by what changed", hundreds * float64(n.mix.triggers+n.after.triggers)},
		{"by the clock", sweepRuns},
	}
	seconds := float64(l.calls) * (callSeconds + waiting()/100)
	d.busy, d.flying = batches(seconds, 1), seconds/(workingHours*3600)
	return d
}

// sent returns the number of messages in 100 calls.
func sent() (n float64) {
	for _, s := range mix {
		if len(s.name) >= 12 && s.name[:12] == "send_message" {
			n += float64(s.of)
		}
	}
	return n
}

// waits returns the number of waiting calls in 100.
func waits() (n float64) {
	for _, s := range mix {
		if s.wait > 0 {
			n += float64(s.of)
		}
	}
	return n
}

// waiting returns the seconds that 100 calls wait.
func waiting() (n float64) {
	for _, s := range mix {
		n += float64(s.of) * s.wait.Seconds()
	}
	return n
}

// item is a cost in dollars: listed by the price list, and paid after the free quota.
type item struct {
	what         string
	listed, paid float64
}

// over returns the cost of n units at a price, of which some are free.
func over(what string, n, price, free float64) item {
	return item{what, n * price, max(0, n-free) * price}
}

func (i item) plus(o item) item { return item{i.what, i.listed + o.listed, i.paid + o.paid} }

// times multiplies an item.
func (i item) times(n float64) item { return item{i.what, i.listed * n, i.paid * n} }

// month returns the cost of 30 such days, of the default deployment or of the smallest one, which pays for its server
// only while it answers and keeps no copies of the data.
func (d *day) month(smallest bool) []item {
	firestore := over("Firestore: operations", d.reads.sum(), readPrice, freeReads).
		plus(over("", d.writes.sum(), writePrice, freeWrites)).
		plus(over("", d.deletes.sum(), deletePrice, freeDeletes)).
		plus(over("", d.expired, deletePrice, 0)).times(daysOfMonth)
	stored := d.bytes * keptDays * indexFactor / gib
	storage := over("Firestore: storage, versions, backups", stored, storedPrice, freeStored)
	called := d.functions.sum() * daysOfMonth
	seconds := (d.functions[0].n*triggerSeconds + d.functions[1].n*sweepSeconds) * daysOfMonth
	cpu, mem := seconds*busyCPU, seconds*functionGiB*busyGiB
	requests := called
	server := 0.0
	if smallest {
		server = d.busy * daysOfMonth * (busyCPU + memoryGiB*busyGiB)
		cpu += d.busy * daysOfMonth * busyCPU
		mem += d.busy * daysOfMonth * memoryGiB * busyGiB
		requests += float64(d.calls) * daysOfMonth
	} else {
		storage = storage.plus(over("", stored, kept7Price+backups*backupPrice, 0))
		always := float64(24 * 3600 * daysOfMonth)
		server = always * (aliveCPU + memoryGiB*aliveGiB)
		cpu += always * aliveCPU
		mem += always * memoryGiB * aliveGiB
	}
	run := item{"Cloud Run: the server", server, 0}
	functions := item{"Cloud Run: the functions, and requests", cpu + mem - server + requests*requestPrice, 0}
	// The free quota of Cloud Run applies to the server and the functions together; it is shared in proportion.
	paid := max(0, cpu-freeCPU) + max(0, mem-freeGiB)
	run.paid = paid * server / (cpu + mem)
	functions.paid = paid - run.paid + max(0, requests-freeRequests)*requestPrice
	calls := float64(d.calls) * daysOfMonth
	return []item{firestore, storage, run, functions,
		over("Scheduler: 4 jobs", jobs, jobPrice, freeJobs),
		over("Artifact Registry", imagesGB, imagePrice, freeImages),
		over("Logging", (calls+called)*logBytes/gib, logPrice, freeLogs),
		over("Pub/Sub, under Eventarc", d.functions[0].n*daysOfMonth*eventBytes/gib, eventPrice, freeEvents),
		over("Traffic to the internet", calls*answerBytes/gib, egressPrice, freeEgress),
	}
}

func total(items []item) item {
	t := item{what: "Together"}
	for _, i := range items {
		t = t.plus(i)
	}
	return t
}
