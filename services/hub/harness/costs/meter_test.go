package costs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
)

// ops are the operations that Firestore charges for.
type ops struct {
	reads, writes, deletes int
	// heard are the documents sent to listeners, each charged as a read. They are counted apart because their time of
	// arrival varies.
	heard int
}

func (o ops) minus(p ops) ops {
	return ops{o.reads - p.reads, o.writes - p.writes, o.deletes - p.deletes, o.heard - p.heard}
}

// meter counts the operations of a driver's connections as Google's price list does: each document that is read, found
// or missing; an empty query as one read; each write and delete of a successful commit.
type meter struct {
	// wrote is called for each write of a commit, in order, before the commit returns. It may be nil.
	wrote func(w *firestorepb.Write)

	mu      sync.Mutex
	count   ops
	changed chan struct{} // closed at the next change
}

// dial returns the options that make a driver's connections count.
func (m *meter) dial() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(m.unary), grpc.WithChainStreamInterceptor(m.stream)}
}

func (m *meter) now() ops {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

func (m *meter) add(o ops) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count = ops{m.count.reads + o.reads, m.count.writes + o.writes, m.count.deletes + o.deletes, m.count.heard + o.heard}
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// waitLimit bounds until.
const waitLimit = 30 * time.Second

// until waits until the counts satisfy is. It returns an error after waitLimit or when ctx ends.
func (m *meter) until(ctx context.Context, is func(ops) bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		m.mu.Lock()
		if is(m.count) {
			m.mu.Unlock()
			return nil
		}
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the counts are %+v: %w", m.now(), ctx.Err())
		}
	}
}

func (m *meter) unary(
	ctx context.Context, method string, req, reply any,
	cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	commit, ok := req.(*firestorepb.CommitRequest)
	if err != nil || !ok {
		return err
	}
	var o ops
	for _, w := range commit.GetWrites() {
		if w.GetDelete() != "" {
			o.deletes++
		} else {
			o.writes++
		}
		if m.wrote != nil {
			m.wrote(w)
		}
	}
	m.add(o)
	return nil
}

func (m *meter) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	return &stream{ClientStream: s, m: m, query: path.Base(method) == "RunQuery"}, err
}

// stream counts the documents that it receives.
type stream struct {
	grpc.ClientStream
	m     *meter
	query bool
	found int
}

// RecvMsg implements grpc.ClientStream.
func (s *stream) RecvMsg(v any) error {
	err := s.ClientStream.RecvMsg(v)
	if s.query && s.found == 0 && errors.Is(err, io.EOF) {
		s.m.add(ops{reads: 1})
	}
	if err != nil {
		return err
	}
	switch r := v.(type) {
	case *firestorepb.RunQueryResponse:
		if r.GetDocument() != nil {
			s.found++
			s.m.add(ops{reads: 1})
		}
	case *firestorepb.BatchGetDocumentsResponse:
		if r.GetResult() != nil {
			s.m.add(ops{reads: 1})
		}
	case *firestorepb.ListenResponse:
		if r.GetDocumentChange() != nil || r.GetDocumentRemove() != nil {
			s.m.add(ops{heard: 1})
		}
	}
	return nil
}
