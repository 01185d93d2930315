package files

import (
	"context"
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Break ends a reservation of another holder, which is told by mail. A person may do so always, an agent once there has
// been no sign of the holder for [Silence], and is Forbidden before.
func (s *Service) Break(ctx context.Context, c identity.Caller, in BreakInput) (BreakOutput, error) {
	var out BreakOutput
	id, token, ok := readID(in.ReservationID)
	if !ok {
		return out, errMissing(in.ReservationID)
	}
	now, noticeID, me := s.Now(), s.NewID(), holderOf(c, in.SessionID)
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.read(ctx, tx, id, now)
		if err != nil {
			return err
		}
		h := b.find(token)
		if h == nil {
			return errMissing(in.ReservationID)
		}
		if !c.IsHuman() && !h.Holder.same(me) {
			if err := s.silent(ctx, tx, c, h, now); err != nil {
				return err
			}
		}
		broken := *h
		b.remove(func(r *Reservation) bool { return r.Token == token })
		if box := broken.Holder.Program; s.Mail != nil && identity.ValidName(box) && !broken.Holder.same(me) {
			s.Mail.Notify(tx, noticeID, box, brokenText(&broken, b.Project, c, in.Reason), now)
			out.Told = box
		}
		if !broken.Holder.same(me) {
			incidents.Put(tx, noticeID, broke(b.Project, &broken, me, in.Reason, now))
		}
		out.Broken = view(id, broken)
		write(tx, b)
		return nil
	})
	return out, err
}

// silent returns Forbidden if there was a sign of a reservation's holder within [Silence]: of its session, or else a call
// that took or renewed the reservation.
func (s *Service) silent(ctx context.Context, r store.Reader, c identity.Caller, h *Reservation, now time.Time) error {
	heard := h.heard()
	if h.Holder.Session != "" && s.Sessions != nil {
		fetches, read := s.Sessions.Life(h.Program, h.Session)
		if err := store.Load(ctx, r, fetches...); err != nil {
			return err
		}
		ended, at := read()
		if ended {
			return nil
		}
		if at.After(heard) {
			heard = at
		}
	}
	if now.Sub(heard) >= Silence {
		return nil
	}
	return fault.New(fault.Forbidden, "%s, and was last heard of at %s: an agent may break a reservation when its holder has "+
		"been silent for %d minutes, a human always; %s", h.text(), heard.Format(time.RFC3339), int(Silence/time.Minute), c)
}

// brokenText returns the message to the holder of a broken reservation.
func brokenText(r *Reservation, project string, c identity.Caller, reason string) string {
	text := fmt.Sprintf("Your reservation of %s in %s was broken by %s. Another may edit these files now: look at their "+
		"state before you go on, and reserve them again.", r.Pattern, project, c.Actor())
	if r.Holder.Session != "" {
		text += fmt.Sprintf(" It was that of your session %s.", r.Holder.Session)
	}
	if reason != "" {
		text += fmt.Sprintf(" The reason given: %q.", reason)
	}
	return text
}
