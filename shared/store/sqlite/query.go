package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// reader reads through one set of prepared statements: those of the read pool, or those of the writer inside a
// transaction.
type reader struct {
	d *Driver
	s *statements
}

// Get implements store.Reads. A cancellable context costs two goroutines for each statement, more than the statement
// itself, so ctx is checked only once, before the first.
func (d *Driver) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	return reader{d, d.r}.Get(context.WithoutCancel(ctx), refs)
}

// Query implements store.Reads. It checks ctx as Get does.
func (d *Driver) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	return reader{d, d.r}.Query(context.WithoutCancel(ctx), p)
}

func (r reader) doc(ctx context.Context, ref store.Ref) (store.Fields, error) {
	var text string
	err := r.s.get.QueryRowContext(ctx, ref.User, ref.Coll, ref.ID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, asFault(err)
	}
	return parseText(text)
}

// Get implements store.Reads.
func (r reader) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	out := make([]*store.Raw, len(refs))
	for i, ref := range refs {
		doc, err := r.doc(ctx, ref)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			out[i] = &store.Raw{Ref: ref, Fields: doc}
		}
	}
	return out, nil
}

// Query implements store.Reads.
func (r reader) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	if p.Index == nil {
		return r.list(ctx, p)
	}
	if r.s == r.d.w {
		if err := r.d.flush(ctx); err != nil {
			return nil, asFault(err)
		}
	}
	// The documents are tested after the index, so it may take several portions of rows to fill a page.
	var out []store.Raw
	scans := r.d.scans(p)
	for len(out) < p.Limit {
		s, err := r.next(ctx, scans, p.Limit)
		if err != nil {
			return nil, err
		}
		if s == nil {
			break
		}
		row := s.rows[0]
		s.rows = s.rows[1:]
		if ok, err := r.merged(ctx, p, s, row.key); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		ref := refOf(p, row.name)
		if slices.ContainsFunc(out, func(o store.Raw) bool { return o.Ref == ref }) {
			continue // found by another element of its array already
		}
		doc, err := r.doc(ctx, ref)
		if err != nil {
			return nil, err
		}
		if doc != nil && store.Match(p.Where, doc) {
			out = append(out, store.Raw{Ref: ref, Fields: doc})
		}
	}
	return out, nil
}

// scan is a range of keys with one prefix, read in portions.
type scan struct {
	prefix, from, to []byte
	rows             []indexRow
	exhausted        bool
}

type indexRow struct {
	key  []byte
	name string
}

func (s *scan) tail(key []byte) []byte { return key[len(s.prefix):] }

// next returns the scan whose first row comes first in the query's order, nil at the end.
func (r reader) next(ctx context.Context, scans []*scan, limit int) (*scan, error) {
	var first *scan
	for _, s := range scans {
		if len(s.rows) == 0 && !s.exhausted {
			if err := r.fill(ctx, s, limit); err != nil {
				return nil, err
			}
		}
		if len(s.rows) > 0 && (first == nil || bytes.Compare(s.tail(s.rows[0].key), first.tail(first.rows[0].key)) < 0) {
			first = s
		}
	}
	return first, nil
}

func (r reader) fill(ctx context.Context, s *scan, limit int) error {
	rows, err := r.s.scan.QueryContext(ctx, s.from, s.to, limit)
	if err != nil {
		return asFault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var row indexRow
		if err := rows.Scan(&row.key, &row.name); err != nil {
			return asFault(err)
		}
		s.rows = append(s.rows, row)
	}
	if err := rows.Err(); err != nil {
		return asFault(err)
	}
	s.exhausted = len(s.rows) < limit
	if n := len(s.rows); n > 0 {
		s.from = s.rows[n-1].key
	}
	return nil
}

// merged reports whether every further index of the plan contains the row.
func (r reader) merged(ctx context.Context, p store.Plan, s *scan, key []byte) (bool, error) {
	for _, x := range p.Merge {
		if x.MergeOnly {
			continue
		}
		if ok, err := r.contains(ctx, r.d.prefixes(p, x), s.tail(key)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// contains reports whether an index has the row with one of the prefixes.
func (r reader) contains(ctx context.Context, prefixes [][]byte, tail []byte) (bool, error) {
	for _, prefix := range prefixes {
		var one int
		err := r.s.has.QueryRowContext(ctx, append(prefix, tail...)).Scan(&one)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, asFault(err)
		}
	}
	return false, nil
}

// prefixes returns the key prefixes of an index for the plan's equalities: one for each value of a ContainsAny or an
// In.
func (d *Driver) prefixes(p store.Plan, x *store.Index) [][]byte {
	out := [][]byte{d.prefix(x, p.Def, p.User, p.Coll)}
	for _, f := range x.Fields[:len(x.Fields)-len(p.Order)] {
		for _, c := range p.Where {
			if c.Range() || c.Field != f.Path || f.Array != (c.Test == store.HasAny) {
				continue
			}
			values := c.Any
			if c.Test == store.IsEqual {
				values = []any{c.Value}
			}
			var grown [][]byte
			for _, prefix := range out {
				for _, v := range values {
					next, _ := appendValue(slices.Clone(prefix), v, f.Desc)
					grown = append(grown, next)
				}
			}
			out = grown
			break
		}
	}
	return out
}

func (d *Driver) scans(p store.Plan) []*scan {
	var out []*scan
	for _, prefix := range d.prefixes(p, p.Index) {
		s := &scan{prefix: prefix, from: slices.Clone(prefix), to: append(slices.Clone(prefix), 0xff)}
		if p.After != nil {
			for i, f := range p.Order {
				s.from, _ = appendValue(s.from, p.After.Values[i], f.Desc)
			}
			s.from = appendRef(s.from, p.Index, p.After.Ref)
		}
		for _, c := range p.Where {
			if c.Range() && len(p.Order) > 0 && p.Order[0].Path == c.Field {
				s.bound(c, p.Order[0].Desc)
			}
		}
		out = append(out, s)
	}
	return out
}

// bound narrows the scan by a range on the first field of the order. A value is always followed by more of the key, so
// the value alone sorts before all keys with this value, and the value followed by 0xff after them.
func (s *scan) bound(c store.Cond, desc bool) {
	before, ok := appendValue(slices.Clone(s.prefix), c.Value, desc)
	if !ok {
		return
	}
	behind := append(slices.Clone(before), 0xff)
	lower := c.Test == store.IsGreater || c.Test == store.IsAtLeast
	equals := c.Test == store.IsAtMost || c.Test == store.IsAtLeast
	if lower != desc {
		from := behind
		if equals {
			from = before
		}
		if bytes.Compare(from, s.from) > 0 {
			s.from = from
		}
		return
	}
	to := before
	if equals {
		to = behind
	}
	if bytes.Compare(to, s.to) < 0 {
		s.to = to
	}
}

func (r reader) list(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	after := ""
	if p.After != nil {
		after = p.After.Ref.ID
	}
	rows, err := r.s.list.QueryContext(ctx, p.User, p.Coll, after, p.Limit)
	if err != nil {
		return nil, asFault(err)
	}
	defer rows.Close()
	var out []store.Raw
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, asFault(err)
		}
		doc, err := parseText(text)
		if err != nil {
			return nil, err
		}
		out = append(out, store.Raw{Ref: store.Ref{User: p.User, Coll: p.Coll, ID: id}, Fields: doc})
	}
	return out, asFault(rows.Err())
}
