package council

import (
	"time"

	"parley.internal/shared/op"
)

// StartInput is the input of start_council.
type StartInput struct {
	op.Idempotency
	Request   string `json:"request" allow:"nonempty,max=16000" jsonschema:"what the others are asked"`
	AgentName string `json:"agent_name,omitempty" allow:"max=160" jsonschema:"you: your program, or a character of it; a key bound to a program may leave it out"`
}

// StartOutput is the output of start_council.
type StartOutput struct {
	AgentName string `json:"agent_name"`
	SessionID string `json:"session_id"`
	RequestID string `json:"request_id"`
	State     State  `json:"state"`
}

// JoinInput is the input of join_council.
type JoinInput struct {
	AgentName string `json:"agent_name,omitempty" allow:"max=160"`
	SessionID string `json:"session_id,omitempty" allow:"max=100,pattern=id" jsonschema:"where left out: the council you last started or joined if it is active, else the newest active one, else the newest closed one"`
}

// GetInput is the input of get_current_session_data.
type GetInput struct {
	AgentName string `json:"agent_name,omitempty" allow:"max=160"`
	Cursor    string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"next_cursor of the call before; an unknown one brings everything"`
	SessionID string `json:"session_id,omitempty" allow:"max=100,pattern=id"`
	WaitMs    int    `json:"wait_ms,omitempty" allow:"wait=0" jsonschema:"wait this long for a first response, or the close"`
}

// ViewOutput is the output of join_council and get_current_session_data. It has no session_id if there is no
// council, and no request if the call had a cursor, because its reader has the request already.
type ViewOutput struct {
	AgentName   string       `json:"agent_name"`
	SessionID   string       `json:"session_id,omitempty"`
	Request     *Request     `json:"request,omitempty"`
	Feedback    []Feedback   `json:"feedback"`
	Participant *Participant `json:"participant,omitempty"`
	NextCursor  string       `json:"next_cursor"`
	More        bool         `json:"more,omitempty" jsonschema:"call again at once: there are more responses"`
	State       State        `json:"state"`
}

// CloseInput is the input of close_council.
type CloseInput struct {
	AgentName  string `json:"agent_name,omitempty" allow:"max=160"`
	Conclusion string `json:"conclusion" allow:"nonempty,max=8000"`
	SessionID  string `json:"session_id,omitempty" allow:"max=100,pattern=id"`
}

// CloseOutput is the output of close_council.
type CloseOutput struct {
	AgentName  string     `json:"agent_name"`
	SessionID  string     `json:"session_id"`
	Conclusion Conclusion `json:"conclusion"`
	State      State      `json:"state"`
}

// SendInput is the input of send_response.
type SendInput struct {
	op.Idempotency
	AgentName string `json:"agent_name,omitempty" allow:"max=160"`
	Content   string `json:"content" allow:"nonempty,max=16000"`
	SessionID string `json:"session_id,omitempty" allow:"max=100,pattern=id"`
}

// SendOutput is the output of send_response.
type SendOutput struct {
	AgentName string   `json:"agent_name"`
	Feedback  Feedback `json:"feedback"`
	State     State    `json:"state"`
}

// ListInput is the input of list_councils.
type ListInput struct {
	Status Status `json:"status,omitempty" allow:"enum=active|closed"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"next_cursor of the page before"`
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=50,default=20"`
}

