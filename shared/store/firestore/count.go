package firestore

import (
	"context"
	"maps"
	"path"
	"sync"

	"google.golang.org/grpc"
)

// CountRPCs returns dial options that count the RPCs of a driver's connections, and a function that returns the counts
// so far, by the short name of the method. Tests use it to check the number of RPCs of a call.
func CountRPCs() (dial []grpc.DialOption, snapshot func() map[string]int) {
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(method string) {
		mu.Lock()
		defer mu.Unlock()
		counts[path.Base(method)]++
	}
	dial = []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			count(method)
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(
			ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			stream grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
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
