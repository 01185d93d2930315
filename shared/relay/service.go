package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Directory lists the programs that the keys of a user speak for. A recipient that is not among them is accepted with
// a warning.
type Directory interface {
	Programs(ctx context.Context, user string) ([]string, error)
}

// Presence knows the live sessions of a user.
type Presence interface {
	// Programs lists the programs that have one: the recipients of a message to all.
	Programs(ctx context.Context, user string) ([]string, error)
	// Sessions lists the addresses of those of a program: the recipients of a message to each.
	Sessions(ctx context.Context, user, program string) ([]string, error)
	// SessionLive reports whether the session of an address is live. Its reads are part of a transaction.
	SessionLive(ctx context.Context, r store.Reader, address string) (bool, error)
}

// Service is the mail of all users.
type Service struct {
	DB        *store.DB
	Directory Directory
	// Live knows the live sessions; nil means that there are none.
	Live  Presence
	Now   func() time.Time
	NewID func() string
}

const (
	// defaultTTL is the lifetime of an unread message of the system, in seconds.
	defaultTTL = 86_400
	// maxName is the length of the longest name of a program, in characters.
	maxName = 100
	// system is the source of Parley's own messages. No key may send as it.
	system = "parley"
)

// Send puts a message into the inbox of a program, or a copy into that of each recipient of a group or of all.
//
// The source is Forbidden where the caller may not speak as it. A target that stands for several programs is NotFound
// where the group does not exist, and fails with Precondition where it has no member but the sender or more recipients
// than one transaction can write. A program that no key speaks for is accepted, with a warning. A message to a session
// that is not live goes to the inbox of its program. With an idempotency key a repeated call returns the first result.
func (s *Service) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	var out SendOutput
	source, verified, err := c.SpeaksAs(in.Source)
	if err != nil {
		return out, err
	}
	if identity.Same(strings.TrimSpace(source), system) {
		return out, fault.New(
			fault.Forbidden,
			"%q is the source of Parley's own messages and no key may send as it; name another source",
			source,
		)
	}
	programs, err := s.Directory.Programs(ctx, c.User)
	if err != nil {
		return out, err
	}
	source, _ = identity.Among(programs, source)
	program, session := identity.SplitAddress(in.Target)
	program, _ = identity.Among(programs, program)
	target := identity.Address(program, session)
	if session == "" {
		target = program
	}
	now, id := s.Now(), s.NewID()
	m := in.message(c, source, verified)
	several := in.Target == all || strings.HasPrefix(in.Target, groupPrefix)
	m.Stray = !several && stray(programs, program)
	m.Post(target, now, time.Duration(in.TTL)*time.Second)
	each := in.Delivery == deliveryEach
	switch {
	case each && (several || session != ""):
		return out, fault.Field("delivery", "each goes with a program as the target: it reaches every live session of it")
	case len(in.Target) > len(groupPrefix)+maxName && several:
		return out, fault.Field("target", "the name of a group has at most %d characters", maxName)
	case several:
		return s.multicast(ctx, c, in, id, m, programs)
	case utf8.RuneCountInString(program) > maxName:
		return out, fault.Field("target", "the name of a program has at most %d characters", maxName)
	case each:
		sessions, err := s.sessions(ctx, c, program, in.SessionID)
		if err != nil {
			return out, err
		}
		if len(sessions) > 0 {
			return s.multicast(ctx, c, in, id, m, sessions)
		}
	}
	warning := identity.Unknown(programs, waits, program)
	if each && warning == "" {
		warning = fmt.Sprintf("%q has no live session but the sender's; the message is in its own inbox", program)
	}
	return s.sendOne(ctx, c, in, id, m, warning)
}

// message returns the message of the input, which is not posted yet.
func (in *SendInput) message(c identity.Caller, source string, verified bool) Message {
	return Message{
		Source:     source,
		Verified:   verified,
		Sender:     c.Owner(),
		Text:       in.Message,
		Type:       in.MessageType,
		Priority:   in.Priority,
		Action:     in.Action,
		Context:    in.Context,
		SessionID:  in.SessionID,
		ReplyTo:    in.ReplyTo,
		ThreadID:   in.ThreadID,
		Provenance: in.Provenance,
	}
}

