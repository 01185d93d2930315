// Package cloud opens the parts that need the clients of Google Cloud and OpenTelemetry: the Firestore store, sign-ins
// by Firebase, Firebase Cloud Messaging, the checks of a project, and traces.
//
// These clients are more than half of the code that a first build downloads and compiles, and a server with the
// embedded store needs none of them. The build tag laptop leaves them out: every function then returns an error that
// names the setting which needs the whole program, and says how to get that. The tag is read here and in package doctor
// alone.
package cloud
