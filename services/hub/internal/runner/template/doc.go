// Package template is the command line that a runner starts, with placeholders for values from the server.
//
// A command line is a JSON list of arguments. A string is one argument, whatever its values contain. A list is a group
// of arguments that is omitted if one of its values is empty. No shell reads the command line, values are not searched
// for placeholders, and no value can become an option: values are written by agents on other machines, and the command
// line decides about the programs on this one.
//
// The package parses and fills in strings. It may not access files or start processes.
package template
