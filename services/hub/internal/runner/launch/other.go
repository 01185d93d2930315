//go:build !unix

package launch

import (
	"context"
	"errors"
	"os"
	"time"
)

// Supported reports whether this system is supported.
const Supported = false

var errUnsupported = errors.New("this system is not supported")

// Process is a process that was started or adopted.
type Process struct {
	PID       int
	StartedAt string
}

// Exited returns nil on this system.
func (p *Process) Exited() <-chan struct{} { return nil }

// Exit returns the zero value on this system.
func (p *Process) Exit() Exit { return Exit{} }

// End returns an error on this system.
func (p *Process) End(time.Duration) error { return errUnsupported }

// Waiting is a process that waits for its job.
type Waiting struct{ *Process }

// Start returns an error on this system.
func Start([]string, *os.File) (*Waiting, error) { return nil, errUnsupported }

// Drop does nothing on this system.
func (w *Waiting) Drop() {}

// Become returns an error on this system.
func (w *Waiting) Become(context.Context, Job) (*Process, error) { return nil, errUnsupported }

// Adopt returns false on this system.
func Adopt(int, string, time.Duration) (*Process, bool) { return nil, false }

// EndGroup returns an error on this system.
func EndGroup(int, string, time.Duration) error { return errUnsupported }

// Child returns an error on this system.
func Child() error { return errUnsupported }
