package overview

import "parley.internal/shared/op"

// Input is the input of get_overview.
type Input struct {
	Since  string `json:"since,omitempty" allow:"max=100" jsonschema:"mark of the view that is known already"`
	WaitMs int    `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for another view than that"`
}

// Operations returns the operation get_overview.
func (s *Service) Operations() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "get_overview", Title: "See what goes on", Toolset: "pulse", Route: "GET /v1/overview",
			Effect: op.Read, For: op.Humans, RESTOnly: true, Cases: cases,
			Doc: "A human's view of what goes on: live sessions, claimed tasks with their leases, queues, waiting " +
				"questions, alerts, unread mail, mail to unknown names, and programs that called without a session, at " +
				"most 50 of each. With since and waitMs it waits for a change."}, s.Get),
	}
}
