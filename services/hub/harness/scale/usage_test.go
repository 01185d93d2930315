package scale

import (
	"context"
	"os"
	"runtime"
	"testing"

	"parley.internal/shared/store/emulator"
)

func TestWhatAProcessUsesIsRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		emulator.Skip(t, "only Linux has /proc")
	}
	ctx, cancel := context.WithCancel(t.Context())
	big := make([]byte, 32<<20)
	for i := range big {
		big[i] = byte(i) // so that the pages are resident, and some time is used
	}
	stop := watch(ctx, os.Getpid())
	cancel()
	peak, processor, err := stop()
	if err != nil || peak < int64(len(big)) || processor <= 0 {
		t.Errorf("got %d bytes, %v, %v", peak, processor, err)
	}
	runtime.KeepAlive(big)
}

func TestAProcessThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stop := watch(ctx, 1<<30)
	cancel()
	if _, _, err := stop(); err == nil {
		t.Error("no error")
	}
}
