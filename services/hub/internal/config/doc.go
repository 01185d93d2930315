// Package config holds the hub's configuration: one struct that is read once from command-line flags and environment
// variables, and checked before anything starts. A flag takes precedence over its variable.
//
// The packages behind the commands read no environment of their own, except for the standard variables of the Google
// and OpenTelemetry libraries. The package opens nothing and connects to nothing, so that a configuration is checked
// without side effects.
package config
