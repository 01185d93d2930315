// Package idempotency makes it safe to repeat a call that creates something.
//
// The record of an idempotency key is written in the same transaction as the call's changes, so that either both exist
// or neither. A repeated call returns the first result, even if the first answer was lost. Only successes are recorded.
// The package may know nothing about the documents that are created.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/sleep"
	"parley.internal/shared/store"
)

// Kept is the time for which a key is recorded.
const Kept = 24 * time.Hour

// Call is a call that may repeat another. An operation's input that embeds op.Idempotency implements it.
type Call interface {
	// Key returns the idempotency key, empty if the caller gave none.
	Key() string
	// Caller names the caller that the key belongs to. Keys of different callers are unrelated.
	Caller() string
	// Operation returns the name of the called operation.
	Operation() string
	// Digest returns a hash of the input without the key.
	Digest() string
}

type record struct {
	Op        string          `json:"op"`
	Input     string          `json:"input"`
	Result    json.RawMessage `json:"result"`
	CreatedAt time.Time       `json:"createdAt"`
	PurgeAt   time.Time       `json:"purgeAt"`
}

var records = store.Collection[record]{Name: "idempotency", Unindexed: []string{"result", "input"}}

// Def returns the definition of the collection of keys.
func Def() *store.Def { return records.Def() }

// Update runs fn in a transaction and returns its result. For a call with a key, fn takes effect once in 24 hours for
// the same caller, operation and key, and repeated calls return the first result. The same key with another input is a
// Precondition fault. A run whose outcome is unknown is looked up and repeated, so that a call with a key is never
// OutcomeUnknown. A key without a caller, an operation or a digest is Internal: the input did not come through op.
func Update[O any](
	ctx context.Context,
	t *store.Tenant,
	call Call,
	now time.Time,
	fn func(context.Context, *store.Tx) (O, error),
) (O, error) {
	var out O
	if call.Key() == "" {
		err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			out, err = fn(ctx, tx)
			return err
		})
		return out, err
	}
	if call.Caller() == "" || call.Operation() == "" || call.Digest() == "" {
		return out, fault.New(fault.Internal, "idempotency: a key without an operation")
	}
	id := digest(call.Caller() + "\x00" + call.Operation() + "\x00" + call.Key())
	run := func(ctx context.Context, tx *store.Tx) (err error) {
		var rec record
		f := records.Fetch(id, &rec)
		if err := store.Load(ctx, tx, f); err != nil {
			return err
		}
		if f.Found && now.Before(rec.PurgeAt) {
			out, err = repeat[O](rec, call)
			return err
		}
		if out, err = fn(ctx, tx); err != nil {
			return err
		}
		result, err := json.Marshal(out)
		if err != nil {
			return fault.Wrap(fault.Internal, err, "idempotency")
		}
		records.Put(
			tx,
			id,
			record{Op: call.Operation(), Input: call.Digest(), Result: result, CreatedAt: now, PurgeAt: now.Add(Kept)},
		)
		return nil
	}
	err := t.Update(ctx, run)
	// The next run finds the record of one that took effect without an answer.
	for range lookups {
		if !fault.Is(err, fault.OutcomeUnknown) || sleep.For(ctx, lookupPause) != nil {
			break
		}
		err = t.Update(ctx, run)
	}
	if fault.Is(err, fault.OutcomeUnknown) {
		err = fault.Wrap(fault.Unavailable, err, "the store does not answer; repeat the call with the same idempotencyKey, "+
			"which has effect once")
	}
	return out, err
}

// After a run whose outcome is unknown, further ones follow, each after a pause.
const (
	lookups     = 5
	lookupPause = 500 * time.Millisecond
)

// repeat returns the recorded result of the first call with a key. It fails with Precondition if the inputs differ.
func repeat[O any](first record, call Call) (out O, err error) {
	if first.Input != call.Digest() {
		return out, fault.New(
			fault.Precondition,
			"idempotencyKey %q was used for another %s; take a new key for a new call",
			call.Key(),
			call.Operation(),
		)
	}
	if err := json.Unmarshal(first.Result, &out); err != nil {
		return out, fault.Wrap(fault.Internal, err, "idempotency")
	}
	return out, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
