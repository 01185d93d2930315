// Package ledger records every call with its caller, duration, result and cost, and sums the
// calls up by day.
//
// A call is recorded in memory and costs its caller no write. A flush packs up to 200 records of
// a user into one document, because a document for each call would double the price of every
// call. The same transaction adds the batch to the totals of the day, and get_usage reads only
// the totals. A batch has its id before the first attempt and is created, never overwritten, so
// that a batch with an unknown outcome can be written again without being counted twice. The
// totals are sharded by process, so that processes do not wait for each other.
//
// Nothing is sampled. Calls that cannot be recorded are counted, and the error of Flush reports
// their number. On the path of a call the package only appends to a list. It imports no other
// domain.
package ledger
