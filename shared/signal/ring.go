package signal

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// ring is a push and what decides whether it goes out.
type ring struct {
	notice push.Notice
	about  About
	// taskID names a task that must still be open; empty where it does not matter.
	taskID string
	// quiet says that the quiet hours hold it back.
	quiet bool
	// until is when it is no longer news; zero for never.
	until time.Time
}

// pushed marks an event that was told, in a document named after the event.
type pushed struct {
	At time.Time `json:"at"`
	// LeaseUntil is the end of the lease of the process that rings; zero once it is done.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	Done       bool      `json:"settled"`
	// More is how many were held back before it.
	More int `json:"more,omitempty"`
	// Left are the devices that are to be tried again; all of them where it is empty.
	Left    []string  `json:"left,omitempty"`
	PurgeAt time.Time `json:"purgeAt"`
}

var pushes = store.Collection[pushed]{Name: "pushes", Unindexed: []string{"at", "leaseUntil", "settled", "more",
	"left"}}

const (
	// sendFor bounds one try to ring; leaseFor is longer, so that nobody else tries
	// while it may still be under way.
	sendFor  = 12 * time.Second
	leaseFor = 15 * time.Second
	// keptPushes is longer than any event is delivered again.
	keptPushes = 48 * time.Hour
	// maxLeft bounds the devices of a mark, which stays a small document.
	maxLeft = 2_000
)

func pushID(eventID string) string {
	sum := sha256.Sum256([]byte(eventID))
	return hex.EncodeToString(sum[:16])
}

// collapse is the key by which what is told of one document replaces what was told of
// it before.
func collapse(n push.Notice) string {
	sum := sha256.Sum256([]byte(n.Type + "\x00" + n.TaskID + "\x00" + n.SessionID))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// RingChange tells a user's human that something is blocked or has failed.
func (s *Service) RingChange(ctx context.Context, user, eventID string, n push.Notice) error {
	return s.ring(ctx, user, eventID, ring{notice: n, about: Changes})
}

// ring rings all devices of a user, once an event: at least once where it is ended
// midway, and then the later push replaces the earlier. Unavailable says that it should
// be tried again.
func (s *Service) ring(ctx context.Context, user, eventID string, r ring) error {
	now := s.Now()
	mark, open, err := s.begin(ctx, user, eventID, &r, now)
	if err != nil || !open {
		return err
	}
	s.compose(&r.notice, mark.More, r.ttl(now))
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	left, dead, sendErr := s.send(ctx, user, r.notice, mark.Left)
	// What is known is kept although the time for sending may be over.
	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), leaseFor-sendFor)
	defer cancelEnd()
	mark.LeaseUntil, mark.Done = time.Time{}, sendErr == nil && len(left) == 0
	if sendErr == nil { // else it is not known whom the error kept from being rung
		mark.Left = left
	}
	if err := s.save(end, user, pushID(eventID), mark, dead); err != nil {
		return err
	}
	if sendErr == nil && len(left) > 0 {
		return fault.New(fault.Unavailable, "%d devices could not be rung yet", len(left))
	}
	return sendErr
}

// begin takes the event for this try, and says whether there is anything to do.
func (s *Service) begin(ctx context.Context, user, eventID string, r *ring,
	now time.Time) (mark pushed, open bool, err error) {
	id := pushID(eventID)
	err = s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		mark, open = pushed{}, false
		var set Settings
		var q quota
		var t task.Task
		m, f := pushes.Fetch(id, &mark), task.Tasks.Fetch(r.taskID, &t)
		fetches := []*store.Fetch{m, settings.Fetch(notifications, &set), quotas.Fetch(hour, &q)}
		if r.taskID != "" {
			fetches = append(fetches, f)
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		switch {
		case mark.Done:
			return nil
		case now.Before(mark.LeaseUntil):
			return fault.New(fault.Unavailable,
				"the event is being told by another; it is looked at again later").After(mark.LeaseUntil.Sub(now))
		case r.taskID != "" && (!f.Found || t.Status != task.Created || t.Expired(now)):
			return nil // somebody saw to it, or it is over
		case set.off(r.about):
			return nil
		}
		if open = m.Found; !open {
			mark.At, mark.PurgeAt = now, now.Add(keptPushes)
			mark.More, open = q.spend(&set, r, now)
			mark.Done = !open
			quotas.Put(tx, hour, q)
		}
		if open {
			mark.LeaseUntil = now.Add(leaseFor)
		}
		pushes.Put(tx, id, mark)
		return nil
	})
	return mark, open && err == nil, err
}

