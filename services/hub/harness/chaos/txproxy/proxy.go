package txproxy

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"path"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"
)

// Proxy forwards the calls of hubs to an emulator. [New] makes one.
type Proxy struct {
	// Addr is the host:port where it listens.
	Addr string

	conn   *grpc.ClientConn
	server *grpc.Server
	calls  sync.WaitGroup
}

// callTimeout bounds a call after the end of its hub.
const callTimeout = 30 * time.Second

// New starts a proxy to an emulator at host:port, on a free port of 127.0.0.1. It runs until [Proxy.Close].
func New(ctx context.Context, emulator string) (*Proxy, error) {
	sizes := grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(math.MaxInt32),
		grpc.MaxCallSendMsgSize(math.MaxInt32))
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient("passthrough:///"+emulator, plain, sizes)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p := &Proxy{Addr: listener.Addr().String(), conn: conn}
	p.server = grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(p.forward), grpc.StatsHandler(p),
		grpc.MaxRecvMsgSize(math.MaxInt32))
	p.calls.Go(func() { _ = p.server.Serve(listener) }) // ends when the server is stopped
	return p, nil
}

// Close ends the proxy and waits for the calls that it forwards.
func (p *Proxy) Close() error {
	p.server.Stop()
	p.calls.Wait()
	return p.conn.Close()
}

// client is one connection of a hub with its open transactions.
type client struct {
	mu   sync.Mutex
	open map[string]transaction // by their id
	gone bool
}

// transaction is an open transaction with the data for its rollback.
type transaction struct {
	database   string
	headers    metadata.MD
	committing bool
}

type clientKey struct{}

// TagConn implements stats.Handler.
func (p *Proxy) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, clientKey{}, &client{open: map[string]transaction{}})
}

// HandleConn implements stats.Handler. At the end of a connection it rolls back its open transactions.
func (p *Proxy) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, over := s.(*stats.ConnEnd); !over {
		return
	}
	c := ctx.Value(clientKey{}).(*client)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for tx, o := range c.open {
		if !o.committing {
			p.rollBack(tx, o)
		}
	}
}

// TagRPC implements stats.Handler.
func (p *Proxy) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (p *Proxy) HandleRPC(context.Context, stats.RPCStats) {}

// rollBack rolls a transaction back, in the background.
func (p *Proxy) rollBack(tx string, o transaction) {
	p.calls.Go(func() {
		ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(context.Background(), o.headers), callTimeout)
		defer cancel()
		req, err := proto.Marshal(&firestorepb.RollbackRequest{Database: o.database, Transaction: []byte(tx)})
		var none []byte
		if err == nil {
			// After a failure the emulator itself ends the transaction, later.
			_ = p.conn.Invoke(ctx, "/google.firestore.v1.Firestore/Rollback", &req, &none)
		}
	})
}

// forward forwards a call of any method.
func (p *Proxy) forward(_ any, in grpc.ServerStream) error {
	p.calls.Add(1)
	defer p.calls.Done()
	full, _ := grpc.MethodFromServerStream(in)
	c := &call{proxy: p, client: in.Context().Value(clientKey{}).(*client), method: path.Base(full),
		headers: headers(in.Context())}
	ctx, cancel := context.WithCancel(in.Context())
	if c.method != "Listen" {
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(in.Context()), callTimeout+time.Minute)
	}
	defer cancel()
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	out, err := p.conn.NewStream(metadata.NewOutgoingContext(ctx, c.headers), both, full)
	if err != nil {
		return err
	}
	p.calls.Go(func() {
		for {
			var m []byte
			if in.RecvMsg(&m) != nil {
				_ = out.CloseSend() // an error shows in the response
				return
			}
			c.onRequest(m)
			if out.SendMsg(&m) != nil {
				return
			}
		}
	})
	for {
		var m []byte
		if err := out.RecvMsg(&m); err != nil {
			c.onEnd(err)
			if in.SetTrailer(out.Trailer()); errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c.onResponse(m)
		_ = in.SendMsg(&m) // the call goes on even if its hub is gone
	}
}

// headers returns the headers of a call without those of its connection.
func headers(ctx context.Context) metadata.MD {
	in, _ := metadata.FromIncomingContext(ctx)
	out := metadata.MD{}
	for name, values := range in {
		if !strings.HasPrefix(name, ":") && !strings.HasPrefix(name, "grpc-") &&
			name != "content-type" && name != "user-agent" {
			out[name] = values
		}
	}
	return out
}
