// Package team keeps teams of agents: a lead and its teammates.
//
// A team is one document in the shape of the reference's config.json, so that it
// can be moved over and back; which team an identity leads is a document of its
// own, so that "one active team" is a precondition and not a search. On the
// endpoint of the toolset alone, tools carry the reference's names (their aliases).
// The package imports no other domain.
package team
