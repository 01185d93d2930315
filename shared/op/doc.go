// Package op is the one definition of an operation, from which its MCP tool, its
// REST route, its schema, the OpenAPI document and the tool reference are made.
//
// A domain lists its operations with [New]: a [Spec], which is data, and a function
// of a context, the caller and an input type. The input's schema comes from its Go
// type and the tags beside the fields ("jsonschema" describes, "allow" bounds), in
// the subset that every MCP client takes. Both transports hand a JSON object to
// [Catalogue.Call], so both check, decode, authorise and log alike.
//
// The package knows neither HTTP servers nor MCP libraries, and no domain.
package op
