package cli_test

import (
	"encoding/json"
	"testing"
	"time"

	hooklocal "parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/session"
)

func TestTheListHasTheLastHookWhereTheServerRecordedNoLaterCall(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	d.ok("claude")
	type list struct {
		Connections []struct {
			Connection string
			LastUsedAt time.Time
		}
	}
	read := func() (out list) {
		t.Helper()
		if err := json.Unmarshal([]byte(d.ok("--list", "--json")), &out); err != nil || len(out.Connections) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return out
	}
	id := read().Connections[0].Connection
	place, err := hooklocal.Find(func(name string) string { return map[string]string{"HOME": d.home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(time.Hour).UTC().Truncate(time.Minute)
	for thread, seen := range map[string]time.Time{"t1": late, "t2": late.Add(-5 * time.Hour)} {
		if err := place.Save(hooklocal.ID(id, thread), session.State{Connection: id, Thread: thread, Seen: seen}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read().Connections[0].LastUsedAt; !got.Equal(late) {
		t.Errorf("the last contact is %v, want %v", got, late)
	}
}
