package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Directory knows the programs of a user, for the warning about a recipient that
// nobody is.
type Directory interface {
	Programs(ctx context.Context, user string) ([]string, error)
}

// Service is the mail of all users.
type Service struct {
	DB        *store.DB
	Directory Directory
	Now       func() time.Time
	NewID     func() string
}

// defaultTTL is how long an unread message is wanted.
const defaultTTL = 86_400

// Send puts a message into a program's inbox.
func (s *Service) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	var out SendOutput
	source, verified, err := c.SpeaksAs(in.Source)
	if err != nil {
		return out, err
	}
	if group, ok := strings.CutPrefix(in.Target, "group:"); ok {
		return out, fault.New(fault.NotFound, "no group named %q; name a program", group)
	}
	if in.Target == "all" {
		return out, fault.New(fault.Precondition, "all reaches the programs with a live session, and there is none; name a program")
	}
	now, id := s.Now(), s.NewID()
	ttl := in.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}
	m := Message{Source: source, Verified: verified, Target: in.Target, Text: in.Message, Type: in.MessageType, Priority: in.Priority,
		Action: in.Action, Context: in.Context, SessionID: in.SessionID, ReplyTo: in.ReplyTo, ThreadID: in.ThreadID, Provenance: in.Provenance,
		State: Pending, CreatedAt: now, DueAt: atOnce, ExpiresAt: now.Add(time.Duration(ttl) * time.Second)}
	if m.Priority == "" {
		m.Priority = task.Normal
	}
	m.PurgeAt = m.ExpiresAt.Add(DeadFor)
	m.address()
	warning, err := s.unknown(ctx, c.User, in.Target)
	if err != nil {
		return out, err
	}
	key := in.IdempotencyKey
	in.IdempotencyKey = ""
	return once.Do(ctx, s.DB.User(c.User), "send_message", key, now, in, func(_ context.Context, tx *store.Tx) (SendOutput, error) {
		messages.Create(tx, id, m)
		return SendOutput{MessageID: id, Source: source, Verified: verified, Target: m.Target, CreatedAt: now, ExpiresAt: m.ExpiresAt, Warning: warning}, nil
	})
}

// unknown is the warning about a recipient that no key speaks for.
func (s *Service) unknown(ctx context.Context, user, target string) (string, error) {
	programs, err := s.Directory.Programs(ctx, user)
	if err != nil || slices.Contains(programs, target) {
		return "", err
	}
	if len(programs) == 0 {
		return fmt.Sprintf("no program named %q is known; the message waits until one reads it", target), nil
	}
	return fmt.Sprintf("no program named %q is known; the message waits until one reads it. Known: %s", target, strings.Join(programs, ", ")), nil
}

// inbox is whose mail a caller reads: what it names, else its program, else its
// session's. A key bound to a program reads that program's alone.
func inbox(c identity.Caller, target, sessionID string) (string, error) {
	if target == "" && !c.Bound() {
		target, _, _ = strings.Cut(sessionID, ".")
		if target == "" {
			return "", fault.Field("target", "is required: this key is bound to no program; name the program whose messages you read, or give a sessionId")
		}
	}
	program, _, err := c.SpeaksAs(target)
	return program, err
}

// Get reads an inbox, marks what it delivers unless told not to, and waits for a
// first message where it is told to.
func (s *Service) Get(ctx context.Context, c identity.Caller, in GetInput) (GetOutput, error) {
	out := GetOutput{Messages: []View{}}
	target, err := inbox(c, in.Target, in.SessionID)
	if err != nil {
		return out, err
	}
	if in.Limit == 0 {
		in.Limit = 20
	}
	from := box(target, in.MessageType, string(in.Priority), in.ThreadID)
	if in.IncludeDelivered {
		return s.history(ctx, c, from, in)
	}
	if in.Cursor != "" {
		return out, fault.Field("cursor", "goes with includeDelivered alone: an inbox is read by what waits in it, so the next call brings the next messages")
	}
	mark := (in.MarkAsRead == nil || *in.MarkAsRead) && c.CanWrite()
	t := s.DB.User(c.User)
	err = messages.Wait(ctx, t, []store.Cond{store.Contains("boxes", from), store.Eq("state", Pending)}, time.Duration(in.WaitMs)*time.Millisecond, func(ctx context.Context) (bool, error) {
		if mark {
			out.Messages, err = s.deliver(ctx, t, from, in.Limit)
		} else {
			out.Messages, err = s.peek(ctx, t, from, in.Limit)
		}
		return len(out.Messages) > 0, err
	})
	return out, err
}

