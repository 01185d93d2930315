package hook

import "parley.internal/shared/op"

// Operations returns the operations of the toolset hook.
func (s *Service) Operations() []op.Op {
	const set = "hook"
	return []op.Op{
		op.New(op.Spec{Name: "hook_event", Title: "Tell an event of a client", Toolset: set, Route: "POST /v1/hook",
			Effect: op.Write, Grows: true, Starts: op.Never, Cases: hookCases,
			Doc: "For the hooks of an agent's client: one call for each event of its session. It keeps the session alive, " +
				"brings unread mail and answers under a receipt, changes of claims, a pause, and the decision about an edit."},
			s.Hook),
		op.New(op.Spec{Name: "wait_hook", Title: "Wait for a client's sessions", Toolset: set, Route: "POST /v1/hook/wait",
			Effect: op.Read, Cases: waitCases,
			Doc: "For the process that waits for all sessions of a client on a machine: which of them have news since the " +
				"last answer, and who may wake their agents for it. It marks nothing as read."}, s.Wait),
		op.New(op.Spec{Name: "list_clients", Title: "List the clients of sessions", Toolset: set, Route: "GET /v1/clients",
			Effect: op.Read, For: op.Humans, RESTOnly: true, Cases: clientsCases,
			Doc: "For people: where the sessions run whose clients have Parley's hooks, and by which rules the permission requests of " +
				"each are answered. Newest first."}, s.Clients),
	}
}

// ServedByDefault reports that the tools are not served to callers that choose no toolset: programs call them.
func (*Service) ServedByDefault() bool { return false }