// sendOne stores a message for one program, or for one of its sessions. If that session is not live, the message goes to
// the inbox of the program, with a warning.
func (s *Service) sendOne(ctx context.Context, c identity.Caller, in SendInput, id string, m Message, warning string) (
	SendOutput, error,
) {
	write := func(ctx context.Context, tx *store.Tx) (SendOutput, error) {
		m, warning := m, warning
		if program, session := identity.SplitAddress(m.Target); session != "" {
			live, err := s.sessionLive(ctx, tx, m.Target)
			if err != nil {
				return SendOutput{}, err
			}
			if !live {
				warning = cmp.Or(warning, fmt.Sprintf("%s is no live session; the message is in the inbox of %q", m.Target,
					program))
				m.forward()
			}
		}
		messages.Create(tx, id, m)
		return SendOutput{
			MessageID: id,
			Source:    m.Source,
			Verified:  m.Verified,
			Target:    m.Target,
			CreatedAt: m.CreatedAt,
			ExpiresAt: m.ExpiresAt,
			Warning:   warning,
		}, nil
	}
	return idempotency.Update(ctx, s.DB.User(c.User), in, m.CreatedAt, write)
}

func (s *Service) sessionLive(ctx context.Context, r store.Reader, address string) (bool, error) {
	if s.Live == nil {
		return false, nil
	}
	return s.Live.SessionLive(ctx, r, address)
}

// sessions returns the addresses of the live sessions of a program, without that of the sender.
func (s *Service) sessions(ctx context.Context, c identity.Caller, program, sender string) ([]string, error) {
	if s.Live == nil {
		return nil, nil
	}
	all, err := s.Live.Sessions(ctx, c.User, program)
	if c.Bound() && !identity.Same(c.Program, program) {
		return all, err
	}
	return slices.DeleteFunc(all, func(address string) bool {
		return identity.SameSession(program, address, sender)
	}), err
}

// Tell sends a program a STATUS message from the system itself, under the given id. Sending it again under the same id
// has no effect and returns no error.
func (s *Service) Tell(ctx context.Context, user, id, program, text string) error {
	now := s.Now()
	err := s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		s.Notify(tx, id, program, text, now)
		return nil
	})
	if fault.Is(err, fault.Exists) {
		return nil
	}
	return err
}

// Notify does the same as [Service.Tell] as part of a transaction. An id that a message has fails the transaction with
// Exists.
func (*Service) Notify(tx *store.Tx, id, program, text string, now time.Time) {
	m := Message{Source: system, Verified: true, Text: text, Type: "STATUS", Priority: task.Normal}
	m.Post(program, now, defaultTTL*time.Second)
	messages.Create(tx, id, m)
}

// waits is the consequence of an unknown recipient, for a warning.
const waits = "; the message waits until one reads it"

// inboxes returns the targets whose mail a caller reads. A target that is a session's address is that session's inbox
// alone. Otherwise it is the inbox of a program: the target, or the caller's program, or that of the session; and that of
// the session beside it. A key bound to a program may read the mail of that program only; another target is Forbidden.
func inboxes(c identity.Caller, target, sessionID string) ([]string, error) {
	if target == "" && !c.Bound() {
		if target, _, _ = strings.Cut(sessionID, "/"); target == sessionID {
			target, _, _ = strings.Cut(sessionID, ".")
		}
		if target == "" {
			return nil, fault.Field(
				"target",
				"is required: this key is bound to no program; name the program whose messages you read, or give "+
					"a sessionId",
			)
		}
	}
	program, session := identity.SplitAddress(target)
	program, _, err := c.SpeaksAs(program)
	if err != nil {
		return nil, err
	}
	address := identity.Address(program, sessionID)
	if owner, _ := identity.SplitAddress(address); sessionID != "" && !identity.Same(owner, program) {
		return nil, fault.New(fault.Forbidden, "the session %s is not of %q, whose mail you want to read", sessionID, program)
	}
	switch {
	case session == "" && sessionID == "":
		return []string{program}, nil
	case session == "":
		return []string{program, address}, nil
	case c.IsHuman() || identity.Same(address, program+"/"+session):
		return []string{program + "/" + session}, nil
	}
	return nil, fault.New(fault.Forbidden, "a session reads its own mail and that of its program, not that of %s; this call "+
		"belongs to %s", target, cmp.Or(address, "no session"))
}

