package doctor

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// stamp is a time in the encoding of the store, in microseconds since 1970; zero for none.
type stamp struct {
	Micros int64 `json:"$t"`
}

func (s stamp) at() time.Time {
	if s.Micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(s.Micros).UTC()
}

// key is the part of a stored key that the doctor reads.
type key struct {
	user, id                                    string
	Name, Program                               string
	CreatedAt, ExpiresAt, RevokedAt, LastUsedAt stamp
}

// String returns the name of the key for a report: its program or name, its user and the first 8 characters of its id.
func (k key) String() string {
	return fmt.Sprintf("%s of %s (%.8s)", cmp.Or(k.Program, k.Name, "a key"), k.user, k.id)
}

func (k key) valid(now time.Time) bool {
	return k.RevokedAt.Micros == 0 && (k.ExpiresAt.Micros == 0 || now.Before(k.ExpiresAt.at()))
}

// allKeys selects the keys of all users. It finds the users one after the other through the index, so that it does not
// scan every document.
const allKeys = `WITH RECURSIVE users(u) AS (
	SELECT min(u) FROM docs
	UNION ALL SELECT (SELECT min(u) FROM docs WHERE u > users.u) FROM users WHERE users.u IS NOT NULL)
SELECT docs.u, docs.id, docs.d FROM users JOIN docs ON docs.u = users.u AND docs.c = 'apiKeys'`

func (l *Laptop) readKeys(ctx context.Context) (all []key, err error) {
	err = l.read(ctx, func(ctx context.Context, db *sql.DB) (err error) {
		rows, err := db.QueryContext(ctx, allKeys)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var k key
			var text string
			if err := rows.Scan(&k.user, &k.id, &text); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(text), &k); err != nil {
				return fmt.Errorf("key %.8s: %w", k.id, err)
			}
			all = append(all, k)
		}
		return rows.Err()
	})
	return all, err
}

// soon is the remaining lifetime of a key within which the doctor warns.
const soon = 7 * 24 * time.Hour

func (l *Laptop) keys(ctx context.Context) Result {
	all, err := l.readKeys(ctx)
	if err != nil {
		return skip("not checked: %v", err)
	}
	now := l.Now()
	var valid, unused, ending []string
	for _, k := range all {
		if !k.valid(now) {
			continue
		}
		valid = append(valid, k.String())
		if k.LastUsedAt.Micros == 0 {
			unused = append(unused, k.String())
		}
		if end := k.ExpiresAt.at(); !end.IsZero() && end.Sub(now) <= soon {
			ending = append(ending, fmt.Sprintf("%v expires on %s", k, end.Format(time.DateOnly)))
		}
	}
	if len(valid) == 0 {
		return fail("there is no valid key", "parley key create --user local --program NAME")
	}
	said := plural(len(valid), "valid key", "valid keys")
	if len(unused) > 0 {
		slices.Sort(unused)
		said += ", never used: " + few(unused)
	}
	if len(ending) > 0 {
		slices.Sort(ending)
		return warn(said+"; within a week "+few(ending), "create new keys: parley key create")
	}
	return ok("%s", said)
}

// clock checks that no time in the store is in the future.
func (l *Laptop) clock(ctx context.Context) Result {
	newest, of := time.Time{}, ""
	see := func(at time.Time, source string) {
		if at.After(newest) {
			newest, of = at, source
		}
	}
	for _, file := range []string{l.File, l.File + "-wal", l.KeysFile} {
		if info, err := os.Stat(file); err == nil {
			see(info.ModTime(), file)
		}
	}
	all, err := l.readKeys(ctx)
	if err != nil {
		return skip("not checked: %v", err)
	}
	for _, k := range all {
		see(k.CreatedAt.at(), "the creation of "+k.String())
		see(k.LastUsedAt.at(), "the last use of "+k.String())
	}
	err = l.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var micros int64
		err := db.QueryRowContext(ctx, `SELECT at FROM changes ORDER BY seq DESC LIMIT 1`).Scan(&micros)
		if err == nil {
			see(time.UnixMicro(micros), "the last change")
		} else if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	})
	if err != nil {
		return skip("not checked: %v", err)
	}
	ahead := max(newest.Sub(l.Now()), 0)
	if state := judge(ahead); state != OK {
		return Result{State: state,
			Said: fmt.Sprintf("%s is %v ahead of this machine's clock", of, ahead.Round(time.Second)),
			Fix:  setClock + "; if it is right now, it was ahead before, and this passes by itself"}
	}
	return ok("no time in the store is in the future")
}

// HumanKey is where a person's own key is; the zero value is nowhere that is known.
type HumanKey struct {
	// File is the path of its file. Old means that it is in the file with the agents' keys.
	File string
	Old  bool
	// Account is its name in the keyring.
	Account string
}

// humanKey reports the place of the person's key, which is no wall between the processes of an account.
func (l *Laptop) humanKey(context.Context) Result {
	const local = "so an answer that is given with it has the assurance local"
	switch h := l.HumanKey; {
	case h.File != "" && h.Old:
		return warn("your own key is in "+h.File+", beside those of the agents",
			"start parley serve once, which moves it to a place of its own")
	case h.File != "":
		return ok("your own key is in %s, which every process of your account can read, %s", h.File, local)
	case h.Account != "":
		return ok("your own key is in the keyring (parley, %s), which every process of your account can ask while it is "+
			"unlocked, %s", h.Account, local)
	}
	return skip("not checked: neither a file of %s nor the keyring has a key of yours", filepath.Dir(l.File))
}
