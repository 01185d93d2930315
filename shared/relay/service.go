package relay

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Directory knows the programs of a user, for the warning about a recipient that
// nobody is.
type Directory interface {
	Programs(ctx context.Context, user string) ([]string, error)
}

// Presence knows the programs of a user with a live session, whom a message to
// all reaches.
type Presence interface {
	Programs(ctx context.Context, user string) ([]string, error)
}

// Service is the mail of all users.
type Service struct {
	DB        *store.DB
	Directory Directory
	// Live is who is there; nil means that nobody is.
	Live  Presence
	Now   func() time.Time
	NewID func() string
}

const (
	// defaultTTL is how many seconds an unread message is wanted.
	defaultTTL = 86_400
	// maxName is the longest name of a program.
	maxName = 100
	// system is the source of what Parley itself says. No key sends as that.
	system = "parley"
)

// Send puts a message into a program's inbox, or a copy into each of many.
func (s *Service) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	var out SendOutput
	source, verified, err := c.SpeaksAs(in.Source)
	if err != nil {
		return out, err
	}
	if strings.EqualFold(strings.TrimSpace(source), system) {
		return out, fault.New(fault.Forbidden, "%q is the source of what the system itself says, and no key sends as that; name another source", source)
	}
	now, id := s.Now(), s.NewID()
	ttl := time.Duration(in.TTL) * time.Second
	m := Message{Source: source, Verified: verified, Text: in.Message, Type: in.MessageType, Priority: in.Priority, Action: in.Action,
		Context: in.Context, SessionID: in.SessionID, ReplyTo: in.ReplyTo, ThreadID: in.ThreadID, Provenance: in.Provenance}
	m.Post(in.Target, now, ttl)
	if in.Target == all || strings.HasPrefix(in.Target, groupPrefix) {
		return s.multicast(ctx, c, in, id, m)
	}
	if utf8.RuneCountInString(in.Target) > maxName {
		return out, fault.Field("target", "the name of a program has at most %d characters", maxName)
	}
	programs, err := s.Directory.Programs(ctx, c.User)
	if err != nil {
		return out, err
	}
	warning := unknown(programs, in.Target)
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (SendOutput, error) {
		messages.Create(tx, id, m)
		return SendOutput{MessageID: id, Source: source, Verified: verified, Target: m.Target, CreatedAt: now, ExpiresAt: m.ExpiresAt, Warning: warning}, nil
	})
}

// Tell sends a program a STATUS message from the system itself. The id is the
// message's: telling it again is harmless.
func (s *Service) Tell(ctx context.Context, user, id, program, text string) error {
	m := Message{Source: system, Verified: true, Text: text, Type: "STATUS", Priority: task.Normal}
	m.Post(program, s.Now(), defaultTTL*time.Second)
	err := s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		messages.Create(tx, id, m)
		return nil
	})
	if fault.Is(err, fault.Exists) {
		return nil
	}
	return err
}

// unknown is the warning about recipients that no key speaks for, empty where
// there are none.
func unknown(programs []string, targets ...string) string {
	return stranger(programs, "; the message waits until one reads it", targets)
}

// stranger is the warning with what follows from it.
func stranger(programs []string, so string, targets []string) string {
	var strange []string
	for _, t := range targets {
		if !slices.Contains(programs, t) {
			strange = append(strange, strconv.Quote(t))
		}
	}
	if len(strange) == 0 {
		return ""
	}
	warning := fmt.Sprintf("no program named %s is known", strings.Join(strange, ", ")) + so
	if len(programs) > 0 {
		warning += ". Known: " + strings.Join(programs, ", ")
	}
	return warning
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
	from := box(target, in.MessageType, string(in.Priority), in.ThreadID)
	if in.IncludeDelivered {
		return s.history(ctx, c, from, in)
	}
	if in.Cursor != "" {
		return out, fault.Field("cursor", "goes with includeDelivered alone: an inbox is read by what waits in it, so the next call brings the next messages")
	}
	mark := *in.MarkAsRead && c.CanWrite()
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
		views = []View{}
		waiting := func(ctx context.Context, r store.Reader) (bool, error) {
			page, err := messages.Query(ctx, r, due(from, now, 1))
			return len(page.Docs) > 0, err
		}
		err = t.Consume(ctx, waiting, func(ctx context.Context, tx *store.Tx) error {
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

// DeadLetters reads a page of what died, newest first: to a program's key what
// that program sent or was to get, to others all.
func (s *Service) DeadLetters(ctx context.Context, c identity.Caller, in DeadInput) (DeadOutput, error) {
	out := DeadOutput{Messages: []DeadLetter{}}
	whose := everyone
	if c.Bound() && !c.IsHuman() {
		whose = c.Program
	}
	page, err := messages.Query(ctx, s.DB.User(c.User), store.Query{Where: []store.Cond{store.Contains("dead", whose)},
		Order: []string{"diedAt desc"}, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	for _, d := range page.Docs {
		out.Messages = append(out.Messages, DeadLetter{View: view(d.ID, d.Value), Reason: d.Value.Reason(), DiedAt: d.Value.DiedAt})
	}
	return out, nil
}

// load reads messages at once, nil for one that is missing.
func load(ctx context.Context, r store.Reader, ids []string) ([]*Message, error) {
	found := make([]*Message, len(ids))
	fetches := make([]*store.Fetch, len(ids))
	for i, id := range ids {
		found[i] = new(Message)
		fetches[i] = messages.Fetch(id, found[i])
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return nil, err
	}
	for i, f := range fetches {
		if !f.Found {
			found[i] = nil
		}
	}
	return found, nil
}

// Ack acknowledges messages. Those that are not the caller's are told as not found.
func (s *Service) Ack(ctx context.Context, c identity.Caller, in AckInput) (AckOutput, error) {
	var out AckOutput
	now := s.Now()
	slices.Sort(in.MessageIDs)
	ids := slices.Compact(in.MessageIDs)
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = AckOutput{Acked: []string{}, NotFound: []string{}}
		found, err := load(ctx, tx, ids)
		if err != nil {
			return err
		}
		for i, id := range ids {
			m := found[i]
			if m == nil || (c.Bound() && m.Target != c.Program) {
				out.NotFound = append(out.NotFound, id)
				continue
			}
			out.Acked = append(out.Acked, id)
			if m.Ack(now) {
				messages.Put(tx, id, *m)
			}
		}
		return nil
	})
	return out, err
}
