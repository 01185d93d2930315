package auth

import (
	"fmt"
	"io"
	"net/http"

	"parley.internal/shared/fault"
)

// Portion is the number of bytes of a body that count as one call.
const Portion = 16 << 10

// price returns the number of calls that a request with a body of so many bytes counts as: reading and parsing a long
// body takes as much of the server as many short ones.
func price(bytes int64) int {
	return int(max(1, (bytes+Portion-1)/Portion))
}

// charge counts a request against limits by the announced length of its body, before any of it is read. A body of
// unknown length is counted portion by portion as it arrives, and reading it fails with Exhausted past the limits.
func charge(r *http.Request, spend func(from, to int) error) error {
	if err := spend(0, price(r.ContentLength)); err != nil {
		return err
	}
	if r.ContentLength < 0 && r.Body != nil {
		r.Body = &metered{ReadCloser: r.Body, spend: spend, spent: 1}
	}
	return nil
}

// metered is a body of unknown length.
type metered struct {
	io.ReadCloser
	spend func(from, to int) error
	read  int64
	spent int
	err   error
}

// Read implements [io.Reader].
func (m *metered) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.ReadCloser.Read(p)
	m.read += int64(n)
	if now := price(m.read); now > m.spent {
		if m.err = m.spend(m.spent, now); m.err != nil {
			return 0, m.err
		}
		m.spent = now
	}
	return n, err
}

// exceeded returns the fault of a call past a limit that counts as so many.
func (p pace) exceeded(calls int) *fault.Error {
	counting := ""
	if calls > 1 {
		counting = fmt.Sprintf(", where a body counts as a call for each %d KiB", Portion>>10)
	}
	return fault.New(fault.Exhausted, "%s more than %g calls a second%s; slow down", p.whose, float64(p.rate), counting)
}
