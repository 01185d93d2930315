package keyring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

// Variable is the environment variable that turns the keyring off: PARLEY_KEYRING=off.
const Variable = "PARLEY_KEYRING"

// service is the name under which the keyring shows the keys.
const service = "parley"

// The time limits. A person may have to unlock the keyring for a command, but no start waits for that.
const (
	keepFor = 3 * time.Second
	findFor = 20 * time.Second
)

// The errors of a keyring.
var (
	// ErrNone means that there is no keyring, or that it is turned off.
	ErrNone = errors.New("there is no keyring")
	// ErrNotFound means that the keyring has no key of the account.
	ErrNotFound = errors.New("the keyring does not have it")
	// ErrLate means that the keyring did not answer in time.
	ErrLate = errors.New("the keyring does not answer; is it locked?")
)

// Ring is a keyring. The zero value is none.
type Ring struct {
	backend    keyring.Keyring
	keep, find time.Duration
}

// Open returns the keyring of this account, which may be none. It reaches no keyring yet. The variables are those of env.
func Open(env func(string) string) (Ring, error) {
	switch env(Variable) {
	case "off":
		return Ring{}, nil
	case "", "on":
	default:
		return Ring{}, fmt.Errorf("%s must be on or off, not %q", Variable, env(Variable))
	}
	if !present(env) {
		return Ring{}, nil
	}
	return Ring{system{}, keepFor, findFor}, nil
}

// present reports whether there may be a keyring. Without a session bus the library would start one.
func present(env func(string) string) bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := env("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// Keep stores a key, and reads it back. After an error the key may be stored all the same.
func (r Ring) Keep(ctx context.Context, account, key string) error {
	if r.backend == nil {
		return ErrNone
	}
	_, err := within(ctx, r.keep, func() (string, error) {
		if err := r.backend.Set(service, account, key); err != nil {
			return "", err
		}
		got, err := r.backend.Get(service, account)
		if err == nil && got != key {
			err = errors.New("the keyring returned something else than it was given")
		}
		return "", err
	})
	return err
}

// Find returns a stored key, or [ErrNotFound].
func (r Ring) Find(ctx context.Context, account string) (string, error) {
	if r.backend == nil {
		return "", ErrNone
	}
	key, err := within(ctx, r.find, func() (string, error) { return r.backend.Get(service, account) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrNotFound
	}
	return key, err
}

// Forget removes a stored key, if there is one.
func (r Ring) Forget(ctx context.Context, account string) error {
	if r.backend == nil {
		return ErrNone
	}
	_, err := within(ctx, r.find, func() (string, error) { return "", r.backend.Delete(service, account) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// within returns the result of a call, or [ErrLate] if it takes longer. The call goes on then, until the process ends.
func within(ctx context.Context, limit time.Duration, call func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrLate)
	defer cancel()
	type result struct {
		key string
		err error
	}
	done := make(chan result, 1)
	go func() {
		key, err := call()
		done <- result{key, err}
	}()
	select {
	case r := <-done:
		return r.key, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// system is the keyring of the system, or the library's mock.
type system struct{}

func (system) Set(service, user, password string) error { return keyring.Set(service, user, password) }
func (system) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (system) Delete(service, user string) error        { return keyring.Delete(service, user) }
func (system) DeleteAll(service string) error           { return keyring.DeleteAll(service) }
