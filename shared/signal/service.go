package signal

import (
	"context"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service is the questions of all users.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
}

// questions is the route of all questions.
var questions = task.TypeRoute(task.Question, task.Everywhere)

const (
	defaultTTL = 86_400
	titleLen   = 200
	human      = "user"
)

func title(question string) string {
	if utf8.RuneCountInString(question) <= titleLen {
		return question
	}
	return string([]rune(question)[:titleLen-1]) + "…"
}

// Ask puts a question to the user's human, and waits for the answer where it is
// told to.
func (s *Service) Ask(ctx context.Context, c identity.Caller, in AskInput) (AskOutput, error) {
	now, id := s.Now(), s.NewID()
	if in.TTL == 0 {
		in.TTL = defaultTTL
	}
	t := task.Task{Type: task.Question, Title: title(in.Question), Status: task.Created, Priority: in.Priority, Source: c.Program,
		Verified: c.Bound(), Target: human, ProjectID: in.ProjectID, ReplyTo: in.InReplyTo, ThreadID: in.ThreadID, Context: in.Context,
		CreatedAt: now, ExpiresAt: now.Add(time.Duration(in.TTL) * time.Second), Question: &task.QuestionPart{Content: in.Question, Options: in.Options}}
	if t.Priority == "" {
		t.Priority = task.Normal
	}
	t.Route()
	wait, key := in.WaitMs, in.IdempotencyKey
	in.IdempotencyKey, in.WaitMs = "", 0
	out, err := once.Do(ctx, s.DB.User(c.User), "ask_question", key, now, in, func(_ context.Context, tx *store.Tx) (AskOutput, error) {
		task.Tasks.Create(tx, id, t)
		return AskOutput{QuestionID: id, Answer: Answer{Status: Pending}, ExpiresAt: t.ExpiresAt}, nil
	})
	if err != nil || wait == 0 {
		return out, err
	}
	out.Answer, err = s.Response(ctx, c, ResponseInput{QuestionID: out.QuestionID, WaitMs: wait})
	return out, err
}

func answer(t task.Task, now time.Time) Answer {
	switch {
	case t.Status == task.Done:
		return Answer{Status: Answered, Response: t.Question.Response, AnsweredAt: t.Question.AnsweredAt}
	case t.Status == task.Derezzed || t.Expired(now):
		return Answer{Status: Expired}
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

// Response reads the answer to a question, and waits for it where it is told to.
func (s *Service) Response(ctx context.Context, c identity.Caller, in ResponseInput) (Answer, error) {
	var out Answer
	u := s.DB.User(c.User)
	where := []store.Cond{store.Contains("routes", questions), store.Eq("status", task.Done)}
	err := task.Tasks.Wait(ctx, u, where, time.Duration(in.WaitMs)*time.Millisecond, func(ctx context.Context) (bool, error) {
		t, err := s.question(ctx, u, in.QuestionID)
		if err != nil {
			return false, err
		}
		out = answer(t, s.Now())
		return out.Status != Pending, nil
	})
	return out, err
}

// Answer gives a human's answer. The first one stands.
func (s *Service) Answer(ctx context.Context, c identity.Caller, in AnswerInput) (View, error) {
	var out View
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.question(ctx, tx, in.QuestionID)
		if err != nil {
			return err
		}
		switch answer(t, now).Status {
		case Answered:
			return fault.New(fault.Precondition, "the question was answered at %s", t.Question.AnsweredAt.Format(time.RFC3339))
		case Expired:
			return fault.New(fault.Precondition, "the question expired at %s", t.ExpiresAt.Format(time.RFC3339))
		}
		if err := task.Move(t.Type, t.Status, task.Done); err != nil {
			return err
		}
		t.Question.Response, t.Question.AnsweredAt, t.Question.AnsweredBy = in.Response, now, "key:"+c.KeyID[:min(12, len(c.KeyID))]
		t.End(task.Done, now)
		t.Route()
		task.Tasks.Put(tx, in.QuestionID, t)
		out = view(in.QuestionID, t, now)
		return nil
	})
	return out, err
}

// List reads a page of the questions, high priority first, then oldest.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Questions: []View{}}
	if in.Limit == 0 {
		in.Limit = 20
	}
	if in.Status == "" {
		in.Status = Pending
	}
	// One that ran out is created until a sweep has come by.
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

// Status is how a question stands for its asker.
type Status string

