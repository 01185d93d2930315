package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// place is a place in the log: the number of the last commit that was read.
type place struct {
	Seq *int64 `json:"n"`
}

// keep adds the entries of a transaction to the log.
func (d *Driver) keep(ctx context.Context, t *transaction, writes []store.Write) error {
	entries := store.EntriesOf(writes)
	if len(entries) == 0 {
		return nil
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	user := writes[0].Ref.User
	if _, err := d.w.log.ExecContext(ctx, time.Now().UnixMicro(), user, string(text)); err != nil {
		return err
	}
	t.changes = append(t.changes, store.Change{Ref: store.Ref{User: user, Coll: store.LogName}, Fields: store.Fields{}})
	return nil
}

// logEnds are the numbers up to which the log was purged and written.
const logEnds = `SELECT purged, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'log'), 0) FROM log_state`

// Log implements store.Driver. The numbers of commits go up in their order.
func (d *Driver) Log(ctx context.Context, user string, from json.RawMessage) (page store.DriverPage, err error) {
	var cut, last int64
	if err := d.read.QueryRowContext(ctx, logEnds).Scan(&cut, &last); err != nil {
		return page, asFault(err)
	}
	seq := last
	if from != nil {
		var at place
		if err := json.Unmarshal(from, &at); err != nil || at.Seq == nil || *at.Seq < 0 {
			return page, fault.Field("cursor", "is not one of this log; leave it out to begin with what happens now")
		}
		after := *at.Seq
		if after < cut || after > last { // it was purged, or the store is an older one
			page.Truncated, after = true, cut
		}
		var end int64
		if page.Commits, end, err = d.commits(ctx, user, after); err != nil {
			return page, err
		}
		page.More = len(page.Commits) == store.MaxLogPage
		if page.More || end > last {
			seq = end
		}
	}
	page.Next, err = json.Marshal(place{Seq: &seq})
	return page, err
}

// commits returns the next commits of a user after a number, and the number of the last of them.
func (d *Driver) commits(ctx context.Context, user string, after int64) (out []store.LogCommit, last int64, err error) {
	rows, err := d.read.QueryContext(ctx, `SELECT seq, at, entries FROM log WHERE u = ? AND seq > ? ORDER BY seq LIMIT ?`,
		user, after, store.MaxLogPage)
	if err != nil {
		return nil, 0, asFault(err)
	}
	defer func() { err = errors.Join(err, asFault(rows.Err()), rows.Close()) }()
	for rows.Next() {
		var at int64
		var text sql.RawBytes
		if err := rows.Scan(&last, &at, &text); err != nil {
			return nil, 0, asFault(err)
		}
		c := store.LogCommit{ID: strconv.FormatInt(last, 10), At: time.UnixMicro(at).UTC()}
		if err := json.Unmarshal(text, &c.Entries); err != nil {
			return nil, 0, err
		}
		out = append(out, c)
	}
	return out, last, nil
}

// purgeLog deletes at most limit commits from the beginning of the log that are older than [store.LogKept], and returns
// their number. The rest of the log has no gaps, so that a reader can tell whether it has missed anything.
func (d *Driver) purgeLog(ctx context.Context, now time.Time, limit int) (n int, err error) {
	run := func(ctx context.Context, conn *sql.Conn) error {
		var to sql.NullInt64
		err := conn.QueryRowContext(ctx, `SELECT count(*), max(seq) FROM (SELECT seq FROM log
			WHERE seq < coalesce((SELECT min(seq) FROM log WHERE at > ?), 1 << 62) ORDER BY seq LIMIT ?)`,
			now.Add(-store.LogKept).UnixMicro(), limit).Scan(&n, &to)
		if err != nil || n == 0 {
			return err
		}
		if _, err := conn.ExecContext(ctx, `DELETE FROM log WHERE seq <= ?`, to.Int64); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, `UPDATE log_state SET purged = ?`, to.Int64)
		return err
	}
	err = d.submit(&transaction{ctx: ctx, result: make(chan error, 1), raw: run})
	return n, asFault(err)
}
