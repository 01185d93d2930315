// Package ntfy delivers pushes to topics of an ntfy server, and takes the answers that their buttons publish. It is the
// driver of package push for devices of the platform ntfy.
//
// Who knows the URL of a topic can read it. So a notice carries no secret but the token of one answer, and with Private
// nothing but its title.
//
// A button of a question publishes a [push.Answer] to the reply topic of the device, which the hub follows with
// [Courier.Listen]: so a hub behind a router, which nothing can call, hears the answer. Without a reply topic the button
// calls the hub itself, where that has a public address.
package ntfy
