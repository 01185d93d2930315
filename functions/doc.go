// Package functions is Parley's Cloud Functions: what Eventarc calls when a document changes, and what Cloud Scheduler
// calls to sweep. Each is registered with the Functions Framework under the name by which it is deployed.
//
// A function is a thin caller of a method that the laptop's server calls as well: the rules are in the domains, and
// which functions there are is in shared/app. This package is the root of the module because the buildpack builds its
// root.
package functions
