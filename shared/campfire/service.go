package campfire

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Service has the operations on the fires of all users. Its methods may be called concurrently.
//
// Methods that take a name return [fault.Forbidden] if the caller may not speak under it, and [fault.Invalid] if it
// is too long or not one line of printable characters; see [identity.Caller.Character]. Methods that read or change a
// fire return [fault.NotFound] if the user has none with that id. Texts are trimmed; an empty one is [fault.Invalid].
// Methods whose input has an idempotency key return the first result if they are called again with the same key.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Keep is the time for which a fire is kept after its last word or change, 0 for ever.
	Keep time.Duration
}

// Ping returns a message with the current time.
func (s *Service) Ping(context.Context, identity.Caller, NoInput) (Said, error) {
	return Said{"pong @ " + s.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " (parley)"}, nil
}

// Echo returns the message of its input unchanged.
func (s *Service) Echo(_ context.Context, _ identity.Caller, in EchoInput) (Said, error) {
	_, err := trim("message", "message", in.Message)
	return Said(in), err
}

// load reads a fire from the store. A duel in it may be overdue.
func load(ctx context.Context, r store.Reader, id string) (Fire, error) {
	var f Fire
	fetch := fires.Fetch(id, &f)
	if err := store.Load(ctx, r, fetch); err != nil {
		return f, err
	}
	if !fetch.Found {
		return f, errMissing(id)
	}
	return f, nil
}

// change describes a call that may change a fire.
type change struct {
	op.Idempotency // the caller's key; empty for a change that cannot happen twice
	fire           string
	now            time.Time
	// create makes a missing fire. readOnly marks a call that does not change an existing one.
	create, readOnly bool
}

// apply runs an event on a fire in a transaction. A failed event must have changed and written nothing. An overdue
// duel ends before the event, and its end is recorded even if the event then fails. A failed call with an idempotency
// key leaves the record to the next call, because its transaction would also store the failure as a result.
func apply[O any](
	ctx context.Context, s *Service, c identity.Caller, ch change, event func(*store.Tx, *Fire) (O, error),
) (O, error) {
	if !ch.readOnly {
		ctx = store.InTurn(ctx, fires.Name+"/"+ch.fire) // each message changes the number in the fire
	}
	var refused error
	out, err := idempotency.Update(ctx, s.DB.User(c.User), ch, ch.now,
		func(ctx context.Context, tx *store.Tx) (out O, err error) {
			refused = nil
			f, err := load(ctx, tx, ch.fire)
			made := ch.create && fault.Is(err, fault.NotFound)
			if made {
				f, err = Fire{ID: ch.fire, CreatedAt: ch.now}, nil
			}
			if err != nil {
				return out, err
			}
			lapsed := f.Lapse(ch.now)
			if out, err = event(tx, &f); err != nil {
				if lapsed == nil || ch.Key() != "" {
					return out, err
				}
				refused = err
			}
			if made || lapsed != nil || !ch.readOnly {
				f.touch(ch.now, s.Keep)
				fires.Put(tx, f.ID, f)
			}
			if lapsed != nil {
				record(tx, *lapsed)
			}
			return out, nil
		})
	if err == nil {
		err = refused
	}
	return out, err
}

// record stores a duel that has ended.
func record(tx *store.Tx, e Ended) { duels.Under(e.FireID).Create(tx, docID(e.Number), e) }

// GetOrCreate returns a fire, and creates it if it is missing.
func (s *Service) GetOrCreate(ctx context.Context, c identity.Caller, in FireInput) (FireOutput, error) {
	ch := change{Idempotency: in.Idempotency, fire: in.FireID, now: s.Now(), create: true, readOnly: true}
	return apply(ctx, s, c, ch, func(_ *store.Tx, f *Fire) (FireOutput, error) {
		return FireOutput{f.ID, f.CreatedAt}, nil
	})
}

