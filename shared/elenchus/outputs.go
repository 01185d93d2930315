package elenchus

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// shownRounds is the number of latest rounds whose outputs a record shows.
const shownRounds = 2

// position is a place in the outputs of a verification, which are read from the latest round to the first: the tick of
// a round and a byte of its output. The zero position is the start of the latest output.
type position struct {
	tick int64
	from int
}

// String returns the text that parsePosition parses.
func (p position) String() string { return fmt.Sprintf("%d.%d", p.tick, p.from) }

// parsePosition parses the cursor of a page of outputs. An empty one is the zero position.
func parsePosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}
	tick, from, _ := strings.Cut(text, ".")
	p.tick, err = strconv.ParseInt(tick, 10, 64)
	if err == nil {
		p.from, err = strconv.Atoi(from)
	}
	if err != nil || p.tick < 1 || p.from < 0 || p.String() != text {
		return position{}, fault.Field("cursor", "is not one of this list; use the one that came with the page before")
	}
	return p, nil
}

// readOutputs returns the outputs of at most n rounds from a position on, the latest first, as far as maxReply allows,
// and the cursor of the next page, empty if there is none. Rounds that were rolled back are left out.
func readOutputs(
	ctx context.Context, r store.Reader, id string, v *Session, n int, at position,
) (out []OutputView, next string, err error) {
	out = []OutputView{}
	list, more, err := v.latest(ctx, r, id, n, at)
	if err != nil || len(list) == 0 {
		return out, "", err
	}
	var fetches []*store.Fetch
	var sum int
	texts := make([]output, len(list))
	for i := range list {
		if sum >= maxReply {
			list, more = list[:i], true // The next page begins with this round.
			break
		}
		sum += list[i].rest(at)
		if list[i].Number == 0 {
			fetches = append(fetches, rounds.Under(id).Fetch(tickID(list[i].Tick), &list[i].Round))
		}
		fetches = append(fetches, outputs.Under(id).Fetch(tickID(list[i].Tick), &texts[i]))
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return out, "", err
	}
	left := maxReply
	for i, rec := range list {
		from := min(rec.OutputBytes-rec.rest(at), len(texts[i].Text))
		part := cut(texts[i].Text[from:], left)
		out = append(out, OutputView{Round: rec.Number, Role: rec.Role, By: rec.By, Verified: rec.Verified, At: rec.At,
			Bytes: rec.OutputBytes, From: from, Output: part})
		left -= len(part)
		if end := from + len(part); end < len(texts[i].Text) {
			return out, position{rec.Tick, end}.String(), nil
		}
	}
	if last := list[len(list)-1]; more && last.Number > 1 {
		next = position{last.Tick - 1, 0}.String()
	}
	return out, next, nil
}

// stored is a round whose output is to be read. Of one that the session remembers, only the tick and the size are known.
type stored struct{ Round }

// rest returns the bytes of the output from a position on.
func (s stored) rest(at position) int {
	if s.Tick == at.tick {
		return max(s.OutputBytes-at.from, 0)
	}
	return s.OutputBytes
}

// cut returns the start of a text, at most n bytes of whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// latest returns at most n rounds up to a position, the latest first, and whether earlier ones may follow. The session
// remembers the last rounds; others are looked up.
func (s *Session) latest(ctx context.Context, r store.Reader, id string, n int, at position) ([]stored, bool, error) {
	var out []stored
	if n == 0 || s.CurrentRound == 0 {
		return nil, false, nil
	}
	if at.tick == 0 && s.Recent[0].Tick > 0 {
		for i := len(s.Recent) - 1; i >= 0 && len(out) < n; i-- {
			out = append(out, stored{Round{Tick: s.Recent[i].Tick, OutputBytes: s.Recent[i].Bytes}})
		}
		return out, len(out) < s.CurrentRound, nil
	}
	q := store.Query{Where: []store.Cond{store.Eq("rolledBack", false)}, Order: []string{"tick desc"}, Limit: n}
	if at.tick > 0 {
		q.Where = append(q.Where, store.Le("tick", at.tick))
	}
	page, err := rounds.Under(id).Query(ctx, r, q)
	for _, d := range page.Docs {
		out = append(out, stored{d.Value})
	}
	return out, page.Next != "", err
}

// Document is the resource of a verification: its record, with the outputs of its latest rounds.
type Document struct {
	Record
	Outputs []OutputView `json:"outputs"`
	// NextCursor continues the outputs in elenchus_get_context.
	NextCursor string `json:"nextCursor,omitempty"`
}

// document returns the record of a verification with the outputs of its last rounds.
func (s *Service) document(ctx context.Context, c identity.Caller, id string) (Document, error) {
	t := s.DB.User(c.User)
	v, err := readSession(ctx, t, id)
	if err != nil {
		return Document{}, err
	}
	var out Document
	if out.Outputs, out.NextCursor, err = readOutputs(ctx, t, id, &v, shownRounds, position{}); err != nil {
		return out, err
	}
	out.Record, err = record(ctx, t, id, &v)
	return out, err
}