// ListOutput is the output of list_councils.
type ListOutput struct {
	Sessions   []SessionView `json:"sessions"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// SessionView is a session in the output of list_councils.
type SessionView struct {
	ID           string      `json:"id"`
	Status       Status      `json:"status"`
	Title        string      `json:"title" jsonschema:"how its request begins"`
	CreatedAt    time.Time   `json:"created_at"`
	CreatedBy    string      `json:"created_by"`
	Verified     bool        `json:"verified" jsonschema:"whether created_by is the program of the key"`
	RequestID    string      `json:"current_request_id"`
	Participants int         `json:"participants"`
	Responses    int64       `json:"responses"`
	Conclusion   *Conclusion `json:"conclusion,omitempty"`
	ClosedAt     time.Time   `json:"closed_at,omitzero"`
	Reason       string      `json:"reason,omitempty" jsonschema:"why it was closed without a conclusion"`
}

func view(s *Session) SessionView {
	return SessionView{
		ID:           s.ID,
		Status:       s.Status,
		Title:        s.Title,
		CreatedAt:    s.CreatedAt,
		CreatedBy:    s.CreatedBy,
		Verified:     s.Verified,
		RequestID:    s.RequestID,
		Participants: len(s.Members),
		Responses:    s.Responses,
		Conclusion:   s.Conclusion,
		ClosedAt:     s.ClosedAt,
		Reason:       s.Reason,
	}
}

// RankInput is the input of rank_responses.
type RankInput struct {
	AgentName string   `json:"agent_name" allow:"nonempty,max=100,pattern=name"`
	Ranking   []string `json:"ranking" allow:"nonempty,max=50,each=20" jsonschema:"labels of the others' responses, best first"`
	SessionID string   `json:"session_id,omitempty" allow:"max=100,pattern=id"`
}

// RankOutput is the output of rank_responses.
type RankOutput struct {
	AgentName string   `json:"agent_name"`
	SessionID string   `json:"session_id"`
	Ranking   []string `json:"ranking" jsonschema:"your order, by labels"`
	State     State    `json:"state"`
}

// unnamed returns the additional route of an operation for calls without session_id.
func unnamed(route string) []op.Compat { return []op.Compat{{Route: route}} }

// Operations returns the operations on councils.
func (s *Service) Operations() []op.Op {
	const set = "council"
	return []op.Op{
		op.New(op.Spec{
			Name:    "start_council",
			Starts:  op.Always,
			Title:   "Start a council",
			Toolset: set,
			Route:   "POST /v1/councils",
			Effect:  op.Write,
			Creates: true,
			Cases:   startCases,
			Doc: "Ask other agents for their opinion: open a council with a question or request, gather their " +
				"answers, then conclude it with close_council. Councils before it stay open.",
		}, s.Start),
		op.New(op.Spec{
			Name:    "join_council",
			Starts:  op.Always,
			Title:   "Join a council",
			Toolset: set,
			Route:   "POST /v1/councils/{session_id}/join",
			Effect:  op.Consume,
			Compat:  unnamed("POST /v1/councils/current/join"),
			Cases:   joinCases,
			Doc:     "Take part in a council: read its request and the responses so far. Answer with send_response.",
		}, s.Join),
		op.New(op.Spec{
			Name:    "get_current_session_data",
			Title:   "Follow a council",
			Toolset: set,
			Route:   "GET /v1/councils/{session_id}",
			Effect:  op.Consume,
			Compat:  unnamed("GET /v1/councils/current"),
			Cases:   followCases,
			Doc: "Poll a council for new responses: give the next_cursor of the call before to get only what is " +
				"new, and wait_ms to wait for it. Joins you if you have not joined.",
		}, s.Get),
		op.New(op.Spec{
			Name:    "close_council",
			Title:   "Conclude a council",
			Toolset: set,
			Route:   "POST /v1/councils/{session_id}/close",
			Effect:  op.Write,
			Compat:  unnamed("POST /v1/councils/current/close"),
			Cases:   closeCases,
			Doc: "End a council with its conclusion, the decision drawn from the responses. It stays readable for " +
				"30 days.",
		}, s.Close),
		op.New(op.Spec{
			Name:    "send_response",
			Starts:  op.Always,
			Title:   "Answer a council",
			Toolset: set,
			Route:   "POST /v1/councils/{session_id}/responses",
			Effect:  op.Write,
			Creates: true,
			Compat:  unnamed("POST /v1/councils/current/responses"),
			Cases:   sendCases,
			Doc:     "Answer the request of a council, or add to what the others said.",
		}, s.Send),
		op.New(op.Spec{
			Name:    "list_councils",
			Title:   "List councils",
			Toolset: set,
			Route:   "GET /v1/councils",
			Effect:  op.Read,
			Cases:   listCases,
			Doc:     "Find councils, active or closed, newest first, with their conclusions.",
		}, s.List),
		op.New(op.Spec{
			Name:    "rank_responses",
			Title:   "Rank the responses",
			Toolset: set,
			Route:   "POST /v1/councils/{session_id}/ranking",
			Effect:  op.Write,
			Compat:  unnamed("POST /v1/councils/current/ranking"),
			Cases:   rankCases,
			Doc: "Vote on the responses of the others, best first, by their labels. Your last ranking counts; the " +
				"council's state shows the aggregate, without authors and voters.",
		}, s.Rank),
	}
}
