package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/words"
)

// The texts of documents are in an FTS5 table that keeps words and no texts. They are split into words before, so that
// every store has the same words, and the tokenizer has only to take them apart at the spaces. A text has a column more,
// of words that stand for its user, kind, programs and readers. The number of a row is made of the time of its document,
// so the rows of a search come in the order of its results, and its times are a range of rows.

// perMicrosecond is the number of rows of one time. A further one takes the next time that has room.
const perMicrosecond = 1 << 10

// latestText is the time beyond which the rows of texts are not ordered any more, in microseconds: the year 2112.
const latestText = 1 << 52

// textStatements are the statements that write texts.
type textStatements struct{ find, last, add, change, drop, put, remove *sql.Stmt }

func prepareTexts(ctx context.Context, p preparer) (*textStatements, error) {
	s := &textStatements{}
	for to, text := range map[**sql.Stmt]string{
		&s.find:   `SELECT n, digest FROM texts WHERE u = ? AND c = ? AND id = ?`,
		&s.last:   `SELECT max(n) FROM texts WHERE n >= ? AND n < ?`,
		&s.add:    `INSERT INTO texts (n, u, c, id, digest) VALUES (?, ?, ?, ?, ?)`,
		&s.change: `UPDATE texts SET digest = ? WHERE n = ?`,
		&s.drop:   `DELETE FROM texts WHERE n = ?`,
		&s.put:    `INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)`,
		&s.remove: `DELETE FROM words WHERE rowid = ?`,
	} {
		stmt, err := p.PrepareContext(ctx, text)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		*to = stmt
	}
	return s, nil
}

