// Package webhook delivers pushes to a person's own systems, as calls with the signature of Standard Webhooks. It is the
// driver of package push for devices of the platform webhook. docs/notifications.md describes the body.
//
// A webhook is dead if it answers 410. A receiver that was deployed wrongly answers 404, and stays.
package webhook
