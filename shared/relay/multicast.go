package relay

import (
	"cmp"
	"context"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

const (
	// maxRecipients is the number of copies that one transaction can write.
	maxRecipients = store.MaxWrites
	// maxSending bounds the size of all copies together, in bytes; copyCost is the size of a copy without its texts,
	// index entries included. Firestore limits a commit to 10 MiB.
	maxSending = 9 << 20
	copyCost   = 10 << 10
	// shownGroups is the number of groups that the fault of a missing group lists.
	shownGroups = 20
)

// multicast sends a copy of m to each recipient of the target, in one transaction. The known programs are those that
// need no warning; where the target is all, they are those with a live session. With the delivery "each" known are the
// recipients themselves.
func (s *Service) multicast(
	ctx context.Context,
	c identity.Caller,
	in SendInput,
	id string,
	m Message,
	known []string,
) (SendOutput, error) {
	if in.Target == all {
		var err error
		if known, err = s.live(ctx, c.User); err != nil {
			return SendOutput{}, err
		}
	}
	room := maxRecipients
	if in.Key() != "" {
		room-- // for the record of the key
	}
	m.MulticastID = id
	copies := func(ctx context.Context, tx *store.Tx) (SendOutput, error) {
		out := SendOutput{
			MessageID:   id,
			MulticastID: id,
			Source:      m.Source,
			Verified:    m.Verified,
			Target:      in.Target,
			CreatedAt:   m.CreatedAt,
			ExpiresAt:   m.ExpiresAt,
		}
		to := known
		if in.Delivery != deliveryEach {
			var err error
			if to, err = recipients(ctx, tx, in.Target, m.Source, known); err != nil {
				return out, err
			}
			out.Warning = identity.Unknown(known, waits, to...)
		}
		if err := fits(m, in.Target, len(to), room); err != nil {
			return out, err
		}
		out.Recipients = len(to)
		for _, program := range to {
			copied := m
			name, _ := identity.SplitAddress(program)
			copied.Stray = stray(known, name)
			copied.Post(program, m.CreatedAt, m.ExpiresAt.Sub(m.CreatedAt))
			out.MessageIDs = append(out.MessageIDs, copyID(id, program))
			messages.Create(tx, copyID(id, program), copied)
		}
		return out, nil
	}
	return idempotency.Update(ctx, s.DB.User(c.User), in, m.CreatedAt, copies)
}

// fits returns Precondition if n copies of a message are too many for one transaction, with room for so many, or too long.
func fits(m Message, target string, n, room int) error {
	if n > room {
		return fault.New(
			fault.Precondition,
			"%s reaches %d programs, and one call at most %d; make groups of them with set_group",
			target,
			n,
			room,
		)
	}
	if n*(len(m.Text)+len(m.Context)+copyCost) > maxSending {
		return fault.New(
			fault.Precondition,
			"the message is too long for %d recipients at once; shorten it, or send it to smaller groups",
			n,
		)
	}
	return nil
}

// live returns the programs with a live session.
func (s *Service) live(ctx context.Context, user string) ([]string, error) {
	if s.Live == nil {
		return nil, nil
	}
	return s.Live.Programs(ctx, user)
}

// recipients returns the programs that a target stands for, sorted and without the sender. A group is read in the
// transaction that sends, so that a message never goes to members from both before and after a change.
func recipients(ctx context.Context, tx *store.Tx, target, sender string, live []string) ([]string, error) {
	if target == all {
		to := withoutSender(live, sender)
		if len(to) == 0 {
			return nil, fault.New(
				fault.Precondition,
				"all reaches the programs with a live session, and there is none but the sender's; name a program",
			)
		}
		return to, nil
	}
	name := strings.TrimPrefix(target, groupPrefix)
	g, _, found, err := loadGroup(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, noGroup(ctx, tx, name)
	}
	to := withoutSender(g.Members, sender)
	if len(to) == 0 {
		return nil, fault.New(
			fault.Precondition,
			"the group %s has no member but the sender; add others with set_group",
			name,
		)
	}
	return to, nil
}

// noGroup returns the NotFound fault of a group that does not exist. Its message lists existing groups.
func noGroup(ctx context.Context, tx *store.Tx, name string) error {
	page, err := groups.Query(ctx, tx, store.Query{Limit: shownGroups})
	if err != nil {
		return err
	}
	if len(page.Docs) == 0 {
		return fault.New(
			fault.NotFound,
			"no group named %q, nor any other; make it with set_group, or name a program",
			name,
		)
	}
	names := make([]string, len(page.Docs))
	for i, d := range page.Docs {
		names[i] = cmp.Or(d.Value.Name, d.ID)
	}
	more := ""
	if page.Next != "" {
		more = " and more, see list_groups"
	}
	return fault.New(fault.NotFound, "no group named %q; there are %s%s", name, strings.Join(names, ", "), more)
}

// SetGroup replaces the members of a group, which it creates where it does not exist. An empty list from its maker or a
// human removes the group. A program may also leave the group of another, and join it if it is open; other changes are
// Forbidden. Members that no key speaks for are accepted, with a warning.
func (s *Service) SetGroup(ctx context.Context, c identity.Caller, in SetGroupInput) (SetGroupOutput, error) {
	var out SetGroupOutput
	members, now := distinct(in.Members), s.Now()
	programs, err := s.Directory.Programs(ctx, c.User)
	if err != nil {
		return out, err
	}
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		g, id, found, err := loadGroup(ctx, tx, in.Name)
		if err != nil {
			return err
		}
		if !found {
			g = Group{Name: in.Name, Maker: c.Owner()}
		} else if err := g.mayChange(c, in, members); err != nil {
			return err
		}
		if in.Open != nil {
			g.Open = *in.Open
		}
		g.replace(members)
		g.UpdatedAt = now
		out = SetGroupOutput{
			GroupView: GroupView{Name: cmp.Or(g.Name, in.Name), Members: g.Members, Open: g.Open, UpdatedAt: now},
			Removed:   len(members) == 0 && g.Maker.Is(c),
			Warning:   identity.Unknown(programs, "", g.Members...),
		}
		if out.Removed {
			groups.Delete(tx, id)
			return nil
		}
		groups.Put(tx, id, g)
		return nil
	})
	return out, err
}

// ListGroups returns a page of the groups, by name.
func (s *Service) ListGroups(ctx context.Context, c identity.Caller, in ListGroupsInput) (ListGroupsOutput, error) {
	out := ListGroupsOutput{Groups: []GroupView{}}
	page, err := groups.Query(ctx, s.DB.User(c.User), store.Query{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	for _, d := range page.Docs {
		out.Groups = append(out.Groups, GroupView{Name: cmp.Or(d.Value.Name, d.ID), Members: d.Value.Members,
			Open: d.Value.Open, UpdatedAt: d.Value.UpdatedAt})
	}
	return out, nil
}
