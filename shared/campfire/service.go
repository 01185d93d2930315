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

// Service is the fires of all users.
type Service struct {
	DB  *store.DB
	Now func() time.Time
}

// Ping says that somebody is there.
func (s *Service) Ping(context.Context, identity.Caller, NoInput) (Said, error) {
	return Said{"pong @ " + s.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " (parley)"}, nil
}

// Echo returns a message as it came.
func (s *Service) Echo(_ context.Context, _ identity.Caller, in EchoInput) (Said, error) {
	_, err := trim("message", "message", in.Message)
	return Said(in), err
}

// load reads a fire as it is kept. A missing one is NotFound.
func load(ctx context.Context, r store.Reader, id string) (Fire, error) {
	var f Fire
	there := fires.Fetch(id, &f)
	if err := store.Load(ctx, r, there); err != nil {
		return f, err
	}
	if !there.Found {
		return f, missing(id)
	}
	return f, nil
}

// change is a call that changes a fire.
type change struct {
	op.Idempotency // the caller's key, none for a change that happens once by itself
	fire           string
	now            time.Time
	// founds says that a missing fire is made, looks that the call changes nothing of
	// one that is there.
	founds, looks bool
}

// apply runs an event on a fire in a transaction. An event that fails has changed and
// written nothing. A duel that is overdue ends first, and has ended also where the event
// then fails; only a call with a key leaves that to the next.
func apply[O any](ctx context.Context, s *Service, c identity.Caller, ch change, event func(*store.Tx, *Fire) (O, error)) (O, error) {
	var refused error
	out, err := idempotency.Update(ctx, s.DB.User(c.User), ch, ch.now, func(ctx context.Context, tx *store.Tx) (out O, err error) {
		refused = nil
		f, err := load(ctx, tx, ch.fire)
		made := ch.founds && fault.Is(err, fault.NotFound)
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
		if made || lapsed != nil || !ch.looks {
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

// record keeps a duel that is over.
func record(tx *store.Tx, e Ended) { duels.Under(e.FireID).Create(tx, numbered(e.Number), e) }

// GetOrCreate answers a fire, which it makes where it is missing.
func (s *Service) GetOrCreate(ctx context.Context, c identity.Caller, in FireInput) (FireOutput, error) {
	ch := change{Idempotency: in.Idempotency, fire: in.FireID, now: s.Now(), founds: true, looks: true}
	return apply(ctx, s, c, ch, func(_ *store.Tx, f *Fire) (FireOutput, error) {
		return FireOutput{f.ID, f.CreatedAt}, nil
	})
}

// Post says something at a fire.
func (s *Service) Post(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	text, err := trim("text", "message", in.Text)
	if err != nil {
		return PostOutput{}, err
	}
	by, err := speaksMaybe(c, "author", in.Author)
	if err != nil {
		return PostOutput{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{Idempotency: in.Idempotency, fire: in.FireID, now: now}, func(tx *store.Tx, f *Fire) (PostOutput, error) {
		m, err := f.Post(by, text, now)
		if err != nil {
			return PostOutput{}, err
		}
		messages.Under(f.ID).Create(tx, numbered(m.Seq), m)
		return PostOutput{FireID: f.ID, Seq: m.Seq, Author: m.Author, Verified: m.Verified, CreatedAt: now}, nil
	})
}

// Speak is [Service.Post] by another name.
func (s *Service) Speak(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	return s.Post(ctx, c, in)
}

// position is the number that a cursor names, none where there is no cursor.
func position(cursor string, none int64) (int64, error) {
	if cursor == "" {
		return none, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, strange()
	}
	return n, nil
}

// strange refuses a cursor that no answer about the fire had.
func strange() error {
	return fault.Field("cursor", "is none of this fire's: give the nextCursor of an answer, or leave it out to begin at the start")
}

// Messages reads what was said after the cursor, and waits for the first of it where it
// is told to. Its nextCursor is where to go on, also where nothing is new.
func (s *Service) Messages(ctx context.Context, c identity.Caller, in MessagesInput) (MessagesOutput, error) {
	after, err := position(in.Cursor, 0)
	out := MessagesOutput{Messages: []Message{}, NextCursor: strconv.FormatInt(after, 10)}
	if err != nil {
		return out, err
	}
	t, coll, known := s.DB.User(c.User), messages.Under(in.FireID), false
	q := store.Query{Where: []store.Cond{store.Gt("seq", after)}, Order: []string{"seq"}, Limit: in.Limit}
	err = coll.Wait(ctx, t, nil, time.Duration(in.WaitMs)*time.Millisecond, func(ctx context.Context) (bool, error) {
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
			err = strange()
		}
		return false, err
	})
	return out, err
}

// UpdatePlan writes a new version of the battle plan.
func (s *Service) UpdatePlan(ctx context.Context, c identity.Caller, in PlanInput) (PlanOutput, error) {
	content, err := trim("content", "content", in.Content)
	if err != nil {
		return PlanOutput{}, err
	}
	by, err := speaksMaybe(c, "author", in.Author)
	if err != nil {
		return PlanOutput{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{Idempotency: in.Idempotency, fire: in.FireID, now: now}, func(tx *store.Tx, f *Fire) (PlanOutput, error) {
		p, err := f.Replan(by, content, now)
		if err != nil {
			return PlanOutput{}, err
		}
		plans.Under(f.ID).Create(tx, numbered(p.Version), p)
		return PlanOutput{"BattlePlan updated successfully.", p.Version}, nil
	})
}

// Get reads a fire with its plan and its standing duel. One that is overdue stands no more.
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
		return View{}, fault.Field("planVersion", "the plan of this fire has %d versions", f.Plan)
	}
	if version > 0 {
		v.Plan, err = plans.Under(f.ID).Get(ctx, t, numbered(version))
	}
	return v, err
}
