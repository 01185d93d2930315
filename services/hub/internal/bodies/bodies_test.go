package bodies_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/bodies"
	"parley.internal/shared/fault"
)

const mebibyte = 1 << 20

func body(n int) io.Reader { return strings.NewReader(strings.Repeat("x", n)) }

func full(t *testing.T, what string, err error) {
	t.Helper()
	f := fault.From(err)
	if !fault.Is(err, fault.Unavailable) || f.RetryAfter <= 0 || !strings.Contains(f.Message, "64 KiB") {
		t.Errorf("%s: got %v, want Unavailable with a time", what, err)
	}
}

func TestAsManyLargeBodiesAreReadAsTheRoomHolds(t *testing.T) {
	t.Parallel()
	room := bodies.New(64 * mebibyte) // 8 bodies of 1 MiB
	var open []*bodies.Body
	for i := range 8 {
		b := room.Body(body(mebibyte), mebibyte, fmt.Sprint(i))
		if n, err := io.Copy(io.Discard, b); n != mebibyte || err != nil {
			t.Fatalf("body %d: %d bytes, %v", i, n, err)
		}
		open = append(open, b)
	}
	ninth := room.Body(body(mebibyte), mebibyte, "9")
	n, err := io.Copy(io.Discard, ninth)
	if full(t, "the ninth", err); n != 0 {
		t.Errorf("%d bytes of the ninth were read before it was refused", n)
	}
	_, err = io.Copy(io.Discard, room.Body(body(mebibyte), -1, "10"))
	full(t, "one of unknown length", err)
	if n, err := io.Copy(io.Discard, room.Body(body(bodies.Small), bodies.Small, "11")); n != bodies.Small || err != nil {
		t.Errorf("a small one: %d bytes, %v", n, err)
	}
	_ = open[0].Close()
	_ = open[0].Close() // a second time gives nothing back
	if n, err := io.Copy(io.Discard, room.Body(body(mebibyte), mebibyte, "12")); n != mebibyte || err != nil {
		t.Errorf("after one has ended: %d bytes, %v", n, err)
	}
}

func TestAttackOneKeyLeavesRoomForTheOthers(t *testing.T) {
	t.Parallel()
	room := bodies.New(64 * mebibyte)
	for i := range 20 {
		_, err := io.Copy(io.Discard, room.Body(body(mebibyte), mebibyte, "greedy"))
		if i < 4 && err != nil {
			t.Errorf("body %d: %v", i, err)
		} else if i >= 4 {
			full(t, "past half of the room", err)
		}
	}
	for range 4 {
		if _, err := io.Copy(io.Discard, room.Body(body(mebibyte), mebibyte, "modest")); err != nil {
			t.Errorf("another key: %v", err)
		}
	}
}

func TestAttackAStalledUploadHoldsOnlyWhatHasArrived(t *testing.T) {
	t.Parallel()
	room := bodies.New(64 * mebibyte)
	for i := range 50 {
		b := room.Body(body(mebibyte), mebibyte, fmt.Sprint(i))
		if _, err := io.ReadFull(b, make([]byte, 70<<10)); err != nil {
			t.Fatalf("stalled upload %d: %v", i, err)
		}
	}
	if taken, keys := room.Taken(); taken != 50*mebibyte || keys != 50 {
		t.Errorf("%d bytes of %d keys are taken, want 50 MiB of 50", taken, keys)
	}
}

func TestEveryBodyThatEndsGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	room := bodies.New(0)
	for i := range 100 {
		for _, size := range []int64{mebibyte, -1} {
			b := room.Body(body(mebibyte), size, fmt.Sprint(i%3))
			if _, err := io.Copy(io.Discard, b); err != nil {
				t.Fatalf("body %d: %v", i, err)
			}
			_ = b.Close()
		}
	}
	if taken, keys := room.Taken(); taken != 0 || keys != 0 {
		t.Errorf("%d bytes of %d keys are still taken", taken, keys)
	}
}
