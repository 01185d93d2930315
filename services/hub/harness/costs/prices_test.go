package costs

// The prices are those of Google's price list for us-central1, in dollars. docs/costs.md names the page of each and the
// date on which it was read.
const (
	readPrice   = 0.03 / 100_000
	writePrice  = 0.09 / 100_000
	deletePrice = 0.01 / 100_000 // by TTL too
	freeReads   = 50_000         // a day
	freeWrites  = 20_000
	freeDeletes = 20_000 // not for those by TTL

	storedPrice = 0.15 // a GiB and month
	freeStored  = 1
	kept7Price  = 0.15 // of versions, for point-in-time recovery
	backupPrice = 0.03

	// Seconds of a CPU and of a GiB, of instances that are billed for as long as they exist (alive) and of those that are
	// billed while they answer (busy).
	aliveCPU, aliveGiB = 0.000018, 0.000002
	busyCPU, busyGiB   = 0.000024, 0.0000025
	requestPrice       = 0.40 / 1e6
	freeRequests       = 2e6 // a month
	freeCPU, freeGiB   = 180_000 * busyCPU, 360_000 * busyGiB

	jobPrice, freeJobs     = 0.10, 3
	imagePrice, freeImages = 0.10, 0.5 // a GB and month
	logPrice, freeLogs     = 0.50, 50  // a GiB
	eventPrice, freeEvents = 40.0 / 1024, 10
	egressPrice            = 0.12 // a GiB
	freeEgress             = 1
)

// Assumptions, which no test can count.
const (
	workingHours = 8
	daysOfMonth  = 30

	callSeconds    = 0.05 // of a call that does not wait
	triggerSeconds = 0.2
	sweepSeconds   = 1.0
	memoryGiB      = 0.5  // of the server, with 1 CPU
	functionGiB    = 0.25 // of a function, with 1 CPU

	keyLookup    = 55.0  // seconds for which a key is cached
	programsFor  = 60.0  // and the programs of a user
	keyNoted     = 600.0 // between two updates of a key's last use
	flushEvery   = 2.0
	listenerLife = 540.0 // until it is replaced
	listeners    = 2     // of a user whose agents wait: tasks and messages

	indexFactor = 3 // the ratio of the stored size, with its indexes, to the documents' size
	keptDays    = 30
	backups     = 7
	imagesGB    = 2
	jobs        = 4
	answerBytes = 2048
	logBytes    = 2048 // of a call, and of a function's call
	eventBytes  = 8192 // a document before and after, published and delivered
)

const gib = 1 << 30

// load is the number of calls a day, of users, and of agents of each user.
type load struct{ calls, users, agents int }

// loads are the columns of the tables. An agent makes about 500 calls in its eight hours.
var loads = []load{{10, 1, 1}, {1_000, 1, 2}, {100_000, 20, 10}}
