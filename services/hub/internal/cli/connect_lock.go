package cli

import (
	"context"
	"errors"

	"parley.internal/services/hub/internal/connect"
)

// alone acts while no other run of connect of this account reads or writes the connections, so that two at once give
// their agents different names and lose no record of each other.
func (j *connector) alone(ctx context.Context, act func() error) (err error) {
	if j.release, err = connect.Lock(ctx, j.home); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.release()) }()
	return act()
}

// others acts while other runs may go on, within alone: a person decides meanwhile, which takes minutes.
func (j *connector) others(ctx context.Context, act func() error) error {
	err := j.release()
	j.release = func() error { return nil }
	if err == nil {
		err = act()
	}
	if err != nil {
		return err
	}
	again, err := connect.Lock(ctx, j.home)
	if err == nil {
		j.release = again
	}
	return err
}
