package txproxy

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// raw is a codec that leaves messages as they are: each is a *[]byte.
type raw struct{}

// Marshal implements encoding.CodecV2. v must be a *[]byte.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("txproxy: a message must be bytes, not %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal implements encoding.CodecV2. v must be a *[]byte.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("txproxy: a message must be bytes, not %T", v)
	}
	*b = data.Materialize()
	return nil
}

// Name returns the name of the codec of the messages.
func (raw) Name() string { return "proto" }
