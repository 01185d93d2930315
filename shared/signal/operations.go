package signal

import (
	"cmp"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// Status is the status of a question.
type Status string

// The statuses of questions.
const (
	Pending  Status = "pending"
	Answered Status = "answered"
	Expired  Status = "expired"
)

// Answer is the status of a question, with the answer if there is one.
type Answer struct {
	Status       Status             `json:"status"`
	Response     string             `json:"response,omitempty"`
	AnsweredAt   time.Time          `json:"answeredAt,omitzero"`
	AnsweredBy   string             `json:"answeredBy,omitempty"`
	AnsweredWith identity.Assurance `json:"answeredWith,omitempty" jsonschema:"local: a key on the machine, which its agents can read; device: a paired browser or a sign-in; passkey: one that was used for this answer"`
	// Withdrawn is set for a question with the status expired that was taken back before its expiry.
	Withdrawn string `json:"withdrawn,omitempty" jsonschema:"why it was taken back"`
}

// AskInput is the input of ask_question.
type AskInput struct {
	op.Idempotency
	Question  string             `json:"question" allow:"nonempty,max=2000"`
	Options   []string           `json:"options,omitempty" allow:"max=5,each=100" jsonschema:"free text is possible too"`
	Context   string             `json:"context,omitempty" allow:"max=2000" jsonschema:"what the human should know"`
	Priority  task.Priority      `json:"priority,omitempty" allow:"enum=low|normal|high,default=normal"`
	Assurance identity.Assurance `json:"assurance,omitempty" allow:"enum=local|paired|device|passkey,default=local,rare" jsonschema:"who may answer; paired: a device, once your human has one"`
	ThreadID  string             `json:"threadId,omitempty" allow:"max=100,rare"`
	InReplyTo string             `json:"inReplyTo,omitempty" allow:"max=100,rare"`
	ProjectID string             `json:"projectId,omitempty" allow:"max=100,rare"`
	TTL       int64              `json:"ttl,omitempty" allow:"over=0,max=31536000,default=86400,rare" jsonschema:"seconds until it expires"`
	SessionID string             `json:"sessionId,omitempty" allow:"max=100,session"`
	Tell      *bool              `json:"tell,omitempty" allow:"rare" jsonschema:"false: you fetch it"`
	WaitMs    int                `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long"`
}

// AskOutput is the output of ask_question.
type AskOutput struct {
	QuestionID string `json:"questionId"`
	Answer
	ExpiresAt time.Time `json:"expiresAt"`
}

// ResponseInput is the input of get_response.
type ResponseInput struct {
	QuestionID string `json:"questionId" allow:"nonempty,max=100,pattern=id"`
	WaitMs     int    `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long"`
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

// ListOutput is the output of list_questions.
type ListOutput struct {
	Questions  []View `json:"questions"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// View is the representation of a question in the human's lists.
type View struct {
	ID        string             `json:"id"`
	Question  string             `json:"question"`
	Options   []string           `json:"options"`
	Context   string             `json:"context,omitempty"`
	Source    string             `json:"source,omitempty"`
	Verified  bool               `json:"verified"`
	Priority  task.Priority      `json:"priority"`
	Assurance identity.Assurance `json:"assurance" jsonschema:"which an answer needs"`
	Answer
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func view(id string, t task.Task, now time.Time) View {
	return View{ID: id, Question: t.Question.Content, Options: t.Question.Options, Context: t.Context, Source: t.Source,
		Verified: t.Verified, Priority: t.Priority, Assurance: cmp.Or(t.Question.Assurance, identity.Local),
		Answer: answer(t, now), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt}
}

// AlertInput is the input of send_alert.
type AlertInput struct {
	op.Idempotency
	Message   string        `json:"message" allow:"nonempty,max=2000"`
	AlertType string        `json:"alertType,omitempty" allow:"enum=error|warning|success|info,default=info"`
	Priority  task.Priority `json:"priority,omitempty" allow:"enum=low|normal|high,default=normal"`
	Context   string        `json:"context,omitempty" allow:"max=2000"`
	SessionID string        `json:"sessionId,omitempty" allow:"max=100,session"`
	TTL       int64         `json:"ttl,omitempty" allow:"over=0,max=31536000,default=3600" jsonschema:"seconds after which it is no longer news"`
}

// AlertOutput is the output of send_alert.
type AlertOutput struct {
	AlertID   string    `json:"alertId"`
	AlertType string    `json:"alertType"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// ServedByDefault makes its tools part of the default endpoint.
func (*Service) ServedByDefault() bool { return true }

// Guide returns the line that leads an agent to its human.
func (*Service) Guide() []op.Guide {
	return []op.Guide{{Line: "Your human answers questions: %s asks one, and %s fetches the answer.",
		Tools: []string{"ask_question", "get_response"}}}
}

// answering are the scopes beside the toolset that reach the operations of a question's page.
var answering = []string{identity.ScopeAnswer}

// Operations returns the operations of the toolset signal.
func (s *Service) Operations() []op.Op {
	const set = "signal"
	return append([]op.Op{
		op.New(op.Spec{Name: "ask_question", Also: op.ForAgents, Starts: op.Never, Title: "Ask the human", Toolset: set,
			Route: "POST /v1/questions", Effect: op.Write, Creates: true, Cases: askCases,
			Doc: "Ask your human for a decision, an approval or a fact that you lack. Offer options where you can. " +
				"With waitMs the call waits for the answer; otherwise fetch it with get_response."}, s.Ask),
		op.New(op.Spec{Name: "get_response", Also: op.ForAgents, Title: "Get the human's answer", Toolset: set, Scopes: answering,
			Route: "GET /v1/questions/{questionId}/response", Effect: op.Read, Cases: responseCases,
			Doc: "Fetch the human's answer to a question you asked: pending, answered or expired. With waitMs it " +
				"waits for the answer."}, s.Response),
		op.New(op.Spec{Name: "send_alert", Starts: op.Never, Title: "Alert the human", Toolset: set, Route: "POST /v1/alerts",
			Effect: op.Write, Creates: true, Cases: alertCases,
			Doc: "Notify your human of something that needs no answer: an error, a warning, a success, or news. To " +
				"ask for a decision use ask_question."}, s.Alert),
		op.New(op.Spec{Name: "answer_question", Title: "Answer a question", Toolset: set, Scopes: answering,
			Route: "POST /v1/questions/{questionId}/answer", Effect: op.Write, For: op.Humans, RESTOnly: true,
			Cases: answerCases,
			Doc: "A human's answer to an agent's question, given once. A question that demands the assurance device is " +
				"answered by a paired device, or a person who signed in; one that demands a passkey is answered in the console."}, s.Answer),
		op.New(op.Spec{Name: "withdraw_question", Starts: op.Never, Title: "Withdraw a question", Toolset: set,
			Route: "POST /v1/questions/{questionId}/withdraw", Effect: op.Write, RESTOnly: true, Cases: withdrawCases,
			Doc: "Take back a question that you asked, because its answer is not needed any more: your human is not asked any " +
				"longer, and a later answer is refused with your reason. An answer that was given before stands, and is returned."},
			s.Withdraw),
		op.New(op.Spec{Name: "list_questions", Title: "List questions", Toolset: set, Scopes: answering,
			Route: "GET /v1/questions", Effect: op.Read, For: op.Humans, RESTOnly: true, Cases: listCases,
			Doc: "The questions that agents ask their human, high priority first, then oldest."}, s.List),
	}, s.deviceOperations()...)
}
