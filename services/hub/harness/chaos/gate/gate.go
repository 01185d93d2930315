package gate

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

// Gate is one that stands. Make one with [New].
type Gate struct {
	// Addr is the host:port where it stands.
	Addr string

	conn   *grpc.ClientConn
	server *grpc.Server
	calls  sync.WaitGroup
}

// longest is how long a call goes on whose hub is gone.
const longest = 30 * time.Second

// New is a gate to an emulator at host:port, on a free port of 127.0.0.1.
func New(ctx context.Context, emulator string) (*Gate, error) {
	sizes := grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32))
	conn, err := grpc.NewClient("passthrough:///"+emulator, grpc.WithTransportCredentials(insecure.NewCredentials()), sizes)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	g := &Gate{Addr: listener.Addr().String(), conn: conn}
	g.server = grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(g.pass), grpc.StatsHandler(g), grpc.MaxRecvMsgSize(math.MaxInt32))
	g.calls.Go(func() { _ = g.server.Serve(listener) }) // stopped, always
	return g, nil
}

// Close ends the gate and waits for what goes through it.
func (g *Gate) Close() error {
	g.server.Stop()
	g.calls.Wait()
	return g.conn.Close()
}

// client is one connection of a hub, with the transactions that it has open.
type client struct {
	mu   sync.Mutex
	open map[string]opened
	gone bool
}

// opened is a transaction, and how it is ended.
type opened struct {
	database   string
	headers    metadata.MD
	committing bool
}

type clientKey struct{}

// TagConn implements stats.Handler.
func (g *Gate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, clientKey{}, &client{open: map[string]opened{}})
}

// HandleConn implements stats.Handler: it hears of the end of a connection.
func (g *Gate) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, over := s.(*stats.ConnEnd); !over {
		return
	}
	c := ctx.Value(clientKey{}).(*client)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for tx, o := range c.open {
		if !o.committing {
			g.giveUp(tx, o)
		}
	}
}

// TagRPC implements stats.Handler.
func (g *Gate) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (g *Gate) HandleRPC(context.Context, stats.RPCStats) {}

// giveUp rolls a transaction back, beside whoever asks for it.
func (g *Gate) giveUp(tx string, o opened) {
	g.calls.Go(func() {
		ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(context.Background(), o.headers), longest)
		defer cancel()
		req, err := proto.Marshal(&firestorepb.RollbackRequest{Database: o.database, Transaction: []byte(tx)})
		var none []byte
		if err == nil {
			_ = g.conn.Invoke(ctx, "/google.firestore.v1.Firestore/Rollback", &req, &none) // else it ends by itself, later
		}
	})
}

// pass carries one call through, whatever its method.
func (g *Gate) pass(_ any, in grpc.ServerStream) error {
	g.calls.Add(1)
	defer g.calls.Done()
	full, _ := grpc.MethodFromServerStream(in)
	call := &passing{gate: g, client: in.Context().Value(clientKey{}).(*client), method: path.Base(full), headers: forward(in.Context())}
	ctx, cancel := context.WithCancel(in.Context())
	if call.method != "Listen" {
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(in.Context()), longest+time.Minute)
	}
	defer cancel()
	out, err := g.conn.NewStream(metadata.NewOutgoingContext(ctx, call.headers), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, full)
	if err != nil {
		return err
	}
	g.calls.Go(func() {
		for {
			var m []byte
			if in.RecvMsg(&m) != nil {
				_ = out.CloseSend() // the answer tells what there is to tell
				return
			}
			call.asked(m)
			if out.SendMsg(&m) != nil {
				return
			}
		}
	})
	for {
		var m []byte
		if err := out.RecvMsg(&m); err != nil {
			call.ended(err)
			if in.SetTrailer(out.Trailer()); errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		call.answered(m)
		_ = in.SendMsg(&m) // a hub that is gone hears nothing, and the call goes on
	}
}

// forward is the headers of a call without those of its connection.
func forward(ctx context.Context) metadata.MD {
	in, _ := metadata.FromIncomingContext(ctx)
	out := metadata.MD{}
	for name, values := range in {
		if !strings.HasPrefix(name, ":") && name != "content-type" && name != "user-agent" && !strings.HasPrefix(name, "grpc-") {
			out[name] = values
		}
	}
	return out
}
