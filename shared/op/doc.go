// Package op defines operations. The MCP tool, the REST route, the schema, the OpenAPI document and the tool reference
// of an operation are all derived from the one definition.
//
// A domain defines its operations with [New]: a [Spec], which is data, and a function of a context, the caller and an
// input type. The schema of the input comes from its Go type and its field tags ("jsonschema" describes a field,
// "allow" bounds it), in the subset of JSON Schema that every MCP client supports. Both transports pass a JSON object
// to [Catalogue.Call], so both check, decode, authorise and log alike.
//
// The package may import no HTTP server, no MCP library and no domain.
package op
