package pulse

import (
	"testing"

	"parley.internal/shared/domaintest"
)

// The programs of a user are no operation; the directory of the relay reads them.
func TestTheProgramsOfAUserTakeOneRPC(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	w := newWorld(t, db)
	for _, id := range []string{"s", "s2"} {
		w.create(alpha, CreateInput{SessionID: id})
	}
	rpcs.Hold(t, "programs", domaintest.Exactly(1), func() { domaintest.Must(w.Programs(t.Context(), "u"))(t) })
}
