//go:build !unix

package launch

import (
	"context"
	"errors"
	"os"
	"time"
)

// Supported says whether processes can be kept on this system.
const Supported = false

var errUnsupported = errors.New("processes cannot be kept on this system")

// Process is one that was started here or was found again.
type Process struct {
	PID       int
	StartedAt string
}

// Exited is never closed here.
func (p *Process) Exited() <-chan struct{} { return nil }

// Exit is nothing here.
func (p *Process) Exit() Exit { return Exit{} }

// End fails here.
func (p *Process) End(time.Duration) error { return errUnsupported }

// Waiting is a process that waits to be told what to become.
type Waiting struct{ *Process }

// Start fails here.
func Start([]string, *os.File) (*Waiting, error) { return nil, errUnsupported }

// Drop does nothing here.
func (w *Waiting) Drop() {}

// Become fails here.
func (w *Waiting) Become(context.Context, Job) (*Process, error) { return nil, errUnsupported }

// Adopt finds nothing here.
func Adopt(int, string, time.Duration) (*Process, bool) { return nil, false }

// EndGroup fails here.
func EndGroup(int, string, time.Duration) error { return errUnsupported }

// Child fails here.
func Child() error { return errUnsupported }
