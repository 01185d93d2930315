// Package fcmtest is a stand-in for Firebase Cloud Messaging on this machine. It implements the part of FCM's HTTP v1
// API that the client uses, and gives tests and developers the pushes that devices would have received. It refuses the
// messages that FCM is known to refuse, because errors would otherwise appear only in the cloud.
//
// [Handler] is the stand-in and is independent of tests. [Server] is a handler on a free port for tests: it records
// messages, returns errors as configured and holds answers back. Nothing here uses a network beyond this machine.
package fcmtest
