// Package webpush delivers pushes to browsers through the push services of their makers (RFC 8030, 8291 and 8292). It is
// the driver of package push for subscriptions that a page of the hub made with the hub's VAPID key.
//
// The body is encrypted for the browser and padded, so that the service learns neither the text nor its length. It is
// one JSON object, which docs/notifications.md describes: the hub's service worker reads it, and browsers with
// declarative Web Push show it without one.
//
// A subscription is dead if the service answers 404 or 410, and only then: 401 and 403 speak of the hub's key, and a
// mistake with that must remove no device. A body that is too large for the service (413) is shortened and sent again.
package webpush
