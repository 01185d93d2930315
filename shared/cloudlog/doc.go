// Package cloudlog writes logs as JSON lines with the keys that Google Cloud Logging reads. It is for every program
// that may run on Google Cloud, and contains no message or attribute of any of them.
package cloudlog
