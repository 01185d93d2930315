package signal

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// hubKey is the document of the private VAPID key of a server that makes its own.
type hubKey struct {
	Private string `json:"private"`
}

var hubKeys = store.Collection[hubKey]{Name: "hubKeys", Unindexed: []string{"private"}}

// The key is the server's, and is kept with the data of the server's own user.
const (
	hubUser = "local"
	vapid   = "vapid"
)

// VAPIDKey returns the private VAPID key that is kept with the store. If there is none, it keeps the one that create
// returns; of several first calls, all return the same one.
func VAPIDKey(ctx context.Context, db *store.DB, create func() (string, error)) (string, error) {
	k, err := hubKeys.Get(ctx, db.User(hubUser), vapid)
	if err == nil || !fault.Is(err, fault.NotFound) {
		return k.Private, err
	}
	made, err := create()
	if err != nil {
		return "", err
	}
	err = db.User(hubUser).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		k, err = hubKeys.Get(ctx, tx, vapid)
		if fault.Is(err, fault.NotFound) {
			k = hubKey{Private: made}
			hubKeys.Create(tx, vapid, k)
			return nil
		}
		return err
	})
	return k.Private, err
}
