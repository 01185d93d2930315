// Package cloudlog writes logs with the keys that Cloud Logging reads, for every
// program that may run where it collects them. It knows nothing of what is logged.
package cloudlog
