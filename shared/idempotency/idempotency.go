// Package idempotency makes the repetition of a creating call harmless.
//
// The record of a key is written in the transaction that does the work, so either both are there
// or neither: a repeat gets the first result, also when the first answer was lost on its way. Only
// successes are kept. The package may hold nothing of the things that are created.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Kept is how long a key is remembered.
const Kept = 24 * time.Hour

// Call is a call that may be the repetition of another. The input of an operation is one where it
// embeds op.Idempotency.
type Call interface {
	// Key is the caller's, empty where the call is no repetition of another.
	Key() string
	// Caller is whom the key belongs to: keys of different callers never meet.
	Caller() string
	// Operation is the name of the operation that is called.
	Operation() string
	// Digest is the same for equal inputs, whatever their keys, and another for others.
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

// Def declares the collection of remembered keys.
func Def() *store.Def { return records.Def() }

// Update runs fn in a transaction. With a key it runs it once in 24 hours for the same caller,
// operation and key: a repeat gets the first result, and the same key with another input is a
// Precondition fault. A call with a key that did not come through an operation is Internal.
func Update[O any](ctx context.Context, t *store.Tenant, call Call, now time.Time, fn func(context.Context, *store.Tx) (O, error)) (O, error) {
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
	err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
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
		records.Put(tx, id, record{Op: call.Operation(), Input: call.Digest(), Result: result, CreatedAt: now, PurgeAt: now.Add(Kept)})
		return nil
	})
	return out, err
}

// repeat is the result of the first call with a key, for a call with the same input.
func repeat[O any](first record, call Call) (out O, err error) {
	if first.Input != call.Digest() {
		return out, fault.New(fault.Precondition, "idempotencyKey %q was used for another %s; take a new key for a new call", call.Key(), call.Operation())
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
