// Package fcmtest stands in for Firebase Cloud Messaging on this machine: it speaks as much of FCM's HTTP v1 as the
// real client uses, so that a test or a developer sees the pushes that would have rung a device. It refuses what FCM is
// known to refuse, because a stand-in that takes everything hides what fails in the cloud.
//
// [Handler] is the stand-in and needs no test; [Server] is one on a free port that remembers, fails as told and holds
// answers back. Nothing here reaches a network.
package fcmtest
