// Package line serves waiting calls in the order of their arrival.
//
// Many agents wait for work, and each piece of work is for one of them. The calls that look for the same work stand in
// one line, and only the first of a line looks for work and follows its changes. When it has found some, it takes one
// piece and the next call becomes the first; the other pieces are kept for the calls that follow, so that they need not
// look again.
//
// Work that appears while calls wait is offered to all lines of its owner at once. Of the first calls of those lines that
// have looked in vain, the one that came first and may have the work is given it, without another look, and no other call
// notices. A first call that is looking meanwhile looks again before it waits, since it may have missed the work. Work
// that a call was given and does not take is offered again, and work that one call tries is neither given to nor found
// by another.
//
// One piece of work for a thousand waiting calls thus costs one attempt and one look, that of the next call of the line.
//
// The package knows neither tasks nor stores: work has an id and a value, and each call has a function that reports the
// work that it may have.
package line
