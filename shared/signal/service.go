package signal

import (
	"cmp"
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service implements the operations of questions, alerts and devices, and sends pushes. All methods
// are safe for concurrent use.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Sender delivers pushes to apps. Only reactions and tests of devices use it.
	Sender push.Sender
	// Direct delivers pushes to devices at addresses of their own; nil if the server cannot.
	Direct Direct
	// Listens means that this server runs FollowReplies, so that devices may name reply topics.
	Listens bool
	// Registrant returns the assurance of a person's key that registered a device, or Unauthenticated if the key is no
	// longer valid. If it is nil, all are valid.
	Registrant func(ctx context.Context, user, keyID string) (identity.Assurance, error)
	// Paired reports whether the user has a paired device. If it is nil, nobody has one.
	Paired func(ctx context.Context, r store.Reader) (bool, error)
	// PublicURL is the URL of the server for a person's browser, without a slash at its end;
	// empty if it is not known.
	PublicURL string

	once    sync.Once
	changed chan struct{}
}

// Defs declares the collections of pushes.
func (*Service) Defs() []*store.Def {
	return []*store.Def{devices.Def(), addresses.Def(), hubKeys.Def(), answerTokens.Def(), settings.Def(), quotas.Def(), pushes.Def()}
}

// questions is the route of all questions.
var questions = task.TypeRoute(task.Question, task.Everywhere)

const (
	defaultTTL = 86_400
	titleLen   = 200
	human      = task.User
)

func title(question string) string {
	if utf8.RuneCountInString(question) <= titleLen {
		return question
	}
	return string([]rune(question)[:titleLen-1]) + "…"
}

// Ask creates a question for the user's human. It waits for the answer for at most WaitMs
// milliseconds; the question stays pending after that.
func (s *Service) Ask(ctx context.Context, c identity.Caller, in AskInput) (AskOutput, error) {
	now, id := s.Now(), s.NewID()
	demanded, err := s.demanded(ctx, c, in.Assurance)
	if err != nil {
		return AskOutput{}, err
	}
	t := task.Task{Type: task.Question, Title: title(in.Question), Status: task.Created, Priority: in.Priority,
		Source: c.Program, Verified: c.Bound(), Maker: c.Owner(), Target: human, ProjectID: in.ProjectID, ReplyTo: in.InReplyTo,
		ThreadID: in.ThreadID, Context: in.Context, CreatedAt: now,
		ExpiresAt: now.Add(time.Duration(in.TTL) * time.Second),
		Question:  &task.QuestionPart{Content: in.Question, Options: in.Options, Assurance: demanded}}
	if t.Priority == "" {
		t.Priority = task.Normal
	}
	if c.Bound() && !c.IsHuman() && (in.Tell == nil || *in.Tell) {
		t.AnswerBox = identity.Fold(cmp.Or(identity.Address(c.Program, in.SessionID), c.Program))
	}
	t.Route()
	out, err := idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (AskOutput, error) {
		task.Tasks.Create(tx, id, t)
		return AskOutput{QuestionID: id, Answer: Answer{Status: Pending}, ExpiresAt: t.ExpiresAt}, nil
	})
	if err != nil || in.WaitMs == 0 {
		return out, err
	}
	// The question is asked: it is pending for a caller that cannot wait, who would ask again after a fault. An asker whose
	// answer could not be noted as told is told it once more.
	answer, err := s.Response(ctx, c, ResponseInput{QuestionID: out.QuestionID, WaitMs: in.WaitMs})
	if err == nil {
		out.Answer = answer
	}
	if out.Status == Answered && t.AnswerBox != "" {
		_ = s.told(ctx, c, out.QuestionID)
	}
	return out, nil
}

// demanded returns the assurance that an answer needs. Only [identity.Paired] costs a read.
func (s *Service) demanded(ctx context.Context, c identity.Caller, named identity.Assurance) (identity.Assurance, error) {
	if named != identity.Paired || s.Paired == nil {
		return identity.Demand(named, false), nil
	}
	paired, err := s.Paired(ctx, s.DB.User(c.User))
	return identity.Demand(named, paired), err
}