// Get returns the messages of an inbox that are due, by priority and age, and marks them as delivered unless MarkAsRead
// is false or the caller may not write. With WaitMs it waits for a first message. With IncludeDelivered it returns a
// page of the history instead, oldest first, and marks nothing; a cursor is Invalid otherwise.
//
// The marked messages become unread again if the answer does not reach the caller. With Confirm the caller gets a
// receipt, and the messages count as delivered once a later call passes it; without the receipt they come again after
// [Redeliver].
func (s *Service) Get(ctx context.Context, c identity.Caller, in GetInput) (GetOutput, error) {
	out := GetOutput{Messages: []View{}}
	targets, err := inboxes(c, in.Target, in.SessionID)
	if err != nil {
		return out, err
	}
	from := boxesOf(targets, in.MessageType, string(in.Priority), in.ThreadID)
	if in.IncludeDelivered {
		if in.Confirm || in.Receipt != "" {
			return out, fault.Field("includeDelivered", "marks nothing, so it goes without confirm and receipt; "+
				"confirm with a read of what waits")
		}
		return s.history(ctx, c, from, in)
	}
	if in.Cursor != "" {
		return out, fault.Field(
			"cursor",
			"goes with includeDelivered alone: an inbox is read by what waits in it, so the next call brings the "+
				"next messages",
		)
	}
	return s.consume(ctx, c, from, in)
}

// history returns a page of a box by age, delivered messages included.
func (s *Service) history(ctx context.Context, c identity.Caller, from store.Cond, in GetInput) (GetOutput, error) {
	out := GetOutput{Messages: []View{}}
	page, err := messages.Query(ctx, s.DB.User(c.User), store.Query{Where: []store.Cond{from},
		Order: []string{"createdAt"}, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	now := s.Now()
	for _, d := range page.Docs {
		// A message that expired unread is among the dead letters only.
		if m := d.Value; m.Deliveries > 0 || (m.State != Dead && !m.Lapsed(now)) {
			out.Messages = append(out.Messages, view(d.ID, m))
		}
	}
	return out, nil
}

// DeadLetters returns a page of the dead letters, newest first. A person sees all, and a key that is bound to a program
// those that the program sent or should have received. A key that is bound to none sees those that it sent itself, and
// those for names that no key is bound to, so that a page of its may be short.
func (s *Service) DeadLetters(ctx context.Context, c identity.Caller, in DeadInput) (DeadOutput, error) {
	out := DeadOutput{Messages: []DeadLetter{}}
	whose := store.Contains("dead", everyone)
	if c.Bound() && !c.IsHuman() {
		whose = deadFor(c.Program)
	}
	page, err := messages.Query(ctx, s.DB.User(c.User), store.Query{Where: []store.Cond{whose},
		Order: []string{"diedAt desc"}, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	for _, d := range page.Docs {
		if program, _ := identity.SplitAddress(d.Value.Target); !d.Value.Sender.Is(c) && c.MayName(program) != nil {
			continue
		}
		out.Messages = append(
			out.Messages,
			DeadLetter{View: view(d.ID, d.Value), Reason: d.Value.Reason(), DiedAt: d.Value.DiedAt},
		)
	}
	return out, nil
}

// load reads messages together. A missing one is nil.
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

// mayRead reports whether the caller may read the mail of a program or a session. A call that belongs to a session may
// not read that of another.
func mayRead(c identity.Caller, target string) bool {
	program, session := identity.SplitAddress(target)
	_, _, err := c.SpeaksAs(program)
	own := session == "" || c.IsHuman() || c.Session == "" || identity.SameSession(program, c.Session, target)
	return err == nil && own
}

// Ack acknowledges messages. Ids of messages that do not exist or are not the caller's are returned in NotFound.
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
			if m == nil || !mayRead(c, m.Target) {
				out.NotFound = append(out.NotFound, id)
				continue
			}
			out.Acked = append(out.Acked, id)
			if m.Ack(now) {
				messages.SameText().Put(tx, id, *m)
			}
		}
		return nil
	})
	return out, err
}
