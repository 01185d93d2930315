// Package once makes the repetition of a creating call harmless.
//
// The record of a key is written in the transaction that does the work, so either
// both are there or neither: a repeat gets the first result, also when the first
// answer was lost on its way. Only successes are kept. The package may not hold
// anything of what is created.
package once

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

// Do runs fn in a transaction. With a key it runs it once in 24 hours for the
// same user, operation and key, and a repeat gets the first result; the same key
// with another input is Precondition. in is compared as JSON.
func Do[O any](ctx context.Context, t *store.Tenant, op, key string, now time.Time, in any, fn func(context.Context, *store.Tx) (O, error)) (O, error) {
	var out O
	if key == "" {
		err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			out, err = fn(ctx, tx)
			return err
		})
		return out, err
	}
	text, err := json.Marshal(in)
	if err != nil {
		return out, fault.Wrap(fault.Internal, err, "idempotency")
	}
	id, hash := digest([]byte(op+"\x00"+key)), digest(text)
	err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		var rec record
		f := records.Fetch(id, &rec)
		if err := store.Load(ctx, tx, f); err != nil {
			return err
		}
		if f.Found && now.Before(rec.PurgeAt) {
			if rec.Input != hash {
				return fault.New(fault.Precondition, "idempotencyKey %q was used for another %s; take a new key for a new call", key, op)
			}
			var first O
			if err := json.Unmarshal(rec.Result, &first); err != nil {
				return fault.Wrap(fault.Internal, err, "idempotency")
			}
			out = first
			return nil
		}
		if out, err = fn(ctx, tx); err != nil {
			return err
		}
		result, err := json.Marshal(out)
		if err != nil {
			return fault.Wrap(fault.Internal, err, "idempotency")
		}
		records.Put(tx, id, record{Op: op, Input: hash, Result: result, CreatedAt: now, PurgeAt: now.Add(Kept)})
		return nil
	})
	return out, err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