// told notes that the asker has the answer, which no hook tells it then.
func (s *Service) told(ctx context.Context, c identity.Caller, id string) error {
	return s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		task.Tasks.Patch(tx, id, store.Unset("answerBox"))
		return nil
	})
}

func answer(t task.Task, now time.Time) Answer {
	switch {
	case t.Status == task.Done:
		return Answer{Status: Answered, Response: t.Question.Response, AnsweredAt: t.Question.AnsweredAt,
			AnsweredBy: t.Question.AnsweredBy, AnsweredWith: t.Question.AnsweredWith}
	case t.Status == task.Derezzed || t.Expired(now):
		return Answer{Status: Expired, Withdrawn: withdrawn(t)}
	}
	return Answer{Status: Pending}
}

func (s *Service) question(ctx context.Context, r store.Reader, id string) (task.Task, error) {
	t, err := task.Tasks.Get(ctx, r, id)
	if fault.Is(err, fault.NotFound) || (err == nil && (t.Type != task.Question || t.Question == nil)) {
		return t, fault.New(fault.NotFound, "no question with id %q", id)
	}
	return t, err
}

// Response returns the answer to a question. If the question is pending, it waits for the answer
// for at most WaitMs milliseconds, or until the question expires. A question that does not exist is
// NotFound.
func (s *Service) Response(ctx context.Context, c identity.Caller, in ResponseInput) (Answer, error) {
	u := s.DB.User(c.User)
	t, err := s.question(ctx, u, in.QuestionID)
	if err != nil {
		return Answer{}, err
	}
	if !t.Owner().Is(c) {
		return Answer{}, fault.New(fault.Forbidden, "only %s may read the answer; %s",
			t.Owner().Or("asked the question"), c)
	}
	now := s.Now()
	if out := answer(t, now); out.Status != Pending || in.WaitMs == 0 {
		return out, nil
	}
	// A question cannot be answered after its expiry.
	wait := min(time.Duration(in.WaitMs)*time.Millisecond, t.ExpiresAt.Sub(now))
	where := []store.Cond{store.Contains("routes", questions), store.In("status", task.Done, task.Derezzed)}
	err = task.Tasks.Wait(ctx, u, where, wait, func(ctx context.Context) (bool, error) {
		if t, err = s.question(ctx, u, in.QuestionID); err != nil {
			return false, err
		}
		return answer(t, s.Now()).Status != Pending, nil
	})
	return answer(t, s.Now()), err
}

// Answer records a human's answer to a question. A question that was answered, was withdrawn or has expired is
// Precondition, and one that demands more assurance than the caller has is Forbidden.
func (s *Service) Answer(ctx context.Context, c identity.Caller, in AnswerInput) (View, error) {
	var out View
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.question(ctx, tx, in.QuestionID)
		if err != nil {
			return err
		}
		if err := over(t, now); err != nil {
			return err
		}
		if err := task.Move(t.Type, t.Status, task.Done); err != nil {
			return err
		}
		if err := t.Question.Answer(c, in.Response, now); err != nil {
			return err
		}
		t.End(task.Done, now)
		t.Route()
		task.Tasks.Put(tx, in.QuestionID, t)
		out = view(in.QuestionID, t, now)
		return nil
	})
	return out, err
}

// List returns a page of the questions with a status, high priority first, then oldest.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Questions: []View{}}
	// An expired question has the status created until it is swept.
	statuses := map[Status][]task.Status{Pending: {task.Created}, Answered: {task.Done},
		Expired: {task.Created, task.Derezzed}, "all": {task.Created, task.Done, task.Derezzed}}[in.Status]
	page, err := task.Tasks.Query(ctx, s.DB.User(c.User), store.Query{
		Where: []store.Cond{store.Contains("routes", questions), store.In("status", statuses...)},
		Order: []string{"rank desc", "createdAt"}, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	now := s.Now()
	for _, d := range page.Docs {
		if v := view(d.ID, d.Value, now); in.Status == "all" || v.Status == in.Status {
			out.Questions = append(out.Questions, v)
		}
	}
	return out, nil
}
