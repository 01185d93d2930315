package connectd

import (
	"context"
	"errors"
	"time"

	"parley.internal/services/hub/internal/hook/local"
)

// ErrNone means that no daemon runs for this user.
var ErrNone = local.ErrNoDaemon

// Status returns the state of this user's daemon and of its sessions, or [ErrNone].
func Status(ctx context.Context, env func(string) string) (*local.Info, error) {
	res, err := ask(ctx, env, local.Status)
	if err == nil && res.Info == nil {
		err = errors.New("the daemon does not report its state; stop it, and the next hook starts one of this version")
	}
	return res.Info, err
}

// Stop ends the daemon of this user, and waits until it has ended. It is [ErrNone] where none runs. Sessions that go on start the
// next one.
func Stop(ctx context.Context, env func(string) string) error {
	place, err := local.Find(env)
	if err != nil {
		return err
	}
	if _, err := ask(ctx, env, local.Stop); err != nil {
		return err
	}
	for local.Holder(place.Lock()) != 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func ask(ctx context.Context, env func(string) string, op local.Op) (res local.Response, err error) {
	place, err := local.Find(env)
	if err != nil {
		return res, err
	}
	conn, err := place.Dial(ctx)
	if err != nil {
		return res, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err = conn.Send(local.Request{Op: op}); err == nil {
		err = conn.Receive(&res)
	}
	return res, err
}
