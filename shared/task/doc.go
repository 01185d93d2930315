// Package task is the document that dispatch, signal, dream and sprint share: its
// fields, its lifecycle and how it is found.
//
// Tasks, questions, alerts, dreams and sprints live in one collection, so that
// one queue serves them all; a package of its own keeps the domains from
// importing each other for it. It holds the type and its pure rules: no service,
// no clock, no transaction.
package task
