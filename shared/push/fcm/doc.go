// Package fcm delivers pushes through Firebase Cloud Messaging. It is the driver of package push for FCM: it translates
// a notice for Android, for Apple's push service and for browsers, and reads the outcome for each device from FCM's
// answer. It knows no users and stores nothing; the callers decide about the people, the time and the frequency of
// pushes.
//
// A token is reported as dead only if FCM says so of that token. FCM answers INVALID_ARGUMENT both to a malformed token
// and to a malformed message, and its answer may blame the token for a fault of the message. So the driver repeats the
// call for such a token as a dry run of an empty message, which notifies nobody. The token is dead if FCM refuses that
// as well; otherwise the message is at fault. In this way a mistake in this package removes no device.
//
// FCM accepts 4,096 bytes for each platform. A longer notice is shortened, its options first, so that a long question
// is delivered all the same.
//
// FCM keeps at most four pushes with different keys for a device that is offline. A push is therefore only a signal;
// the list of questions in the hub is authoritative.
package fcm