// compose completes what a push says.
func (s *Service) compose(n *push.Notice, more int, ttl time.Duration) {
	n.Body, n.Key, n.TTL = push.Line(n.Body, bodyLen), collapse(*n), ttl
	if more > 0 {
		n.Body += fmt.Sprintf("\nand %d more", more)
	}
	if s.PublicURL != "" {
		n.URL = s.PublicURL + "/q"
		if n.TaskID != "" {
			n.URL += "/" + n.TaskID
		}
	}
}

// send rings the devices, page by page, and says which are to be tried again and which
// are no more. Only where an error says so is nothing known of a device.
func (s *Service) send(ctx context.Context, user string, n push.Notice,
	only []string) (left, dead []string, err error) {
	q, rung := store.Query{Limit: push.MaxTokens}, false
	for {
		page, err := devices.Query(ctx, s.DB.User(user), q)
		if err != nil {
			return left, dead, err
		}
		if len(only) > 0 {
			page.Docs = slices.DeleteFunc(page.Docs,
				func(d store.Doc[Device]) bool { return !slices.Contains(only, d.ID) })
		}
		if len(page.Docs) > 0 || (!rung && page.Next == "" && len(only) == 0) {
			rung = true
			l, d, err := s.sendPage(ctx, user, n, page.Docs)
			left, dead = append(left, l...), append(dead, d...)
			if err != nil {
				return left, dead, err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return left, dead, nil
		}
	}
}

func (s *Service) sendPage(ctx context.Context, user string, n push.Notice,
	page []store.Doc[Device]) (left, dead []string, err error) {
	tokens := make([]string, len(page))
	for i, d := range page {
		tokens[i] = d.Value.Token
		if d.Value.Platform == apple && n.Badge == nil {
			if n.Badge, err = s.badge(ctx, user); err != nil {
				return nil, nil, err
			}
		}
	}
	results, err := s.Sender.Send(ctx, n, tokens)
	if err != nil {
		return nil, nil, err
	}
	for i, d := range page {
		switch results[i] {
		case push.Dead:
			dead = append(dead, d.ID)
		case push.Failed:
			left = append(left, d.ID)
		}
	}
	return left, dead, nil
}

// maxBadge is how many questions a badge counts.
const maxBadge = 100

// badge is how many questions wait for an answer, up to 100.
func (s *Service) badge(ctx context.Context, user string) (*int, error) {
	page, err := task.Tasks.Query(ctx, s.DB.User(user), store.Query{
		Where: []store.Cond{store.Contains("routes", questions), store.Eq("status", task.Created)},
		Order: []string{"rank desc", "createdAt"}, Limit: maxBadge})
	if err != nil {
		return nil, err
	}
	n, now := 0, s.Now()
	for _, d := range page.Docs {
		if !d.Value.Expired(now) {
			n++
		}
	}
	return &n, nil
}

// deadBatch is how many devices are removed at once, within the writes that one
// transaction takes.
const deadBatch = 400

// save stores the result of a try: the mark, and the list of devices without the dead ones.
func (s *Service) save(ctx context.Context, user, id string, mark pushed, dead []string) error {
	if len(mark.Left) > maxLeft {
		mark.Left = nil
	}
	for batch := range slices.Chunk(dead, deadBatch) {
		err := s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for _, d := range batch {
				devices.Delete(tx, d)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		pushes.Put(tx, id, mark)
		return nil
	})
}
