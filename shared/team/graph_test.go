package team

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"parley.internal/shared/fault"
)

// boardOf returns a board of n pending tasks after the given changes.
func boardOf(t *testing.T, n int, changes ...func(*Change) string) Board {
	t.Helper()
	var b Board
	for range n {
		if _, err := b.Add(); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range changes {
		var ch Change
		id := of(&ch)
		next, _, err := b.Update("core", id, ch)
		if err != nil {
			t.Fatal(err)
		}
		b = next
	}
	return b
}

func blocks(id string, others ...string) func(*Change) string {
	return func(c *Change) string { c.AddBlocks = others; return id }
}

func becomes(id string, s Status) func(*Change) string {
	return func(c *Change) string { c.Status = s; return id }
}

func TestEveryChangeThatBreaksARuleIsRefusedWithItsMessage(t *testing.T) {
	t.Parallel()
	// 1 blocks 2, 2 blocks 3; 4 is in progress, 5 completed, 6 deleted, 7 free.
	b := boardOf(t, 7, blocks("1", "2"), blocks("2", "3"), becomes("4", InProgress), becomes("5", Completed),
		becomes("6", Deleted))
	for name, tc := range map[string]struct {
		id    string
		ch    Change
		kind  fault.Kind
		words string
	}{
		"a task that is not there": {"8", Change{}, fault.NotFound, "Task 8 not found in team core"},
		"a deleted task": {"6", Change{Status: Pending}, fault.NotFound,
			"Task 6 not found in team core"},
		"an id that is not written so": {"01", Change{}, fault.NotFound, "Task 01 not found in team core"},
		"an id that is no number":      {"one", Change{}, fault.NotFound, "Task one not found in team core"},
		"an unknown status":            {"1", Change{Status: "done"}, fault.Invalid, "Invalid status: done"},
		"back from in progress": {"4", Change{Status: Pending}, fault.Precondition,
			"Cannot transition from in_progress to pending"},
		"back from completed": {"5", Change{Status: InProgress}, fault.Precondition,
			"Cannot transition from completed to in_progress"},
		"back from completed to pending": {"5", Change{Status: Pending}, fault.Precondition,
			"Cannot transition from completed to pending"},
		"itself in blocks": {"1", Change{AddBlocks: []string{"1"}}, fault.Invalid,
			"Task 1 cannot block itself"},
		"itself in blocked by": {"1", Change{AddBlockedBy: []string{"1"}}, fault.Invalid,
			"Task 1 cannot be blocked by itself"},
		"an unknown one in blocks": {"1", Change{AddBlocks: []string{"7", "8"}}, fault.Precondition,
			"Referenced task 8 does not exist"},
		"an unknown one in blocked by": {"1", Change{AddBlockedBy: []string{"6"}}, fault.Precondition,
			"Referenced task 6 does not exist"},
		"a circle of two": {"2", Change{AddBlocks: []string{"1"}}, fault.Precondition,
			"Adding block 2 -> 1 would create a circular dependency"},
		"a circle of two, from behind": {"1", Change{AddBlockedBy: []string{"2"}}, fault.Precondition,
			"Adding dependency 1 blocked_by 2 would create a circular dependency"},
		"a circle of three": {"3", Change{AddBlocks: []string{"1"}}, fault.Precondition,
			"Adding block 3 -> 1 would create a circular dependency"},
		"a circle of three, from behind": {"1", Change{AddBlockedBy: []string{"3"}}, fault.Precondition,
			"Adding dependency 1 blocked_by 3 would create a circular dependency"},
		"a circle within one change": {"7", Change{AddBlocks: []string{"1"}, AddBlockedBy: []string{"3"}},
			fault.Precondition, "Adding dependency 7 blocked_by 3 would create a circular dependency"},
		"started while blocked": {"2", Change{Status: InProgress}, fault.Precondition,
			"Cannot set status to in_progress: blocked by task 1 (status: pending)"},
		"completed while blocked": {"3", Change{Status: Completed}, fault.Precondition,
			"Cannot set status to completed: blocked by task 2 (status: pending)"},
		"started with a blocker just made": {"7", Change{Status: InProgress, AddBlockedBy: []string{"4"}},
			fault.Precondition, "Cannot set status to in_progress: blocked by task 4 (status: in_progress)"},
		"refused at last, with an owner": {"2", Change{Status: Completed, Owner: new("ann"),
			AddBlocks: []string{"7"}}, fault.Precondition,
			"Cannot set status to completed: blocked by task 1 (status: pending)"},
	} {
		before := b.clone()
		after, _, err := b.Update("core", tc.id, tc.ch)
		if !fault.Is(err, tc.kind) || err.Error() != tc.words {
			t.Errorf("%s: %v %q, want %v %q", name, fault.Of(err), err, tc.kind, tc.words)
		}
		if !reflect.DeepEqual(b, before) || !reflect.DeepEqual(after, before) {
			t.Errorf("%s: the refused change has modified the board", name)
		}
	}
}

func TestEveryPairOfStatusesIsAllowedOrRefused(t *testing.T) {
	t.Parallel()
	allowed := map[Status][]Status{Pending: {Pending, InProgress, Completed, Deleted},
		InProgress: {InProgress, Completed, Deleted}, Completed: {Completed, Deleted}}
	for from, to := range allowed {
		for _, next := range []Status{Pending, InProgress, Completed, Deleted} {
			b := boardOf(t, 1, becomes("1", from))
			after, n, err := b.Update("core", "1", Change{Status: next})
			if want := slices.Contains(to, next); (err == nil) != want {
				t.Errorf("%s → %s: %v", from, next, err)
			} else if want && (n.Status != next || (next == Deleted) != (after.find(1) == nil)) {
				t.Errorf("%s → %s: %+v", from, next, n)
			}
		}
	}
}

func TestCompletingUnblocksAndDeletingRemovesEdges(t *testing.T) {
	t.Parallel()
	b := boardOf(t, 3, blocks("1", "2", "3"), blocks("2", "3"))
	done, _, err := b.Update("core", "1", Change{Status: Completed})
	if err != nil {
		t.Fatal(err)
	}
	if n := done.find(1); !slices.Equal(n.Blocks, []int64{2, 3}) {
		t.Errorf("the completed task has lost its blocks: %+v", n)
	}
	if n := done.find(3); !slices.Equal(n.BlockedBy, []int64{2}) || !done.Ready(*done.find(2)) || done.Ready(*n) {
		t.Errorf("%+v", done)
	}
	gone, _, err := done.Update("core", "2", Change{Status: Deleted})
	if err != nil || !gone.Ready(*gone.find(3)) || !slices.Equal(gone.find(1).Blocks, []int64{3}) {
		t.Errorf("%+v, %v", gone, err)
	}
	if n, err := gone.Add(); err != nil || n.ID != 4 {
		t.Errorf("an id was used again: %+v, %v", n, err)
	}
}

func TestABoardHasItsLimits(t *testing.T) {
	t.Parallel()
	b := boardOf(t, MaxTasks)
	_, err := b.Add()
	says(t, err, fault.Precondition, "A team holds at most 1000 tasks; delete those that are done first")
	b, _, err = b.Update("core", "7", Change{Status: Deleted})
	if n, addErr := b.Add(); err != nil || addErr != nil || n.ID != MaxTasks+1 {
		t.Errorf("%+v, %v, %v", n, err, addErr)
	}
	for edges, id := 0, int64(1); edges < MaxEdges; id++ { // each task blocks the hundred behind it
		n := b.find(id)
		for next := id + 1; n != nil && next <= id+100 && edges < MaxEdges; next++ {
			if o := b.find(next); o != nil {
				addEdge(n, o)
				edges++
			}
		}
	}
	_, _, err = b.Update("core", "1", Change{AddBlocks: []string{"1000"}})
	says(t, err, fault.Precondition,
		"A team's tasks have at most 10000 dependencies; complete or delete some tasks first")
	if _, _, err := b.Update("core", "1", Change{Status: Completed}); err != nil {
		t.Errorf("a full board takes no other change: %v", err)
	}
}

// hasCycle reports whether a board has a cycle, by an algorithm other than the board's: it
// removes tasks without blockers until none is left to remove.
func hasCycle(b Board) bool {
	left := map[int64][]int64{}
	for _, n := range b.Tasks {
		left[n.ID] = n.BlockedBy
	}
	for taken := true; taken; {
		taken = false
		for id, by := range left {
			if !slices.ContainsFunc(by, func(o int64) bool { _, there := left[o]; return there }) {
				delete(left, id)
				taken = true
			}
		}
	}
	return len(left) > 0
}

// inconsistency describes the first broken invariant of a board, empty for none.
func inconsistency(b Board) string {
	if hasCycle(b) {
		return "there is a cycle"
	}
	for i, n := range b.Tasks {
		if i > 0 && b.Tasks[i-1].ID >= n.ID {
			return "the ids are not in order"
		}
		for _, id := range n.BlockedBy {
			o := b.find(id)
			if o == nil || id == n.ID || !slices.Contains(o.Blocks, n.ID) {
				return fmt.Sprintf("%d is blocked by %d, which does not list it", n.ID, id)
			}
		}
		for _, id := range n.Blocks {
			o := b.find(id)
			if o == nil || id == n.ID || (n.Status != Completed && !slices.Contains(o.BlockedBy, n.ID)) {
				return fmt.Sprintf("%d blocks %d, which does not list it", n.ID, id)
			}
		}
		if !b.Ready(n) && n.Status == Pending && len(n.BlockedBy) == 0 {
			return fmt.Sprintf("%d has no blockers and is not ready", n.ID)
		}
	}
	return ""
}

// Accepted changes keep the invariants of a board, and refused ones do not modify it.
func TestEverySequenceOfChangesKeepsABoardConsistent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		b, refused := boardOf(t, 2+r.IntN(8)), 0
		some := func() (ids []string) {
			for range r.IntN(3) {
				ids = append(ids, taskID(1+r.Int64N(b.LastID+1)))
			}
			return ids
		}
		for range 60 {
			if r.IntN(15) == 0 {
				if _, err := b.Add(); err != nil {
					t.Fatal(err)
				}
			}
			id, ch := taskID(1+r.Int64N(b.LastID)), Change{AddBlocks: some(), AddBlockedBy: some()}
			if r.IntN(4) == 0 {
				ch.Status = []Status{Pending, InProgress, Completed, Deleted}[r.IntN(4)]
			}
			before := b.clone()
			next, n, err := b.Update("core", id, ch)
			if !reflect.DeepEqual(b, before) {
				t.Fatalf("seed %d: an update changed the board that it was made from", seed)
			}
			if err != nil {
				refused++
				continue
			}
			for _, o := range ch.AddBlocks {
				if next.findText(o) != nil && n.Status != Deleted && !slices.Contains(n.Blocks, next.findText(o).ID) {
					t.Fatalf("seed %d: %s does not block %s", seed, id, o)
				}
			}
			if b = next; inconsistency(b) != "" {
				t.Fatalf("seed %d after %s %+v: %s", seed, id, ch, inconsistency(b))
			}
		}
		if refused == 0 {
			t.Errorf("seed %d: nothing was refused", seed)
		}
	}
}

