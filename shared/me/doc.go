// Package me tells callers their identity at Parley: the program, the kind and the scopes of their key, and the limits
// that hold for it.
//
// An agent cannot know any of this by itself: a key is in its client's configuration, which the model does not see. The
// package stores nothing and reads no document; its answer is made of the caller, which the server has verified.
package me
