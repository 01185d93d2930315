// Package clients generates typed clients for TypeScript and Python from the OpenAPI document, checks their types, and
// makes real calls with each in its test. "make clients" generates them for use.
//
// The types are written by openapi-typescript and quicktype, whose versions the lock file pins. What calls a server is
// openapi-fetch for TypeScript, and for Python a page of this package over the standard library: no generator of Python
// clients can be had from npm or Debian whose clients run on either alone. Nothing that is generated is committed, and
// nothing here may be edited when an operation changes.
package clients
