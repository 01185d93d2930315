package council

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// cursor is the position of a reader in a session: the number of the last response and the revision of the last
// summary that it received. The zero cursor is the position of a reader that has received nothing.
type cursor struct {
	session       string
	seq, revision int64
}

// String returns the text of the cursor, which readCursor parses.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%s", c.seq, c.revision, c.session))
}

// readCursor parses the text of a cursor. It returns the zero cursor for any other text, so that the reader
// receives everything.
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

// of returns c if it is a position in s, and the zero cursor otherwise.
func (c cursor) of(s *Session) cursor {
	if c.session != s.ID || c.seq > s.Responses || c.revision > s.Revision {
		return cursor{}
	}
	return c
}