func due(from string, now time.Time, limit int) store.Query {
	return store.Query{Where: []store.Cond{store.Contains("boxes", from), store.Le("dueAt", now)},
		Order: []string{"rank desc", "createdAt", "dueAt"}, Limit: limit}
}

// Behind a page of nothing but dead letters, more is read at once, and only so
// often: the rest is for the next call.
const (
	widePage = 100
	maxPages = 8
)

// deliver hands out what is due and marks it, in one transaction: of two readers
// at once each message goes to one. Dead letters on the way are buried, so that
// they do not stand before live mail again.
func (s *Service) deliver(ctx context.Context, t *store.Tenant, from string, limit int) (views []View, err error) {
	now, width := s.Now(), limit
	for range maxPages {
		full := false
		err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			views = []View{}
			page, err := messages.Query(ctx, tx, due(from, now, width))
			if err != nil {
				return err
			}
			full = len(page.Docs) == width
			for _, d := range page.Docs {
				m := d.Value
				switch {
				case m.Lapsed(now):
					m.Bury(now)
				case len(views) < limit:
					m.Deliver(now)
					views = append(views, view(d.ID, m))
				default:
					continue
				}
				messages.Put(tx, d.ID, m)
			}
			return nil
		})
		if err != nil || len(views) > 0 || !full {
			break
		}
		width = max(limit, widePage)
	}
	return views, err
}

func (s *Service) peek(ctx context.Context, t *store.Tenant, from string, limit int) ([]View, error) {
	now, q := s.Now(), due(from, s.Now(), limit)
	views := []View{}
	for range maxPages {
		page, err := messages.Query(ctx, t, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Docs {
			if !d.Value.Lapsed(now) && len(views) < limit {
				views = append(views, view(d.ID, d.Value))
			}
		}
		if len(views) > 0 || page.Next == "" {
			break
		}
		q.Cursor, q.Limit = page.Next, max(limit, widePage)
	}
	return views, nil
}

func (s *Service) history(ctx context.Context, c identity.Caller, from string, in GetInput) (GetOutput, error) {
	out := GetOutput{Messages: []View{}}
	page, err := messages.Query(ctx, s.DB.User(c.User), store.Query{Where: []store.Cond{store.Contains("boxes", from)},
		Order: []string{"createdAt"}, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	now := s.Now()
	for _, d := range page.Docs {
		// What nobody read in time is a dead letter, and no history.
		if m := d.Value; m.Deliveries > 0 || (m.State != Dead && !m.Lapsed(now)) {
			out.Messages = append(out.Messages, view(d.ID, m))
		}
	}
	return out, nil
}

// Ack settles messages. One that is not the caller's is told as not found.
func (s *Service) Ack(ctx context.Context, c identity.Caller, in AckInput) (AckOutput, error) {
	var out AckOutput
	now := s.Now()
	slices.Sort(in.MessageIDs)
	ids := slices.Compact(in.MessageIDs)
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = AckOutput{Acked: []string{}, NotFound: []string{}}
		found := make([]Message, len(ids))
		fetches := make([]*store.Fetch, len(ids))
		for i, id := range ids {
			fetches[i] = messages.Fetch(id, &found[i])
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		for i, id := range ids {
			m := found[i]
			if !fetches[i].Found || (c.Bound() && m.Target != c.Program) {
				out.NotFound = append(out.NotFound, id)
				continue
			}
			out.Acked = append(out.Acked, id)
			if m.Ack(now) {
				messages.Put(tx, id, m)
			}
		}
		return nil
	})
	return out, err
}
