// Package sprint manages planned work: stories in waves, with dependencies, that many agents
// work on concurrently.
//
// A sprint and its stories are tasks of their own types. The id of a story's document is
// derived from the ids of sprint and story, so that a story and its dependencies are loaded
// without a query. A report writes only the document of its story, and the completion of a
// story decrements the counters of its dependents without reading them. The progress of a
// sprint is counted from its stories when it is read. So no document is written by all agents,
// and no count can be lost.
//
// The package contains the rules of plans and stories and their transactions. It sends no pushes,
// and messages through [Mail] only, and runs no sweep: package dispatch takes back leases, and calls
// [Service.StoryEnded] when that ends a story. It imports no other domain.
package sprint
