// Package guard decides whether an edit, a commit or a push may change files, by the reservations of others: it passes,
// passes with a warning, or is refused.
//
// A guard asks the server once, within a budget of time, and never waits for it: without an answer the change passes with
// a warning, unless a person has made the project strict. That setting comes with each answer and is remembered in the
// repository, where git commits nothing, so that it holds while the server is away. No key is written anywhere.
//
// Hooks of git and of agents' clients make the same decision here and differ in how they tell it. A file that an agent
// holds with a session counts as another's for a call without that session, so the reason names the variable to set.
package guard
