package signal

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// notification is a push with the conditions for sending it.
type notification struct {
	notice push.Notice
	about  About
	// taskID is the id of a task that must still be created and not expired; empty for none.
	taskID string
	// quiet means that the quiet hours hold the push back.
	quiet bool
	// until is the time at which the document expires; zero for never.
	until time.Time
}

// pushed is the document that marks an event. Its id is made from the event's id.
type pushed struct {
	At time.Time `json:"at"`
	// LeaseUntil is the end of the lease of the process that sends; after the attempt, the time before which another one
	// cannot succeed, or zero.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	// Done means that the push was sent, or is held back for good.
	Done bool `json:"settled"`
	// More is the number of pushes that were held back before this one.
	More int `json:"more,omitempty"`
	// Left holds the ids of the devices to try again; empty means all devices.
	Left    []string  `json:"left,omitempty"`
	PurgeAt time.Time `json:"purgeAt"`
}

var pushes = store.Collection[pushed]{Name: "pushes", Unindexed: []string{"at", "leaseUntil", "settled", "more",
	"left"}}

const (
	// sendFor is the time limit of one attempt. leaseFor is longer, so that no other process
	// sends while the attempt may still run.
	sendFor  = 12 * time.Second
	leaseFor = 15 * time.Second
	// forgetFor is the time limit of the removal of devices that exist no longer. No lease is needed for it.
	forgetFor = 30 * time.Second
	// keptPushes is longer than the time in which an event may be delivered again.
	keptPushes = 48 * time.Hour
	// maxLeft is the largest number of devices in a mark, which keeps its document small.
	maxLeft = 2_000
)

func pushID(eventID string) string {
	sum := sha256.Sum256([]byte(eventID))
	return hex.EncodeToString(sum[:16])
}

// collapse returns the key by which a push about a document replaces an earlier one on a device.
func collapse(n push.Notice) string {
	sum := sha256.Sum256([]byte(n.Type + "\x00" + n.TaskID + "\x00" + n.SessionID))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// NotifyChange sends a push about work that is blocked or has failed, under the settings for changes.
// It sends one push for each event id. Unavailable means that the call should be repeated.
func (s *Service) NotifyChange(ctx context.Context, user, eventID string, n push.Notice) error {
	return s.notify(ctx, user, eventID, notification{notice: n, about: Changes})
}

// NotifyDone sends a push about work that is complete, as NotifyChange does, where the settings want such pushes.
func (s *Service) NotifyDone(ctx context.Context, user, eventID string, n push.Notice) error {
	return s.notify(ctx, user, eventID, notification{notice: n, about: Completions})
}

// notify sends a push to all devices of a user, once for each event. If it is interrupted, a device
// may receive the push twice, and the later one replaces the earlier. Unavailable means that the
// call should be repeated.
func (s *Service) notify(ctx context.Context, user, eventID string, r notification) error {
	now := s.Now()
	mark, open, err := s.begin(ctx, user, eventID, &r, now)
	if err != nil || !open {
		return err
	}
	s.compose(&r.notice, pushID(eventID), mark.More, r.ttl(now))
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	got, sendErr := s.send(ctx, user, r.notice, mark, now)
	// The result is saved even if the time for sending is over.
	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), leaseFor-sendFor)
	defer cancelEnd()
	mark.LeaseUntil, mark.Done = time.Time{}, sendErr == nil && len(got.left) == 0
	if sendErr == nil { // after an error it is not known which devices received the push
		mark.Left = got.left
		if len(got.left) > 0 && got.notBefore.After(now) {
			mark.LeaseUntil = got.notBefore
		}
	}
	if err := s.save(end, user, pushID(eventID), mark, got); err != nil {
		return err
	}
	if err := s.forget(context.WithoutCancel(ctx), user, got.dead); err != nil {
		return err
	}
	if sendErr == nil && len(got.left) > 0 {
		return fault.New(fault.Unavailable, "the push must be sent to %d devices again", len(got.left)).
			After(max(got.notBefore.Sub(now), 0))
	}
	return sendErr
}

