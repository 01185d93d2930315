package keyring

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

// No test reaches a keyring of the machine.
func TestMain(m *testing.M) {
	keyring.MockInit()
	m.Run()
}

// stub is a keyring whose calls are answered by functions.
type stub struct {
	keyring.Keyring
	set func() error
	get func() (string, error)
}

func (s stub) Set(string, string, string) error   { return s.set() }
func (s stub) Get(string, string) (string, error) { return s.get() }

func fine() error { return nil }

func ring(t *testing.T) Ring {
	t.Helper()
	r, err := Open(func(name string) string {
		return map[string]string{Variable: "on", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}[name]
	})
	if err != nil || r.backend == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

func TestAKeptKeyIsFound(t *testing.T) {
	r := ring(t)
	if _, err := r.Find(t.Context(), "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	for account, key := range map[string]string{"a": "one", "b": "two"} {
		if err := r.Keep(t.Context(), account, key); err != nil {
			t.Fatal(err)
		}
	}
	if key, err := r.Find(t.Context(), "a"); key != "one" || err != nil {
		t.Errorf("found %q, %v", key, err)
	}
	for range 2 {
		if err := r.Forget(t.Context(), "a"); err != nil {
			t.Errorf("forgetting: %v", err)
		}
	}
	if _, err := r.Find(t.Context(), "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after it was forgotten: %v", err)
	}
	if key, err := r.Find(t.Context(), "b"); key != "two" || err != nil {
		t.Errorf("the other: %q, %v", key, err)
	}
	if err := (Ring{}).Forget(t.Context(), "a"); !errors.Is(err, ErrNone) {
		t.Errorf("no keyring forgets: %v", err)
	}
}

func TestAKeyringThatFailsOrForgetsIsAnError(t *testing.T) {
	broken := errors.New("locked")
	for name, c := range map[string]struct {
		stub
		want error
	}{
		"it refuses": {stub{nil, func() error { return broken }, nil}, broken},
		"it forgets": {stub{nil, fine, func() (string, error) { return "", keyring.ErrNotFound }}, keyring.ErrNotFound},
		"it lies":    {stub{nil, fine, func() (string, error) { return "another", nil }}, nil},
	} {
		err := Ring{c.stub, time.Minute, time.Minute}.Keep(t.Context(), "a", "key")
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAKeyringThatHangsEndsTheCallInTime(t *testing.T) {
	unlocked := make(chan struct{})
	defer close(unlocked)
	hangs := stub{nil, func() error { <-unlocked; return nil }, func() (string, error) { <-unlocked; return "", nil }}
	r := Ring{hangs, time.Millisecond, time.Millisecond}
	if err := r.Keep(t.Context(), "a", "key"); !errors.Is(err, ErrLate) {
		t.Errorf("keep: %v", err)
	}
	if _, err := r.Find(t.Context(), "a"); !errors.Is(err, ErrLate) {
		t.Errorf("find: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Ring{hangs, time.Hour, time.Hour}).Find(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted command: %v", err)
	}
}

func TestTheKeyringIsUsedWhereThereIsOneAndItIsNotOff(t *testing.T) {
	t.Parallel()
	bus := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(bus, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	always := runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"without a session":   {nil, always},
		"with a session bus":  {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}, true},
		"with a bus's socket": {map[string]string{"XDG_RUNTIME_DIR": bus}, true},
		"without a socket":    {map[string]string{"XDG_RUNTIME_DIR": t.TempDir()}, always},
		"turned off":          {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x", Variable: "off"}, false},
	} {
		r, err := Open(func(name string) string { return c.env[name] })
		if err != nil || (r.backend != nil) != c.want {
			t.Errorf("%s: %+v, %v; want a keyring: %v", name, r, err, c.want)
		}
	}
	if _, err := Open(func(string) string { return "no" }); err == nil {
		t.Error("PARLEY_KEYRING=no is accepted")
	}
	if err := (Ring{}).Keep(t.Context(), "a", "key"); !errors.Is(err, ErrNone) {
		t.Errorf("no keyring keeps: %v", err)
	}
	if _, err := (Ring{}).Find(t.Context(), "a"); !errors.Is(err, ErrNone) {
		t.Errorf("no keyring finds: %v", err)
	}
}