func (s *textStatements) close() (err error) {
	for _, stmt := range []*sql.Stmt{s.find, s.last, s.add, s.change, s.drop, s.put, s.remove} {
		if stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	return err
}

// scopeWord returns the word that stands for a name of a kind, such as a user's.
func scopeWord(kind byte, name string) string {
	sum := sha256.Sum256([]byte(name))
	return string(kind) + strings.ToLower(base32.HexEncoding.EncodeToString(sum[:10]))
}

// The kinds of names in the scope of a text.
const (
	ofUser, ofKind, ofProgram, ofReader = 'u', 'k', 'p', 'r'
)

// scopeOf returns the scope of a text.
func scopeOf(user string, t *store.Text) string {
	out := []string{scopeWord(ofUser, user), scopeWord(ofKind, t.Kind)}
	for _, p := range t.Programs {
		out = append(out, scopeWord(ofProgram, words.Fold(p)))
	}
	for _, r := range t.Readers {
		out = append(out, readerWord(r))
	}
	return strings.Join(out, " ")
}

func readerWord(name string) string {
	if name != store.Everybody {
		name = words.Fold(name)
	}
	return scopeWord(ofReader, name)
}

// set makes a document be found by a text, and by nothing if it is nil.
func (s *textStatements) set(ctx context.Context, ref store.Ref, t *store.Text) error {
	var n int64
	var before []byte
	err := s.find.QueryRowContext(ctx, ref.User, ref.Coll, ref.ID).Scan(&n, &before)
	had := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if t == nil {
		if !had {
			return nil
		}
		if _, err := s.remove.ExecContext(ctx, n); err != nil {
			return err
		}
		_, err := s.drop.ExecContext(ctx, n)
		return err
	}
	scope := scopeOf(ref.User, t)
	titleWords, bodyWords := t.Words()
	title, body := strings.Join(titleWords, " "), strings.Join(bodyWords, " ")
	sum := sha256.Sum256([]byte(scope + "\n" + title + "\n" + body))
	digest, first := sum[:16], firstRow(t.At)
	switch {
	case had && bytes.Equal(before, digest):
		return nil
	case had:
		if _, err := s.remove.ExecContext(ctx, n); err != nil {
			return err
		}
		_, err = s.change.ExecContext(ctx, digest, n)
	default:
		if n, err = s.free(ctx, first); err != nil {
			return err
		}
		_, err = s.add.ExecContext(ctx, n, ref.User, ref.Coll, ref.ID, digest)
	}
	if err == nil {
		_, err = s.put.ExecContext(ctx, n, scope, title, body)
	}
	return err
}

// firstRow returns the number of the first row of a time.
func firstRow(at time.Time) int64 {
	return min(max(at.UnixMicro(), 0), latestText) * perMicrosecond
}

// free returns the number of a row that is free, of a time or soon after it.
func (s *textStatements) free(ctx context.Context, first int64) (int64, error) {
	for ; ; first += perMicrosecond {
		var last sql.NullInt64
		if err := s.last.QueryRowContext(ctx, first, first+perMicrosecond).Scan(&last); err != nil {
			return 0, err
		}
		if !last.Valid {
			return first, nil
		}
		if last.Int64+1 < first+perMicrosecond {
			return last.Int64 + 1, nil
		}
	}
}

// match returns the query of a page in the words of FTS5. The words of terms are letters and digits.
func match(p store.TextPlan) string {
	scope := []string{scopeWord(ofUser, p.User)}
	if p.Kind != "" {
		scope = append(scope, scopeWord(ofKind, p.Kind))
	}
	if p.Program != "" {
		scope = append(scope, scopeWord(ofProgram, words.Fold(p.Program)))
	}
	parts := []string{"scope : (" + strings.Join(scope, " AND ") + ")"}
	if p.Reader != "" {
		parts = append(parts, "scope : ("+readerWord(p.Reader)+" OR "+readerWord(store.Everybody)+")")
	}
	for _, t := range p.Terms {
		part := `{title body} : "` + strings.Join(t.Words, " ") + `"`
		if t.Prefix {
			part += " *"
		}
		parts = append(parts, "("+part+")")
	}
	return strings.Join(parts, " AND ")
}

const searchPage = `SELECT t.n, t.c, t.id FROM words w JOIN texts t ON t.n = w.rowid
	WHERE w.words MATCH ? AND w.rowid >= ? AND w.rowid < ? ORDER BY w.rowid DESC LIMIT ?`

// Search implements store.Driver. A place is the number of a row.
func (d *Driver) Search(ctx context.Context, p store.TextPlan) (page store.TextPage, err error) {
	from, to := int64(0), int64(latestText+1)*perMicrosecond
	if !p.From.IsZero() {
		from = firstRow(p.From)
	}
	if !p.To.IsZero() {
		to = firstRow(p.To) + perMicrosecond
	}
	if p.After != nil {
		after, err := strconv.ParseInt(string(p.After), 10, 64)
		if err != nil || after < 0 {
			return page, store.ErrTextCursor()
		}
		to = min(to, after)
	}
	limit := 2 * p.Limit
	rows, err := d.read.QueryContext(ctx, searchPage, match(p), from, to, limit)
	if err != nil {
		return page, asFault(err)
	}
	defer func() { err = errors.Join(err, asFault(rows.Err()), rows.Close()) }()
	for rows.Next() {
		var n int64
		h := store.TextHit{Ref: store.Ref{User: p.User}}
		if err := rows.Scan(&n, &h.Ref.Coll, &h.Ref.ID); err != nil {
			return page, asFault(err)
		}
		h.Place = json.RawMessage(strconv.FormatInt(n, 10))
		page.Hits = append(page.Hits, h)
	}
	if len(page.Hits) == limit {
		page.Next = page.Hits[limit-1].Place
	}
	return page, nil
}

// setText writes the text of a change.
func (d *Driver) setText(ctx context.Context, c change) error {
	switch {
	case !d.texts || c.def == nil || c.def.Searched == nil:
		return nil
	case c.after == nil:
		return d.w.texts.set(ctx, c.ref, nil)
	case c.newText:
		return d.w.texts.set(ctx, c.ref, c.text)
	}
	return nil
}

// textName is the name of a collection's texts among the indexes.
func textName(def *store.Def) string {
	return fmt.Sprintf("%s%s, %d", textPrefix, def.Name, def.Searched.Version)
}

const textPrefix = "texts of "

// dropTexts deletes the texts with a name of the collection at the beginning, if it is that of texts.
func dropTexts(ctx context.Context, conn *sql.Conn, name string) error {
	name, ok := strings.CutPrefix(name, textPrefix)
	if !ok {
		return nil
	}
	name, _, _ = strings.Cut(name, ", ")
	const of = ` (SELECT n FROM texts WHERE c GLOB ? AND length(c) - length(replace(c, '/', '')) = ?)`
	for _, q := range []string{`DELETE FROM words WHERE rowid IN` + of, `DELETE FROM texts WHERE n IN` + of} {
		if _, err := conn.ExecContext(ctx, q, name, strings.Count(name, "/")); err != nil {
			return err
		}
	}
	return nil
}

// indexTexts writes the texts of all documents of collections.
func indexTexts(ctx context.Context, conn *sql.Conn, defs []*store.Def) (err error) {
	if len(defs) == 0 {
		return nil
	}
	s, err := prepareTexts(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, def := range defs {
		err := eachDoc(ctx, conn, def, func(raw store.Raw) error {
			t, ok, err := def.TextOf(raw)
			if fault.Is(err, fault.Internal) {
				return nil // the document is of another program; who reads it is told
			}
			if err != nil || !ok {
				return err
			}
			return s.set(ctx, raw.Ref, &t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachDoc calls do for every document of a collection, of all users.
func eachDoc(ctx context.Context, conn *sql.Conn, def *store.Def, do func(store.Raw) error) error {
	rows, err := conn.QueryContext(ctx, `SELECT u, c, id, d FROM main.docs WHERE c GLOB ?`, def.Name)
	if err != nil {
		return err
	}
	for rows.Next() {
		var raw store.Raw
		var text string
		if err := rows.Scan(&raw.Ref.User, &raw.Ref.Coll, &raw.Ref.ID, &text); err != nil {
			return errors.Join(err, rows.Close())
		}
		if strings.Count(raw.Ref.Coll, "/") != strings.Count(def.Name, "/") {
			continue // a star of a name is one segment, a star of GLOB any number
		}
		if raw.Fields, err = parseText(text); err == nil {
			err = do(raw)
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
