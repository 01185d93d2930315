// Package me tells callers who they are to Parley: the program, the kind and the scopes of their key, and the limits
// that hold for it.
//
// An agent cannot know any of this by itself: a key is in its client's configuration, which the model does not see. The
// package stores nothing and reads no document; all that it tells is in the caller, which the server has verified.
package me
