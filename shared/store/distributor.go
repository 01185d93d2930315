package store

import (
	"context"
	"time"
)

// Distributor is given the documents that many waits wait for, in place of the waits, and hands them out. A document
// for which a thousand waits wait, and which one of them will get, then wakes that one.
type Distributor[T any] struct{ untyped *distributor }

// distributor is a distributor of any type. give returns false if the document cannot be read.
type distributor struct{ give func(Change) bool }

// NewDistributor returns a distributor that calls give with each document of a user. Give must be quick, and must not
// use the store: the store's writer waits for it.
func NewDistributor[T any](give func(user string, d Doc[T])) *Distributor[T] {
	return &Distributor[T]{&distributor{func(c Change) bool {
		var v T
		if decode(c.Fields, &v) != nil {
			return false
		}
		give(c.Ref.User, Doc[T]{ID: c.Ref.ID, Value: v})
		return true
	}}}
}

// WaitOn waits as [Collection.Wait] does, but a change to a document that matches where wakes none of the waits on the
// distributor: it is given the document, once, however many of them it matches. Of the documents that changed before a
// check that found nothing, the distributor may have been given some; it is given all that change after the check while
// the wait goes on. Where changes may have been missed, all waits look again.
func (c Collection[T]) WaitOn(
	ctx context.Context, to *Distributor[T], t *Tenant, where []Cond, d time.Duration,
	check func(context.Context) (bool, error),
) error {
	return c.wait(ctx, t, where, d, to.untyped, check)
}
