// Package dream is work that an agent does on its own while nobody watches: a task
// of type dream, with a budget, a branch and a time.
//
// A dream is put into the queue with create_task, seen here before it begins, and
// taken up by one agent. Its claim is the queue's, under the same fence and the same
// lease, so the package has no state of its own and asks the queue for both through
// [Queue]. It imports no other domain.
package dream
