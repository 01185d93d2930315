// Package line serves waiting calls in the order of their arrival.
//
// Many agents wait for work of the same kind, and each piece of work is for one of them. In a [Line] only the first
// waiting call looks for work and follows its changes. When it has found some, it takes one piece and the next call
// becomes the first; what else was found is kept for those that follow, so that they need not look again. One piece of
// work for four hundred waiting calls thus costs one attempt and two looks.
//
// The package knows neither tasks nor stores: work is named by an id.
package line
