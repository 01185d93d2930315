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

	hi "cloud.google.com/go/firestore"
	vkit "cloud.google.com/go/firestore/apiv1"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Options say which database to open, and how.
type Options struct {
	Project string
	// Database is "(default)" where it is empty.
	Database string
	// EmulatorHost is the host:port of an emulator. Empty is the cloud, with the
	// application default credentials.
	EmulatorHost string
	// GRPC are further dial options, of every connection.
	GRPC []grpc.DialOption
	// ClientOptions are further options of the clients of the cloud.
	ClientOptions []option.ClientOption
}

const (
	defaultDatabase = "(default)"
	// connections is how many the calls share in the cloud: one carries about
	// 100 streams, and a contended commit holds its stream for seconds.
	connections = 4
	// rpcTimeout ends an RPC of a caller who set no deadline.
	rpcTimeout = 60 * time.Second
	// rollbackTimeout bounds how long Close waits.
	rollbackTimeout = 5 * time.Second
)

// Driver is an open database.
type Driver struct {
	opts    Options
	root    string // projects/P/databases/D
	client  *vkit.Client
	headers metadata.MD
	later   sync.WaitGroup // rollbacks under way
	retries *retryQueues

	mu       sync.Mutex
	closed   bool
	listens  *hi.Client
	watchers map[*watcher]struct{}
	renew    renewal
	moving   chan struct{} // a place for each listener that is being replaced
	skew     atomic.Int64  // the server's clock less ours, nanoseconds
}

var _ store.Driver = (*Driver)(nil)

// Open connects to a database. It makes no call: a wrong project shows in the first.
func Open(ctx context.Context, opts Options) (*Driver, error) {
	if opts.Project == "" {
		return nil, fault.New(fault.Internal, "firestore: no project is named")
	}
	if opts.Database == "" {
		opts.Database = defaultDatabase
	}
	// The high-level client obeys the variable by itself: without this, calls
	// would reach the cloud and listeners an emulator.
	if opts.EmulatorHost == "" && os.Getenv(emulatorVariable) != "" {
		return nil, fault.New(fault.Internal, "firestore: %s is set, but the options name no emulator; unset it to reach the cloud", emulatorVariable)
	}
	d := &Driver{
		retries: newRetryQueues(),
		opts:    opts,
		root:    "projects/" + opts.Project + "/databases/" + opts.Database,
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
		return nil, fault.Wrap(fault.Internal, err, "firestore: cannot open %s; are there credentials for it?", d.root)
	}
	// The generated client would repeat a commit whose outcome is unknown, and
	// a read until its context ends: what is repeated is decided in this package.
	d.client.CallOptions = &vkit.CallOptions{}
	return d, nil
}

const emulatorVariable = "FIRESTORE_EMULATOR_HOST"

// client is the options of a client with n connections of its own.
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
	dial = append(dial, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 2 * time.Minute, Timeout: 20 * time.Second}))
	opts := []option.ClientOption{option.WithGRPCConnectionPool(n)}
	for _, o := range dial {
		opts = append(opts, option.WithGRPCDialOption(o))
	}
	return append(opts, o.ClientOptions...), nil
}

// owner is who an emulator takes for an administrator.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

// call is the context of one RPC.
func (d *Driver) call(ctx context.Context) (context.Context, context.CancelFunc) {
	md, _ := metadata.FromOutgoingContext(ctx)
	ctx = metadata.NewOutgoingContext(ctx, metadata.Join(md, d.headers))
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, rpcTimeout)
}

// afterwards runs f beside the caller; Close waits for it. Once the driver is
// closed it does not run.
func (d *Driver) afterwards(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.later.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		f(ctx)
	})
}

// Close ends every listener, waits for rollbacks under way and disconnects.
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
	listens := d.listens
	d.mu.Unlock()
	for _, w := range watchers {
		w.stop()
	}
	d.later.Wait()
	err := d.client.Close()
	if listens != nil {
		err = errors.Join(err, listens.Close())
	}
	return err
}
