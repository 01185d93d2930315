package connectd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/process"
	"parley.internal/services/hub/internal/hook/remote"
)

// Options are the settings of a daemon. A setting that is zero has a default.
type Options struct {
	Env func(string) string
	// Log receives a line for each trouble; never a key, and no text of a message.
	Log io.Writer
	// Linger is the time for which a daemon without sessions waits for one.
	Linger time.Duration
	// Patience is the time after which the person is called where nothing wakes an idle agent.
	Patience time.Duration
	// Rest is the time between the end of a turn and a wake by a process of the client. A client that is about to end its
	// turn may lose the words of such a process.
	Rest time.Duration
	// Ahead is the time after a hook for which mail is fetched before the next one asks for it. A session that calls no hook
	// for longer, such as one in a long build, would keep the mail of its program from the others.
	Ahead time.Duration
	// Codex runs the program of Codex; the default is the one of the session's environment.
	Codex func(ctx context.Context, env map[string]string, dir string, args ...string) error
	// Slack is added to the budgets of hooks, as in [process.Process].
	Slack time.Duration
	// Now is the clock, and After its timer.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

const (
	linger   = 3 * time.Second
	patience = 20 * time.Second
	rest     = time.Second
	// tick is the time between two checks of the conditions that time alone changes.
	tick = time.Second
	// lookAtProcesses is the time between two looks at the clients' processes, and gone the time after which a session whose
	// process is not there is ended. One without a known process is ended when no hook was called for so long.
	lookAtProcesses = 5 * time.Second
	gone            = 10 * time.Second
	silent          = 12 * time.Hour
)

// ErrRuns means that another daemon runs for this user.
var ErrRuns = errors.New("another daemon runs for this user")

// Daemon is the process.
type Daemon struct {
	Options
	place local.Place
	// late is the place of the usage that is told after the ends of sessions.
	late  local.Place
	lock  *os.File
	since time.Time

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	// looks bounds the looks at worktrees at once.
	looks   chan struct{}
	authors authors

	mu       sync.Mutex
	sessions map[string]*session
	hubs     map[string]*hub
	conns    int
	// used are the ids that have woken a session, with the session.
	used map[string]string
	// watches are the processes that watch, by their clients.
	watches map[watched]*waiter
	// large are the worktrees that are left alone until a time.
	large map[string]time.Time
	// idle is the time since which there is neither a session nor a connection.
	idle time.Time
}

// Run runs the daemon until ctx or the last session ends. It returns [ErrRuns] where one runs already.
func Run(ctx context.Context, o Options) error {
	if runtime.GOOS == "windows" {
		return errors.New("there is no daemon on Windows: each hook calls the server by itself")
	}
	place, err := local.Find(o.Env)
	if err != nil {
		return err
	}
	ends, err := place.Late()
	if err != nil {
		return err
	}
	lock, err := local.Take(place.Lock())
	if errors.Is(err, local.ErrHeld) {
		return ErrRuns
	}
	if err != nil {
		return err
	}
	defer local.Release(lock)
	if o.Linger == 0 {
		o.Linger = linger
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.Ahead == 0 {
		o.Ahead = ahead
	}
	if o.Rest == 0 {
		o.Rest = rest
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Codex == nil {
		o.Codex = codex
	}
	d := &Daemon{Options: o, place: place, late: ends, lock: lock, since: o.Now(), sessions: map[string]*session{}, hubs: map[string]*hub{},
		used: map[string]string{}, watches: map[watched]*waiter{}, large: map[string]time.Time{}, looks: make(chan struct{}, looks),
		idle: time.Now()}
	d.ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	return d.run()
}

func (d *Daemon) run() error {
	path, err := d.place.MakeSocket()
	if err != nil {
		return err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	defer d.unlink(path)
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer context.AfterFunc(d.ctx, func() { _ = ln.Close() })()
	d.resume()
	d.resumeLate()
	d.work.Go(d.tend)
	for {
		conn, err := ln.Accept()
		if err != nil {
			d.stop()
			_ = ln.Close()
			d.work.Wait()
			return nil
		}
		d.mu.Lock()
		d.conns++
		d.mu.Unlock()
		d.work.Go(func() {
			d.serve(local.NewConn(conn))
			d.mu.Lock()
			d.conns--
			d.mu.Unlock()
		})
	}
}

// unlink removes the socket, unless the directory was removed and may be that of a successor by now.
func (d *Daemon) unlink(path string) {
	if local.Current(d.lock, d.place.Lock()) {
		d.place.RemoveSocket(path)
	}
}

// log writes a line about a trouble.
func (d *Daemon) log(format string, args ...any) {
	if d.Log != nil {
		line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
		fmt.Fprintf(d.Log, "%s %.500s\n", d.Now().UTC().Format(time.RFC3339), line)
	}
}

// resume takes up the sessions of a daemon before, or of hooks that called the server by themselves.
func (d *Daemon) resume() {
	for _, id := range d.place.All() {
		var st struct {
			Connection string `json:"connection"`
			Thread     string `json:"thread"`
		}
		if !d.place.Load(id, &st) || local.ID(st.Connection, st.Thread) != id {
			d.place.Remove(id)
			continue
		}
		if _, err := d.session(st.Connection, st.Thread); err != nil {
			d.log("the session %s is forgotten: %v", id, err)
			d.place.Remove(id)
		}
	}
}

// session returns a session, which it begins where it is new here.
func (d *Daemon) session(conn, thread string) (*session, error) {
	id := local.ID(conn, thread)
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[id]; s != nil {
		return s, nil
	}
	c, err := connection.Read(d.place.Connections, conn)
	if err != nil {
		return nil, err
	}
	s := newSession(d, id, c, thread)
	d.sessions[id] = s
	d.work.Go(s.tend)
	return s, nil
}

// drop forgets a session that has ended.
func (d *Daemon) drop(s *session, h *hub) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions[s.id] == s {
		delete(d.sessions, s.id)
	}
	d.changed(h)
}

// all returns the sessions.
func (d *Daemon) all() []*session {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]*session, 0, len(d.sessions))
	for _, s := range d.sessions {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *session) int { return strings.Compare(a.id, b.id) })
	return out
}

// reach returns the server of a connection, as its key sees it. Connections with one key share it.
func (d *Daemon) reach(ctx context.Context, c connection.Connection) (*hub, error) {
	key, err := process.Key(ctx, c, d.Env)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name := c.URL + "\x00" + key
	h := d.hubs[name]
	if h == nil {
		h = &hub{Hub: &remote.Hub{URL: c.URL, Key: key}, daemon: d, name: name, anew: make(chan struct{}, 1)}
		d.hubs[name] = h
		d.work.Go(h.watch)
	}
	return h, nil
}

// changed makes a hub wait for the sessions that it has now. The caller holds the daemon.
func (d *Daemon) changed(h *hub) {
	if h == nil {
		return
	}
	select {
	case h.anew <- struct{}{}:
	default:
	}
}

// tend checks the conditions that time changes, until the daemon ends.
func (d *Daemon) tend() {
	t := time.NewTicker(min(tick, d.Linger))
	defer t.Stop()
	looked := time.Now()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-t.C:
		}
		look := time.Since(looked) >= lookAtProcesses
		if look {
			looked = time.Now()
		}
		for _, s := range d.all() {
			s.offer()
			if look {
				s.look()
			}
		}
		if d.over() {
			d.stop()
			return
		}
	}
}

// over reports whether nobody has needed the daemon for a while.
func (d *Daemon) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sessions) > 0 || d.conns > 0 {
		d.idle = time.Now()
		return false
	}
	return time.Since(d.idle) >= d.Linger
}