// The statuses.
const (
	Pending  Status = "pending"
	Answered Status = "answered"
	Expired  Status = "expired"
)

// Answer is what became of a question.
type Answer struct {
	Status     Status    `json:"status"`
	Response   string    `json:"response,omitempty"`
	AnsweredAt time.Time `json:"answeredAt,omitzero"`
}

// AskInput is the input of ask_question.
type AskInput struct {
	op.Idempotency
	Question  string        `json:"question" allow:"nonempty,max=2000"`
	Options   []string      `json:"options,omitempty" allow:"max=5,each=100" jsonschema:"answers to choose from; free text is always possible"`
	Context   string        `json:"context,omitempty" allow:"max=2000" jsonschema:"what the human should know to answer"`
	Priority  task.Priority `json:"priority,omitempty" allow:"enum=low|normal|high,default=normal"`
	ThreadID  string        `json:"threadId,omitempty" allow:"max=100"`
	InReplyTo string        `json:"inReplyTo,omitempty" allow:"max=100"`
	ProjectID string        `json:"projectId,omitempty" allow:"max=100"`
	TTL       int64         `json:"ttl,omitempty" allow:"over=0,max=31536000,default=86400" jsonschema:"seconds until it expires unanswered"`
	WaitMs    int           `json:"waitMs,omitempty" allow:"min=0,max=55000,default=0" jsonschema:"wait this long for the answer"`
}

// AskOutput is what ask_question answers.
type AskOutput struct {
	QuestionID string `json:"questionId"`
	Answer
	ExpiresAt time.Time `json:"expiresAt"`
}

// ResponseInput is the input of get_response.
type ResponseInput struct {
	QuestionID string `json:"questionId" allow:"nonempty,max=100,pattern=id"`
	WaitMs     int    `json:"waitMs,omitempty" allow:"min=0,max=55000,default=0" jsonschema:"wait this long for the answer"`
}

// AnswerInput is the input of answer_question.
type AnswerInput struct {
	QuestionID string `json:"questionId" allow:"nonempty,max=100,pattern=id"`
	Response   string `json:"response" allow:"nonempty,max=4000" jsonschema:"one of the options, or free text"`
}

// ListInput is the input of list_questions.
type ListInput struct {
	Status Status `json:"status,omitempty" allow:"enum=pending|answered|expired|all,default=pending"`
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// ListOutput is what list_questions answers.
type ListOutput struct {
	Questions  []View `json:"questions"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// View is a question as a human sees it.
type View struct {
	ID       string        `json:"id"`
	Question string        `json:"question"`
	Options  []string      `json:"options"`
	Context  string        `json:"context,omitempty"`
	Source   string        `json:"source,omitempty"`
	Verified bool          `json:"verified"`
	Priority task.Priority `json:"priority"`
	Answer
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func view(id string, t task.Task, now time.Time) View {
	return View{ID: id, Question: t.Question.Content, Options: t.Question.Options, Context: t.Context, Source: t.Source, Verified: t.Verified,
		Priority: t.Priority, Answer: answer(t, now), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt}
}

// Operations lists what there is for questions.
func (s *Service) Operations() []op.Op {
	const set = "signal"
	return []op.Op{
		op.New(op.Spec{Name: "ask_question", Title: "Ask the human", Toolset: set, Route: "POST /v1/questions", Effect: op.Write, Creates: true,
			Doc: "Ask your human for a decision, an approval or a fact that you lack. Offer options where you can. With waitMs the call waits for the answer; otherwise fetch it with get_response."}, s.Ask),
		op.New(op.Spec{Name: "get_response", Title: "Get the human's answer", Toolset: set, Route: "GET /v1/questions/{questionId}/response", Effect: op.Read,
			Doc: "Fetch the human's answer to a question you asked: pending, answered or expired. With waitMs it waits for the answer."}, s.Response),
		op.New(op.Spec{Name: "answer_question", Title: "Answer a question", Toolset: set, Route: "POST /v1/questions/{questionId}/answer", Effect: op.Write, For: op.Humans, RESTOnly: true,
			Doc: "A human's answer to an agent's question, given once."}, s.Answer),
		op.New(op.Spec{Name: "list_questions", Title: "List questions", Toolset: set, Route: "GET /v1/questions", Effect: op.Read, For: op.Humans, RESTOnly: true,
			Doc: "The questions that agents ask their human, high priority first, then oldest."}, s.List),
	}
}
