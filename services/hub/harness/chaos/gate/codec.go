package gate

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// raw hands messages on as they are: each is a *[]byte.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("gate: a message is bytes, not %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("gate: a message is bytes, not %T", v)
	}
	*b = data.Materialize()
	return nil
}

// Name is that of the messages' own codec.
func (raw) Name() string { return "proto" }
