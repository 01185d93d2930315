package dispatch

import (
	"parley.internal/shared/domain"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Searches returns the collection of tasks, for the search. An agent finds the tasks that concern it; another it reads by
// its id.
func (s *Service) Searches() []domain.Search {
	return []domain.Search{domain.Searching(task.Tasks, func(c identity.Caller, t *task.Task, _ store.Ref) bool {
		return t.Concerns(c) && (c.InToolset(toolset) || t.Type == task.Question && c.InToolset("signal"))
	})}
}