// begin takes the lease of the event and returns its mark. open reports whether a push must be
// sent. Unavailable means that another process holds the lease.
func (s *Service) begin(ctx context.Context, user, eventID string, r *notification,
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
			return fault.New(fault.Unavailable, "another process is sending the push of this event, or its devices ask for a "+
				"pause; try again later").After(mark.LeaseUntil.Sub(now))
		case r.taskID != "" && (!f.Found || t.Status != task.Created || t.Expired(now)):
			return nil // the task was taken up or ended, or has expired
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

// compose completes the id, body, key, lifetime and links of a push.
func (s *Service) compose(n *push.Notice, id string, more int, ttl time.Duration) {
	n.ID, n.Body, n.Key, n.TTL = id, push.Line(n.Body, bodyLen), collapse(*n), ttl
	if more > 0 {
		n.Body += fmt.Sprintf("\nand %d more", more)
	}
	if s.PublicURL != "" {
		n.URL = s.PublicURL + "/q"
		if n.TaskID != "" {
			n.URL += "/" + n.TaskID
		}
	}
	if strings.HasPrefix(s.PublicURL, "https://") {
		n.AnswerURL = s.PublicURL + push.AnswerPath
	}
}

// send sends a push to the devices page by page, or to those in the mark only if it has any. After an error the outcome is
// unknown.
func (s *Service) send(ctx context.Context, user string, n push.Notice, mark pushed, now time.Time) (attempt, error) {
	q, tried, only := store.Query{Limit: push.MaxTokens}, false, mark.Left
	var out attempt
	for {
		page, err := devices.Query(ctx, s.DB.User(user), q)
		if err != nil {
			return out, err
		}
		if len(only) > 0 {
			page.Docs = slices.DeleteFunc(page.Docs,
				func(d store.Doc[Device]) bool { return !slices.Contains(only, d.ID) })
		}
		if len(page.Docs) > 0 || (!tried && page.Next == "" && len(only) == 0) {
			tried = true
			one, err := s.sendPage(ctx, user, n, page.Docs, mark, now)
			out.add(one)
			if err != nil {
				return out, err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return out, nil
		}
	}
}

// sendPage sends a push to some devices. Where devices at addresses of their own were reached, a failure of the push
// service of apps leaves only the apps to try again.
func (s *Service) sendPage(ctx context.Context, user string, n push.Notice, page []store.Doc[Device], mark pushed,
	now time.Time) (attempt, error) {
	var apps, direct []store.Doc[Device]
	for _, d := range page {
		if push.Platform(d.Value.Platform).Direct() {
			direct = append(direct, d)
		} else {
			apps = append(apps, d)
		}
		if p := d.Value.Platform; (p == apple || p == string(push.WebPush)) && n.Badge == nil {
			var err error
			if n.Badge, err = s.badge(ctx, user); err != nil {
				return attempt{}, err
			}
		}
	}
	out, err := s.sendDirect(ctx, user, n, direct, now)
	if now.Sub(mark.At) >= directFor {
		out.left, out.notBefore = nil, time.Time{}
	}
	if err != nil || (len(apps) == 0 && len(direct) > 0) {
		return out, err
	}
	some, err := s.sendApps(ctx, n, apps)
	if err != nil && len(direct) > 0 && fault.Of(err).Redeliver() {
		for _, d := range apps {
			some.miss(d.ID, now)
		}
		err = nil
	}
	out.add(some)
	return out, err
}

// sendApps sends a push to devices by their tokens.
func (s *Service) sendApps(ctx context.Context, n push.Notice, apps []store.Doc[Device]) (attempt, error) {
	tokens := make([]string, len(apps))
	for i, d := range apps {
		tokens[i] = d.Value.Token
	}
	results, err := s.Sender.Send(ctx, n, tokens)
	if err != nil {
		return attempt{}, err
	}
	var out attempt
	for i, d := range apps {
		switch results[i] {
		case push.Dead:
			out.dead = append(out.dead, d.ID)
		case push.Failed:
			out.miss(d.ID, time.Time{})
		}
	}
	return out, nil
}

// maxBadge is the largest number on a badge.
const maxBadge = 100

// badge returns the number of pending questions, at most maxBadge.
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

// deadBatch is the number of devices that one transaction deletes, each with its address.
const deadBatch = 200

// forget removes devices that exist no longer. One that is left is found again by the next push.
func (s *Service) forget(ctx context.Context, user string, dead []string) error {
	ctx, cancel := context.WithTimeout(ctx, forgetFor)
	defer cancel()
	for batch := range slices.Chunk(dead, deadBatch) {
		err := s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for _, d := range batch {
				remove(tx, d)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// save stores the result of a try: the mark and the pauses of devices.
func (s *Service) save(ctx context.Context, user, id string, mark pushed, got attempt) error {
	if len(mark.Left) > maxLeft {
		mark.Left = nil
	}
	if err := s.hold(ctx, user, got.held); err != nil {
		return err
	}
	return s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		pushes.Put(tx, id, mark)
		return nil
	})
}
