package store

import (
	"context"
	"slices"
)

// ending is the context key of WithEnd.
type ending struct{}

// WithEnd returns a context whose waits end when one of at most two channels is closed, as if their time were over. Unlike
// the end of the context it interrupts no read or write. A channel may be nil.
func WithEnd(ctx context.Context, end ...<-chan struct{}) context.Context {
	return context.WithValue(ctx, ending{}, append(slices.Clone(end), nil, nil)[:2])
}

// Ended reports whether the waits of a context were ended by [WithEnd].
func Ended(ctx context.Context) bool {
	a, b := endsOf(ctx)
	select {
	case <-a:
	case <-b:
	default:
		return false
	}
	return true
}

// EndOf returns the first channel of [WithEnd], nil if there is none.
func EndOf(ctx context.Context) <-chan struct{} {
	a, _ := endsOf(ctx)
	return a
}

func endsOf(ctx context.Context) (a, b <-chan struct{}) {
	if ends, ok := ctx.Value(ending{}).([]<-chan struct{}); ok {
		return ends[0], ends[1]
	}
	return nil, nil
}
