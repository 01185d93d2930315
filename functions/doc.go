// Package functions is Parley's Cloud Functions: the reactions that Eventarc calls when a document changes, and the
// sweeps that Cloud Scheduler calls. Each is registered with the Functions Framework under the name of its deployment.
//
// A function only calls a method that the hub on a laptop calls as well. The rules are in the domains, and shared/app
// lists the functions. This package is the root of the module because the buildpack builds the module's root.
package functions
