// Package push defines push notifications to a user's devices: the [Notice], and the [Sender] that delivers it.
//
// A domain decides whom to notify and when. This package knows no users, no store and none of those rules, and no rule
// of a domain may enter it. Each driver of a push service is a package of its own below this one.
//
// A sender reports a result for each token, because a device that is gone must not keep the others from being notified.
package push
