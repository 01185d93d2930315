package files

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// The numbers of conflicts in a message and in the details of a fault.
const (
	maxNamed = 3
	maxTells = 20
)

// errBlocked is the cause of the faults that a wait can mend.
var errBlocked = errors.New("the paths are held")

// blocked reports whether an attempt failed because of others' reservations.
func blocked(err error) bool { return errors.Is(err, errBlocked) }

// refusal returns the fault about paths that others hold. Its details have a line for each conflict; its message has the
// first ones, and says how to reach the holders.
func refusal(b *stand, q *request, against []conflict, waited time.Duration) error {
	f := fault.Wrap(fault.Precondition, errBlocked, "")
	var named, boxes []string
	paths := map[int]bool{}
	for _, c := range against {
		paths[c.path] = true
	}
	for i, c := range against {
		text := c.text()
		if i < maxTells {
			f.Problems = append(f.Problems, fault.Problem{Path: fmt.Sprintf("paths[%d]", c.path),
				Message: fmt.Sprintf("%s: %s%s", q.patterns[c.path], text, c.id(b))})
		}
		if i < maxNamed {
			named = append(named, fmt.Sprintf("%s: %s", q.patterns[c.path], text))
		}
		box := fmt.Sprintf("%q", c.holder().address())
		if c.holder().address() != "" && len(boxes) < maxNamed && !slices.Contains(boxes, box) {
			boxes = append(boxes, box)
		}
	}
	if n := len(against) - maxNamed; n > 0 {
		named = append(named, fmt.Sprintf("and %d more", n))
	}
	do, who := standing(against)
	f.Message = fmt.Sprintf("nothing is reserved, because others %s %d of the %d paths: %s. %s",
		do, len(paths), len(q.patterns), strings.Join(named, "; "), advice(who, boxes, waited))
	return f
}

// standing returns the verb and the noun for the others in conflicts, by whether they hold the paths or wait for them.
func standing(against []conflict) (do, who string) {
	held := slices.ContainsFunc(against, func(c conflict) bool { return c.held != nil })
	waits := slices.ContainsFunc(against, func(c conflict) bool { return c.held == nil })
	switch {
	case held && waits:
		return "hold or wait for", "them"
	case waits:
		return "wait for", "who waits before you"
	}
	return "hold", "the holder"
}

// advice returns the sentence about the next steps after a refusal.
func advice(who string, boxes []string, waited time.Duration) string {
	out := "Work on something else"
	if len(boxes) > 0 {
		out = "Reach " + who + " with send_message to " + strings.Join(boxes, ", ")
	}
	if keep := int(kept(waited) / time.Second); keep > 0 {
		return out + fmt.Sprintf(", or repeat the call within %d s to keep your place", keep)
	}
	return out + ", or give waitMs to wait for your turn"
}

// text describes the reservation or the waiter that the path overlaps.
func (c *conflict) text() string {
	if c.held != nil {
		return c.held.text()
	}
	return fmt.Sprintf("%s has waited for %s (%s) since %s and is before you", c.turn.who(),
		strings.Join(c.turn.Patterns[:min(maxNamed, len(c.turn.Patterns))], ", "), c.turn.Mode,
		c.turn.Since.Format(time.RFC3339))
}

func (c *conflict) id(b *stand) string {
	if c.held == nil {
		return ""
	}
	return ", reservation " + reservationID(b.id, c.held.Token)
}

func (c *conflict) holder() Holder {
	if c.held != nil {
		return c.held.Holder
	}
	return c.turn.Holder
}

// warnings returns a line for each reservation that a request meets in another worktree.
func warnings(q *request, beside []conflict) []string {
	var out []string
	for i, c := range beside {
		if i == maxTells {
			return append(out, fmt.Sprintf("and %d more", len(beside)-i))
		}
		out = append(out, fmt.Sprintf("%s: in %s %s; the two will meet when they are merged",
			q.patterns[c.path], place(c.held.Worktree, c.held.Branch), c.held.text()))
	}
	return out
}
