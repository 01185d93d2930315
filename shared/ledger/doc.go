// Package ledger counts every call: who called what, how long it took, what came
// of it and what it cost, and sums that up by the day.
//
// A call is recorded in memory and costs its caller no write. A flush packs up to
// 200 records of a user into one document: a document a call would double the
// price of every call. The same transaction adds the batch to the day's totals,
// which are all that get_usage reads. A batch has its id before it is first tried
// and is created, never put, so one whose outcome was not told can be written
// again without counting twice. The totals are sharded by process, so that
// several instances do not wait for each other.
//
// Nothing is sampled. What cannot be kept is counted as lost and told to who
// flushes. The package may not do anything on the path of a call but append to a
// list, and imports no other domain.
package ledger
