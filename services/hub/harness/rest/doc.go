// Package rest holds the tests of the REST transport of a running hub: routes, envelopes, faults, the routes kept for
// older clients, the typed client of shared/client, and the OpenAPI document, which an independent library checks.
package rest
