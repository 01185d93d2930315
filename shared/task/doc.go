// Package task defines the document that dispatch, signal, dream and sprint share: its fields,
// its lifecycle and its indexes.
//
// Tasks, questions, alerts, dreams and sprints are in one collection, so that one queue serves
// them all. The package exists so that these domains need not import each other. It contains the
// types and their pure rules: no service, no clock, no transaction.
package task
