// Package githook adds a guard to the hooks pre-commit and pre-push in a directory of git, beside hooks that are there,
// and removes it again byte for byte.
//
// A hook that is a shell script gets the guard as marked lines after its first, because many such scripts, husky's among
// them, find their files by their own name. Any other hook, also a link, is renamed and called by a new one. Where there
// is no hook, a new one is made. The guard runs first; the hook gets the same arguments and the same input after it. A
// hook that git would not run, because it is not executable, stays so.
//
// The lines hold no key. They call the program by its path only where git cannot commit them; else they find it in PATH.
// Hooks that have been changed are never overwritten: an error says how to go on.
package githook
