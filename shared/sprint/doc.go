// Package sprint is work that is planned before it is handed out: stories in
// waves, with dependencies, taken up by many agents at once.
//
// A sprint and its stories are tasks of types of their own. A story's document is
// named after the sprint and the story, so that it and its dependencies are loaded
// without a query. News of a story is written to that story alone, and its
// completion counts down its dependents without reading them; what the sprint has
// done is counted from its stories when somebody asks. So no document is hot, and
// no count can be lost.
//
// The package holds the plan's rules, the story's rules and their transactions. It
// may not push, and runs no sweep: leases are taken back by the queue, which tells
// [Service.StoryEnded] when that ends a story. It imports no other domain.
package sprint
