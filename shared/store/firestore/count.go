package firestore

import (
	"context"
	"maps"
	"path"
	"sync"

	"google.golang.org/grpc"
)

// CountRPCs is dial options that count the RPCs of a driver's connections, by
// the short name of the method, and what they have counted until now. It is for
// tests that hold a call to its budget.
func CountRPCs() (dial []grpc.DialOption, snapshot func() map[string]int) {
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(method string) {
		mu.Lock()
		defer mu.Unlock()
		counts[path.Base(method)]++
	}
	dial = []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			count(method)
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			count(method)
			return stream(ctx, desc, cc, method, opts...)
		}),
	}
	return dial, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(counts)
	}
}
