package firestore

import (
	"context"
	"errors"
	"math"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	vkit "cloud.google.com/go/firestore/apiv1"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Options select the database and configure its clients.
type Options struct {
	Project string
	// Database is the id of the database; empty means "(default)".
	Database string
	// EmulatorHost is the host:port of an emulator. Empty means the cloud, with the application default credentials.
	EmulatorHost string
	// GRPC are additional dial options of all connections.
	GRPC []grpc.DialOption
	// ClientOptions are additional options of the clients, in the cloud only.
	ClientOptions []option.ClientOption
}

const (
	defaultDatabase = "(default)"
	// connections is the number of connections that calls share in the cloud. One carries about 100 streams, and a
	// contended commit occupies its stream for seconds.
	connections = 4
	// rpcTimeout limits an RPC whose caller set no deadline.
	rpcTimeout = 60 * time.Second
	// rollbackTimeout limits a rollback, and so the wait of Close.
	rollbackTimeout = 5 * time.Second
)

// Driver is a Firestore database. It may be used concurrently.
type Driver struct {
	opts    Options
	root    string // projects/P/databases/D
	client  *vkit.Client
	headers metadata.MD
	pending sync.WaitGroup // rollbacks in the background
	retries *retryQueues
	samples *samples

	haveShards map[string]bool // the collections whose documents all have a shard, by id
	haveTexts  bool            // all documents are in the index of texts

	mu       sync.Mutex
	closed   bool
	lines    []*line
	watchers map[*watcher]struct{}
	renew    renewal
	moving   chan struct{} // limits the number of listeners that are being replaced
	skew     atomic.Int64  // the server's clock minus the local one, in nanoseconds
}

var _ store.Driver = (*Driver)(nil)

// Open returns a driver for a database. It makes no call, so a wrong project shows at the first read or write. A
// missing project or missing credentials are Internal.
func Open(ctx context.Context, opts Options) (*Driver, error) {
	if opts.Project == "" {
		return nil, fault.New(fault.Internal, "firestore: a project is required")
	}
	if opts.Database == "" {
		opts.Database = defaultDatabase
	}
	// The high-level client reads the variable by itself: without this check, calls would reach the cloud and
	// listeners an emulator.
	if opts.EmulatorHost == "" && os.Getenv(emulatorVariable) != "" {
		return nil, fault.New(fault.Internal,
			"firestore: %s must be unset to reach the cloud, because the options name no emulator", emulatorVariable)
	}
	d := &Driver{
		retries: newRetryQueues(),
		samples: newSamples(),

		haveShards: map[string]bool{},
		opts:       opts,
		root:       "projects/" + opts.Project + "/databases/" + opts.Database,
		headers: metadata.Pairs(
			"google-cloud-resource-prefix", "projects/"+opts.Project+"/databases/"+opts.Database,
			"x-goog-request-params", "project_id="+url.QueryEscape(opts.Project)+"&database_id="+url.QueryEscape(opts.Database)),
		watchers: map[*watcher]struct{}{},
		renew:    renewals,
		moving:   make(chan struct{}, 8),
	}
	clientOpts, err := opts.client(connections)
	if err != nil {
		return nil, err
	}
	if d.client, err = vkit.NewClient(ctx, clientOpts...); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "firestore: cannot open %s; check the credentials", d.root)
	}
	// By default the generated client repeats a commit whose outcome is unknown, and a read until its context ends.
	// This package decides itself when to repeat a call.
	d.client.CallOptions = &vkit.CallOptions{}
	return d, nil
}

const emulatorVariable = "FIRESTORE_EMULATOR_HOST"

// client returns the options of a client with n connections of its own.
func (o Options) client(n int) ([]option.ClientOption, error) {
	dial := append([]grpc.DialOption{grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32))}, o.GRPC...)
	if o.EmulatorHost != "" {
		conn, err := grpc.NewClient("passthrough:///"+o.EmulatorHost, append(dial,
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(owner{}))...)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "firestore: emulator at %s", o.EmulatorHost)
		}
		return []option.ClientOption{option.WithGRPCConn(conn)}, nil
	}
	dial = append(dial, grpc.WithKeepaliveParams(
		keepalive.ClientParameters{Time: 2 * time.Minute, Timeout: 20 * time.Second}))
	opts := []option.ClientOption{option.WithGRPCConnectionPool(n)}
	for _, o := range dial {
		opts = append(opts, option.WithGRPCDialOption(o))
	}
	return append(opts, o.ClientOptions...), nil
}

// owner holds the credentials that an emulator accepts as an administrator's.
type owner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity returns false: an emulator serves without TLS.
func (owner) RequireTransportSecurity() bool { return false }

// call returns the context of one RPC.
func (d *Driver) call(ctx context.Context) (context.Context, context.CancelFunc) {
	md, _ := metadata.FromOutgoingContext(ctx)
	ctx = metadata.NewOutgoingContext(ctx, metadata.Join(md, d.headers))
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, rpcTimeout)
}

// inBackground runs f without holding up the caller. Close waits for it. It does nothing once the driver is closed.
func (d *Driver) inBackground(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		f(ctx)
	})
}

// Close ends every listener, waits for rollbacks in the background and disconnects. It may be called more than once.
func (d *Driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	watchers := make([]*watcher, 0, len(d.watchers))
	for w := range d.watchers {
		watchers = append(watchers, w)
	}
	lines := d.lines
	d.mu.Unlock()
	for _, w := range watchers {
		w.stop()
	}
	d.pending.Wait()
	err := d.client.Close()
	for _, l := range lines {
		err = errors.Join(err, l.client.Close())
	}
	return err
}
