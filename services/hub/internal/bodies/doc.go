// Package bodies bounds the memory that the bodies of requests take at once. A body of up to 64 KiB is free. What a
// longer one has sent counts eightfold, which is what decoding it may take; when no room is left, the request is refused
// with 503 and may be repeated. A body counts only for what has arrived, so slow uploads hold little, and one key holds at
// most half of the room, so that it leaves some for the others.
package bodies
