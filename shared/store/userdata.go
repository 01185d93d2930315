package store

import (
	"context"
	"strings"

	"parley.internal/shared/fault"
)

// Walk calls page with all documents of a user, of every collection, some hundreds at a time. Documents written
// meanwhile may be included or not. An error of page ends the walk and is returned. A malformed user id is Invalid.
func (a *Admin) Walk(ctx context.Context, user string, page func([]Raw) error) error {
	if err := checkUser(user); err != nil {
		return err
	}
	return a.db.driver.Walk(ctx, user, page)
}

// Erase deletes all documents of a user and returns their number. After an error it can be repeated, and then deletes
// the rest. Documents written meanwhile may remain. A malformed user id is Invalid.
func (a *Admin) Erase(ctx context.Context, user string) (int, error) {
	if err := checkUser(user); err != nil {
		return 0, err
	}
	return a.db.driver.Erase(ctx, user)
}

func checkUser(user string) error {
	if checkID(user) != nil || strings.HasPrefix(user, "_") {
		return fault.New(fault.Invalid, "%.60q is not a valid user id", user)
	}
	return nil
}
