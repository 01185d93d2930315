package local

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/session"
)

// Op is the operation that a request asks of the daemon.
type Op string

// The operations.
const (
	// Hook answers one event.
	Hook Op = "hook"
	// Wait holds until there is a wake. Watch goes on after each, and after the session with the next of the same client.
	Wait  Op = "wait"
	Watch Op = "watch"
	// Guard holds while a process waits for the person's answer to a permission request. If the process ends without an
	// [Ack], its client has ended it, and the daemon takes the question back.
	Guard  Op = "guard"
	Status Op = "status"
	Stop   Op = "stop"
)

// Request is the request of a process to the daemon.
type Request struct {
	Op         Op                `json:"op"`
	Connection string            `json:"connection,omitempty"`
	Call       hook.Call         `json:"call,omitzero"`
	Process    session.Process   `json:"process,omitzero"`
	Terminal   session.Terminal  `json:"terminal,omitzero"`
	Env        map[string]string `json:"env,omitempty"`
	// Budget is the time for an answer in milliseconds.
	Budget int64 `json:"budget,omitempty"`
	// Asked is the permission request of [Guard], as a word of [hook.Asked].
	Asked string `json:"asked,omitempty"`
}

// Response is the answer of the daemon. After a response with a receipt, the process sends an [Ack] when its output was
// written, and reads [Noted].
type Response struct {
	hook.Reply
	// Receipt confirms the mail and answers that the reply shows.
	Receipt string `json:"receipt,omitempty"`
	// Line is the text of a wake for a process that watches.
	Line string `json:"line,omitempty"`
	// Over ends a wait: the session has ended, or another waits for it. A watch ends only when another watches.
	Over bool `json:"over,omitempty"`
	// Info is the answer to Status.
	Info *Info `json:"info,omitempty"`
}

// Ack says that the output was written.
type Ack struct {
	Written bool `json:"written"`
}

// Noted says that the daemon will not show it again.
type Noted struct {
	Noted bool `json:"noted"`
}

// Info is the state of the daemon.
type Info struct {
	PID      int           `json:"pid"`
	Since    time.Time     `json:"since"`
	Sessions []SessionInfo `json:"sessions"`
}

// SessionInfo is the state of a session.
type SessionInfo struct {
	Connection string    `json:"connection"`
	Client     string    `json:"client"`
	Version    string    `json:"version,omitempty"`
	SessionID  string    `json:"sessionId,omitempty"`
	Dir        string    `json:"dir,omitempty"`
	Seen       time.Time `json:"seen"`
	InTurn     bool      `json:"inTurn"`
	Paused     bool      `json:"paused"`
	Waiter     bool      `json:"waiter"`
	// Ready means that mail was fetched for the next hook.
	Ready bool `json:"ready,omitempty"`
	// Contact is the time of the server's last answer.
	Contact time.Time `json:"contact,omitzero"`
	// Trouble is why the server could not be asked the last time.
	Trouble string `json:"trouble,omitempty"`
}

// Conn is a connection to the daemon, from either end.
type Conn struct {
	net.Conn
	in *json.Decoder
}

// NewConn returns the connection on c.
func NewConn(c net.Conn) *Conn { return &Conn{c, json.NewDecoder(c)} }

// ErrNoDaemon means that no daemon listens.
var ErrNoDaemon = errors.New("no daemon runs for this user")

// Dial connects to the daemon.
func (p Place) Dial(ctx context.Context) (*Conn, error) {
	path, err := p.Socket()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(ErrNoDaemon, err)
	}
	if err != nil {
		return nil, err
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, errors.Join(ErrNoDaemon, err)
	}
	return NewConn(c), nil
}

// Send writes a value, and Receive reads one.
func (c *Conn) Send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(text, '\n'))
	return err
}

// Receive reads a value.
func (c *Conn) Receive(v any) error { return c.in.Decode(v) }
