// Package answers serves the route by which a notification on a device answers a question. The one-time token of the
// notification stands in for a key: a service worker has none, and a button of ntfy must not carry one.
package answers
