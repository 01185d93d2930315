package costs

import (
	"math"

	"parley.internal/shared/app"
)

// line is something that is counted in a day, by what it is for.
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

// day is what a day of a load comes to.
type day struct {
	load
	reads, writes, deletes, functions lines
	expired                           float64 // deleted by TTL
	busy                              float64 // seconds in which some call is answered
	flying                            float64 // calls at once, on average while agents work
	bytes                             float64 // that are new
}

// refreshed is how often in a working day something is read again that is good for some
// seconds, where it is asked for so often, at random times.
func refreshed(asked, seconds float64) float64 {
	if asked == 0 {
		return 0
	}
	return asked / (1 + asked*seconds/(workingHours*3600))
}

// together is into how many turns things fall that come at random times, where there is
// a turn every so many seconds of a working day.
func together(things, seconds float64) float64 {
	turns := workingHours * 3600 / seconds
	return turns * (1 - math.Exp(-things/turns))
}

// runs is how often a sweep runs in a day.
func runs(s app.Sweep) float64 { return 24 / s.Every.Hours() }

// day sums up. What is found in a cache, and what is written together, is taken for
// coming at random times, from one server.
func (n *counted) day(l load, sweeps []app.Sweep) day {
	hundreds, agents := float64(l.calls)/100, float64(l.users*l.agents)
	each := float64(l.calls) / float64(l.users) // calls of a user
	lookups := agents * refreshed(float64(l.calls)/agents, keyLookup)
	noted := agents * refreshed(float64(l.calls)/agents, keyNoted)
	programs := float64(l.users) * refreshed(each*sent()/100, programsFor) * float64(l.agents+1)
	flushes := float64(l.users) * together(each, flushEvery)
	listening := float64(l.users*listeners) * refreshed(each*waits()/100, listenerLife)
	idle, turns := 0.0, 0.0
	for _, s := range sweeps {
		idle += runs(s) * float64(n.idle[s.Name].reads)
		turns += runs(s)
	}
	// In a flush each call may be another program's, with totals of its own.
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
		{"by the clock", turns},
	}
	seconds := float64(l.calls) * (callSeconds + waiting()/100)
	d.busy, d.flying = together(seconds, 1), seconds/(workingHours*3600)
	return d
}

// sent, waits and waiting are of 100 calls: messages, calls that wait, and the seconds
// for which they do.
func sent() (n float64) {
	for _, s := range mix {
		if len(s.name) >= 12 && s.name[:12] == "send_message" {
			n += float64(s.of)
		}
	}
	return n
}

func waits() (n float64) {
	for _, s := range mix {
		if s.wait > 0 {
			n += float64(s.of)
		}
	}
	return n
}

func waiting() (n float64) {
	for _, s := range mix {
		n += float64(s.of) * s.wait.Seconds()
	}
	return n
}

// item is what something costs in a month, as listed and after what is free.
type item struct {
	what         string
	listed, paid float64
}

// over is what n come to at a price, as listed and past what is free.
func over(what string, n, price, free float64) item {
	return item{what, n * price, max(0, n-free) * price}
}

func (i item) plus(o item) item { return item{i.what, i.listed + o.listed, i.paid + o.paid} }

// times is the item of so many days.
func (i item) times(n float64) item { return item{i.what, i.listed * n, i.paid * n} }

// month prices thirty such days, of the default deployment, or of the smallest: one that
// pays for its server while it answers, and keeps no copies of the data.
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
	// What is free of Cloud Run is free of both together: it is taken off the larger first.
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
