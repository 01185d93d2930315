package council

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// cursor is how far a reader has come: the number of the last response that it got,
// and the revision of the session that a summary told it of. The zero cursor is one
// who knows nothing.
type cursor struct {
	session       string
	seq, revision int64
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%s", c.seq, c.revision, c.session))
}

// readCursor reads a cursor. What is none is the zero cursor: its reader gets everything.
func readCursor(text string) cursor {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}
	}
	seq, rest, _ := strings.Cut(string(b), ".")
	revision, session, _ := strings.Cut(rest, ".")
	c := cursor{session: session}
	if c.seq, err = strconv.ParseInt(seq, 10, 64); err != nil {
		return cursor{}
	}
	if c.revision, err = strconv.ParseInt(revision, 10, 64); err != nil || c.seq < 0 || c.String() != text {
		return cursor{}
	}
	return c
}

// of is the cursor where it is one of the session, else the zero cursor.
func (c cursor) of(s *Session) cursor {
	if c.session != s.ID || c.seq > s.Responses || c.revision > s.Revision {
		return cursor{}
	}
	return c
}
