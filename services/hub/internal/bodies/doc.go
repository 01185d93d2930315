// Package bodies bounds the memory that the bodies of requests take at once. A body of up to 64 KiB is free. The bytes
// of a longer one that have arrived count eightfold, because decoding may take that much; when no room is left, the
// request is refused with 503 and may be repeated. Bytes that have not arrived count for nothing, so slow uploads hold
// little, and one key holds at most half of the room, so that it leaves some for the others.
package bodies
