package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// boardOf returns the board of a call that gives ids of reservations, a project, or both. Ids of several projects are
// Invalid; ids that no reservation can have are returned as missing.
func boardOf(project string, ids []string) (board string, tokens []int64, missing []string, err error) {
	if project != "" {
		if project, err = projectOf(project); err != nil {
			return "", nil, nil, err
		}
		board = boardID(project)
	}
	for i, id := range ids {
		of, token, ok := readID(id)
		switch {
		case !ok:
			missing = append(missing, id)
			continue
		case board == "":
			board = of
		case of != board:
			return "", nil, nil, fault.Field(fmt.Sprintf("reservationIds[%d]", i), "is of another project than the rest")
		}
		tokens = append(tokens, token)
	}
	if board == "" && len(ids) == 0 {
		err = fault.Field("project", "is required unless reservationIds are given")
	}
	return board, tokens, missing, err
}

// mayEnd returns Forbidden if the caller may not renew or release a reservation: it is neither its holder nor a person.
func mayEnd(c identity.Caller, me Holder, r *Reservation, id string) error {
	if c.IsHuman() || r.Holder.same(me) {
		return nil
	}
	return fault.New(fault.Forbidden, "the reservation %s of %s is held by %s; %s: only its holder may renew or release it, "+
		"with the sessionId that it was reserved with, or a human", id, r.Pattern, r.who(), c)
}

// choose returns which of the ids are reservations that the caller may end, and adds the others to missing.
func (s *stand) choose(c identity.Caller, me Holder, tokens []int64, missing []string) (chosen, lost []string, err error) {
	for _, token := range tokens {
		id := reservationID(s.id, token)
		h := s.find(token)
		if h == nil {
			missing = append(missing, id)
			continue
		}
		if err := mayEnd(c, me, h, id); err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, id)
	}
	return chosen, missing, nil
}

// Release ends reservations: those with the given ids, else those of the caller with the given paths or task, else all
// of the caller's in the project. Ids and paths of none are returned. A reservation of another holder is Forbidden.
func (s *Service) Release(ctx context.Context, c identity.Caller, in ReleaseInput) (ReleaseOutput, error) {
	id, tokens, missing, err := boardOf(in.Project, in.ReservationIDs)
	if err != nil {
		return ReleaseOutput{}, err
	}
	patterns, err := normalWhole(in.Paths)
	if err != nil {
		return ReleaseOutput{}, err
	}
	out := ReleaseOutput{Released: []View{}, NotFound: missing}
	if id == "" {
		return out, nil
	}
	now, me := s.Now(), holderOf(c, in.SessionID)
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = ReleaseOutput{Released: []View{}}
		b, err := s.read(ctx, tx, id, now)
		if err != nil {
			return err
		}
		chosen, lost, err := b.choose(c, me, tokens, slices.Clone(missing))
		if err != nil {
			return err
		}
		ended := b.remove(func(r *Reservation) bool {
			switch {
			case len(in.ReservationIDs) > 0:
				return slices.Contains(chosen, reservationID(id, r.Token))
			case !r.Holder.same(me):
				return false
			case len(patterns) > 0:
				return slices.Contains(patterns, r.Pattern)
			case in.TaskID != "":
				return r.TaskID == in.TaskID
			}
			return true
		})
		for _, r := range ended {
			out.Released = append(out.Released, view(id, r))
		}
		for i, p := range patterns {
			if !slices.ContainsFunc(ended, func(r Reservation) bool { return r.Pattern == p }) {
				lost = append(lost, in.Paths[i])
			}
		}
		if out.NotFound = lost; len(ended) > 0 {
			write(tx, b)
		}
		return nil
	})
	return out, err
}

// normalWhole returns the normal form of each pattern.
func normalWhole(paths []string) ([]string, error) {
	if _, err := normal(paths); err != nil {
		return nil, err
	}
	out := make([]string, len(paths))
	for i, text := range paths {
		p, err := glob.Parse(text, false)
		if err != nil {
			return nil, err
		}
		out[i] = p.String()
	}
	return out, nil
}

// Renew extends the leases of the reservations with the given ids, else of all of the caller's in the project, by the
// time that each was reserved for. Ids of none are returned. A reservation of another holder is Forbidden.
func (s *Service) Renew(ctx context.Context, c identity.Caller, in RenewInput) (RenewOutput, error) {
	out := RenewOutput{Renewed: []Renewed{}}
	id, tokens, missing, err := boardOf(in.Project, in.ReservationIDs)
	if err != nil || id == "" {
		out.NotFound = missing
		return out, err
	}
	now, me := s.Now(), holderOf(c, in.SessionID)
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = RenewOutput{Renewed: []Renewed{}}
		var b Board
		var l Renewals
		if err := store.Load(ctx, tx, boards.Fetch(id, &b), renewals.Fetch(id, &l)); err != nil {
			return err
		}
		stored, err := open(b, nil, Settings{}, id, now)
		if err != nil {
			return err
		}
		st, err := open(b, l.Later, Settings{}, id, now)
		if err != nil {
			return err
		}
		chosen, lost, err := st.choose(c, me, tokens, slices.Clone(missing))
		if err != nil {
			return err
		}
		out.NotFound = lost
		later := false
		for i := range st.Reservations {
			r := &st.Reservations[i]
			if len(in.ReservationIDs) > 0 && !slices.Contains(chosen, reservationID(id, r.Token)) ||
				len(in.ReservationIDs) == 0 && !r.Holder.same(me) {
				continue
			}
			later = r.renew(now) || later
			out.Renewed = append(out.Renewed, Renewed{reservationID(id, r.Token), r.Pattern, r.Until})
		}
		if later {
			renewals.Put(tx, id, st.later(stored))
		}
		return nil
	})
	return out, err
}

// renew extends the lease, unless that would add less than [RenewEvery], and reports whether it did.
func (r *Reservation) renew(now time.Time) bool {
	until := now.Add(time.Duration(r.Lease) * time.Second)
	if until.Sub(r.Until) < min(RenewEvery, time.Duration(r.Lease)*time.Second/2) {
		return false
	}
	r.Until = until
	return true
}

// later returns the renewals to store: the ends that differ from those of the board's document.
func (s *stand) later(stored *stand) Renewals {
	out := Renewals{PurgeAt: s.now.Add(Retention)}
	for _, r := range s.Reservations {
		if before := stored.find(r.Token); before == nil || before.Until.Before(r.Until) {
			out.Later = append(out.Later, Renewal{r.Token, r.Until})
		}
	}
	return out
}
