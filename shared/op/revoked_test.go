package op

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

type waitIn struct {
	WaitMs int `json:"waitMs,omitempty" allow:"wait=0"`
}

type waitOut struct {
	Found string `json:"found"`
}

// waiting is a catalogue with an operation that finds something at the end of its wait.
func waiting() (*Catalogue, *Op) {
	c := NewCatalogue([]Op{New(spec(func(s *Spec) { s.Name, s.Route = "wait", "POST /v1/wait" }),
		func(ctx context.Context, _ identity.Caller, in waitIn) (waitOut, error) {
			select {
			case <-time.After(time.Duration(in.WaitMs) * time.Millisecond):
				return waitOut{"mail"}, nil
			case <-ctx.Done():
				return waitOut{}, ctx.Err()
			}
		})})
	return c, c.Op("wait")
}

// A key that is revoked while a call waits ends the call at the next check, and one that was revoked before the answer
// gets none.
func TestAttackARevokedKeyGetsNothingFromAWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input   string
		revoked time.Duration // after the begin of the call, zero for never
		fault   fault.Kind
		took    time.Duration
	}{
		"never revoked":               {`{"waitMs":50000}`, 0, fault.Internal, 50 * time.Second},
		"revoked in the middle":       {`{"waitMs":50000}`, 21 * time.Second, fault.Unauthenticated, 24 * time.Second},
		"revoked before it waits":     {`{"waitMs":50000}`, time.Nanosecond, fault.Unauthenticated, 4 * time.Second},
		"revoked just before the end": {`{"waitMs":49000}`, 48_500 * time.Millisecond, fault.Unauthenticated, 49 * time.Second},
		"revoked in a short wait":     {`{"waitMs":3000}`, time.Second, fault.Unauthenticated, 3 * time.Second},
		"revoked after the end":       {`{"waitMs":3000}`, 5 * time.Second, fault.Internal, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			catalogue, o := waiting()
			begun := time.Now()
			valid := func() error {
				if c.revoked > 0 && time.Since(begun) >= c.revoked {
					return fault.New(fault.Unauthenticated, "this key was revoked")
				}
				return nil
			}
			res, err := catalogue.Call(t.Context(), o, Call{Input: Parse([]byte(c.input)), Valid: valid})
			if c.fault == fault.Internal && (err != nil || string(res.Data) != `{"found":"mail"}`) ||
				c.fault != fault.Internal && (!fault.Is(err, c.fault) || res.Data != nil) {
				t.Errorf("%s: %s, %v", name, res.Data, err)
			}
			if took := time.Since(begun); took != c.took || took > c.revoked+5*time.Second && c.fault != fault.Internal {
				t.Errorf("%s: ends after %v, want %v", name, took, c.took)
			}
		})
	}
}

// The check that ends a call decides, whatever later ones say.
func TestARefusedCheckIsFinal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		catalogue, o := waiting()
		var checks atomic.Int32
		_, err := catalogue.Call(t.Context(), o, Call{Input: Parse([]byte(`{"waitMs":50000}`)), Valid: func() error {
			if checks.Add(1) == 1 {
				return fault.New(fault.Unavailable, "not now")
			}
			return nil
		}})
		if !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
	})
}

func TestAWaitEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		catalogue, o := waiting()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := catalogue.Call(ctx, o, Call{Input: Parse([]byte(`{"waitMs":50000}`)), Valid: func() error { return nil }})
		if err == nil || time.Since(begun) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestACallWithoutAWaitChecksNoKey(t *testing.T) {
	t.Parallel()
	c := NewCatalogue([]Op{New(sampleSpec, echo)})
	_, err := c.Call(t.Context(), c.Op("sample"), Call{Input: Parse([]byte(`{"id":"a"}`)), Valid: func() error {
		t.Error("the key is checked")
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}
