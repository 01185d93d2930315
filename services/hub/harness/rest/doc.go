// Package rest holds the tests of the REST mirror of a running hub: routes, envelopes, faults, the routes kept for
// older clients, and the OpenAPI document, which an independent library checks.
package rest
