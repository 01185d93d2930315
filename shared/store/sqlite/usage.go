package sqlite

import (
	"context"

	"parley.internal/shared/store"
)

// Usage implements store.Driver. It reads the lengths of the user's documents and not their text.
func (d *Driver) Usage(ctx context.Context, user string) (u store.Usage, err error) {
	err = d.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(octet_length(d)), 0) FROM docs WHERE u = ?`, user).
		Scan(&u.Documents, &u.Bytes)
	return u, asFault(err)
}
