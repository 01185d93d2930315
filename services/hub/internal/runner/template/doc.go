// Package template is the command that a runner starts, with places for what the server says of a teammate.
//
// The command is a JSON list and its elements are arguments: a text is one argument, whatever a value in it holds, and
// a list in it is a group that is left out where a value in it is empty. No shell reads it, a value is never read for
// placeholders in its turn, and none may become an option: a value is what an agent somewhere wrote, and this decides
// what runs on somebody's machine.
//
// It reads and fills in texts. Nothing here may look at a disk or start anything.
package template
