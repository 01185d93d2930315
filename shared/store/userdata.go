package store

import (
	"context"
	"strings"

	"parley.internal/shared/fault"
)

// Walk gives page all documents of a user, whatever their collection, some hundreds at a
// time. What is written meanwhile may be among them or not. An error of page ends it.
func (a *Admin) Walk(ctx context.Context, user string, page func([]Raw) error) error {
	if err := checkUser(user); err != nil {
		return err
	}
	return a.db.driver.Walk(ctx, user, page)
}

// Erase deletes all that there is of a user, and says how many documents that were. It
// may be ended and run again at any point; what is written meanwhile may be left.
func (a *Admin) Erase(ctx context.Context, user string) (int, error) {
	if err := checkUser(user); err != nil {
		return 0, err
	}
	return a.db.driver.Erase(ctx, user)
}

func checkUser(user string) error {
	if checkID(user) != nil || strings.HasPrefix(user, "_") {
		return fault.New(fault.Invalid, "%.60q is not a user", user)
	}
	return nil
}