// A dependency is refused as a cycle if and only if it closes one.
func TestAnEdgeIsRefusedAsACycleExactlyWhenItClosesOne(t *testing.T) {
	t.Parallel()
	circles := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := boardOf(t, 6)
		for range 12 {
			from, to := 1+r.Int64N(6), 1+r.Int64N(6)
			if from == to {
				continue
			}
			forced := b.clone()
			addEdge(forced.find(from), forced.find(to))
			ch, id := Change{AddBlocks: []string{taskID(to)}}, taskID(from)
			if r.IntN(2) == 0 {
				ch, id = Change{AddBlockedBy: []string{taskID(from)}}, taskID(to)
			}
			next, _, err := b.Update("core", id, ch)
			if (err != nil) != hasCycle(forced) {
				t.Fatalf("seed %d: %d → %d on %+v: %v", seed, from, to, b, err)
			}
			if err != nil {
				circles++
				continue
			}
			b = next
		}
	}
	if circles == 0 {
		t.Error("no cycle was tried")
	}
}

func TestReleaseReturnsTheUnfinishedTasksOfAnOwner(t *testing.T) {
	t.Parallel()
	b := boardOf(t, 4)
	for id, s := range map[string]Status{"1": "", "2": InProgress, "3": Completed} {
		next, _, err := b.Update("core", id, Change{Status: s, Owner: new("ann")})
		if err != nil {
			t.Fatal(err)
		}
		b = next
	}
	if !b.Working("ann") || b.Working("bob") {
		t.Error("the working member is not known")
	}
	if ids := b.Release("ann"); !slices.Equal(ids, []int64{1, 2}) || b.find(2).Status != Pending ||
		b.find(2).Owner != "" || b.find(3).Owner != "ann" || b.Working("ann") {
		t.Errorf("%v, %+v", ids, b)
	}
	if ids := b.Release("ann"); ids != nil {
		t.Errorf("%v a second time", ids)
	}
}
