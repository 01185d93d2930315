// Package fcm rings devices through Firebase Cloud Messaging. It is the driver of the port in package push: it says a
// notice the way Android, Apple's service and browsers each want it said, and reads out of an answer what became of a
// device. It knows no users and keeps nothing; who is rung, when and how often is decided above it.
//
// A device is called dead only on FCM's word about that device. FCM answers INVALID_ARGUMENT to a malformed token and
// to a malformed message alike, and has been seen to blame the token for a message it did not like. So a token that is
// blamed is tried again, as a dry run of a message without content, which rings nobody: it is dead if that is refused
// too. Otherwise the message is at fault, and a mistake in this package takes no device off the list.
//
// FCM's limit is 4,096 bytes a platform. A notice that would be longer is shortened here, options first, so that a long
// question rings rather than not at all.
//
// What FCM does by itself: of pushes with different keys it keeps four for a device that is off. The push is a bell and
// the list is the truth.
package fcm