// Post adds a message to a fire. It returns [fault.Precondition] while a duel stands.
func (s *Service) Post(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	text, err := trim("text", "message", in.Text)
	if err != nil {
		return PostOutput{}, err
	}
	by, err := optionalVoice(c, "author", in.Author)
	if err != nil {
		return PostOutput{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{Idempotency: in.Idempotency, fire: in.FireID, now: now},
		func(tx *store.Tx, f *Fire) (PostOutput, error) {
			m, err := f.Post(by, text, now)
			if err != nil {
				return PostOutput{}, err
			}
			messages.Under(f.ID).Create(tx, docID(m.Seq), m)
			return PostOutput{FireID: f.ID, Seq: m.Seq, Author: m.Author, Verified: m.Verified, CreatedAt: now}, nil
		})
}

// Speak is [Service.Post] under the name of another operation.
func (s *Service) Speak(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	return s.Post(ctx, c, in)
}

// position returns the number in a cursor, or none if the cursor is empty.
func position(cursor string, none int64) (int64, error) {
	if cursor == "" {
		return none, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, errCursor()
	}
	return n, nil
}

func errCursor() error {
	return fault.Field("cursor",
		"does not belong to this fire: use the nextCursor of an earlier answer, or leave it out to start at the "+
			"beginning")
}

// Messages returns a page of the messages after a cursor, the oldest first. If there is none, it waits for the first
// one for at most WaitMs. The next cursor is valid also if the page is empty. A cursor that the fire never gave is
// [fault.Invalid].
func (s *Service) Messages(ctx context.Context, c identity.Caller, in MessagesInput) (MessagesOutput, error) {
	after, err := position(in.Cursor, 0)
	out := MessagesOutput{Messages: []Message{}, NextCursor: strconv.FormatInt(after, 10)}
	if err != nil {
		return out, err
	}
	t, coll, known := s.DB.User(c.User), messages.Under(in.FireID), false
	q := store.Query{Where: []store.Cond{store.Gt("seq", after)}, Order: []string{"seq"}, Limit: in.Limit}
	// The fire has the number of its messages, so it changes with each.
	here := []store.Cond{store.Eq("id", in.FireID)}
	err = fires.Wait(ctx, t, here, time.Duration(in.WaitMs)*time.Millisecond, func(ctx context.Context) (bool, error) {
		page, err := coll.Query(ctx, t, q)
		if err != nil {
			return false, err
		}
		for _, d := range page.Docs {
			out.Messages = append(out.Messages, d.Value)
			out.NextCursor = strconv.FormatInt(d.Value.Seq, 10)
		}
		out.More = len(page.Docs) == q.Limit
		if len(page.Docs) > 0 || known {
			return len(page.Docs) > 0, nil
		}
		known = true
		f, err := load(ctx, t, in.FireID)
		if err == nil && after > f.Messages {
			err = errCursor()
		}
		return false, err
	})
	return out, err
}

// UpdatePlan stores a new version of the battle plan. It returns [fault.Precondition] while a duel stands.
func (s *Service) UpdatePlan(ctx context.Context, c identity.Caller, in PlanInput) (PlanOutput, error) {
	content, err := trim("content", "content", in.Content)
	if err != nil {
		return PlanOutput{}, err
	}
	by, err := optionalVoice(c, "author", in.Author)
	if err != nil {
		return PlanOutput{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{Idempotency: in.Idempotency, fire: in.FireID, now: now},
		func(tx *store.Tx, f *Fire) (PlanOutput, error) {
			p, err := f.Replan(by, content, now)
			if err != nil {
				return PlanOutput{}, err
			}
			plans.Under(f.ID).Create(tx, docID(p.Version), p)
			return PlanOutput{"BattlePlan updated successfully.", p.Version}, nil
		})
}

// Get returns a fire with its standing duel and a version of its plan, by default the newest one. It shows an overdue
// duel as ended. A version that the plan does not have is [fault.Invalid].
func (s *Service) Get(ctx context.Context, c identity.Caller, in GetInput) (View, error) {
	now, t := s.Now(), s.DB.User(c.User)
	f, err := load(ctx, t, in.FireID)
	if err != nil {
		return View{}, err
	}
	f.Lapse(now)
	v := View{ID: f.ID, CreatedAt: f.CreatedAt, State: f.State(), Duel: f.Duel, Messages: f.Messages, Duels: f.Duels}
	version := cmp.Or(in.PlanVersion, f.Plan)
	if version > f.Plan {
		return View{}, fault.Field("planVersion", "must be at most the newest version of the plan, which is %d", f.Plan)
	}
	if version > 0 {
		v.Plan, err = plans.Under(f.ID).Get(ctx, t, docID(version))
	}
	return v, err
}
