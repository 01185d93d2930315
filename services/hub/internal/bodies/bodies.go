package bodies

import (
	"io"
	"sync"
	"time"

	"parley.internal/shared/fault"
)

const (
	// Small is the size of the largest body that takes no room, in bytes.
	Small = 64 << 10
	// weight is the number of bytes that a byte of a body stands for.
	weight = 8
	// step is the number of bytes of a body that are counted at once.
	step = 64 << 10
)

// Room is the memory for large bodies. It is safe for concurrent use.
type Room struct {
	bytes int64

	mu    sync.Mutex
	taken int64
	by    map[string]int64
}

// New returns a room of a number of bytes. It holds at least one body of 1 MiB of each of two keys.
func New(bytes int64) *Room { return &Room{bytes: max(bytes, 2*weight<<20), by: map[string]int64{}} }

// Body returns the body of a request that counts against the room of a key. size is the announced length, negative if
// there is none. The caller must close it, which gives the room back and leaves the body itself open.
func (r *Room) Body(body io.Reader, size int64, key string) *Body {
	return &Body{from: body, size: size, key: key, room: r}
}

// Body is a body that is being read.
type Body struct {
	from       io.Reader
	room       *Room
	key        string
	size, read int64
	held       int64
}

// Read implements [io.Reader]. It fails with Unavailable if there is no room.
func (b *Body) Read(p []byte) (int, error) {
	if b.read == 0 && b.size > Small && !b.room.fits(b.key, b.size*weight) {
		return 0, full()
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	if b.read > Small {
		want := (b.read + step - 1) / step * step * weight
		if want > b.held && !b.room.take(b.key, want-b.held) {
			return 0, full()
		}
		b.held = max(b.held, want)
	}
	return n, err
}

// Close gives the room back. The body must not be read afterwards.
func (b *Body) Close() error {
	b.room.give(b.key, b.held)
	b.held = 0
	return nil
}

func full() error {
	return fault.New(fault.Unavailable, "the server is reading as many bodies above %d KiB as its memory holds; nothing "+
		"was done, so repeat the call, or send less at once", Small>>10).After(time.Second)
}

// fits reports whether there is room for a number of bytes now.
func (r *Room) fits(key string, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fitsLocked(key, bytes)
}

func (r *Room) fitsLocked(key string, bytes int64) bool {
	return r.taken+bytes <= r.bytes && r.by[key]+bytes <= r.bytes/2
}

func (r *Room) take(key string, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.fitsLocked(key, bytes) {
		return false
	}
	r.taken += bytes
	r.by[key] += bytes
	return true
}

func (r *Room) give(key string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= bytes
	if r.by[key] -= bytes; r.by[key] <= 0 {
		delete(r.by, key)
	}
}

// Taken returns the number of bytes in use and the number of keys that use them.
func (r *Room) Taken() (bytes int64, keys int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, len(r.by)
}
