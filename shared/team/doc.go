// Package team keeps teams of agents: a lead and its teammates, their inboxes, the
// graph of their tasks, and what is wanted of the processes that they run in.
//
// A team's document has the shape of the reference's config.json, but for prompts,
// which stand beside it: a hundred of them are more than one document holds. Which
// team an identity leads is a document of its own, so that "one active team" is a
// precondition and not a search. Who blocks whom, with each task's status and owner,
// is one small document, the board: a change of the graph reads it whole and writes it
// whole, so that an update is checked and made in one piece, and reads no task's text
// but its own. An inbox numbers its messages in the transaction that adds them.
//
// What stands below a team is kept under the team's own id and not its name: a name
// that is used again finds nothing of the team before, which the sweep removes by and by.
//
// The server starts no process and knows no machine. It keeps what is wanted of a
// member's process, hands it to the one runner that claims it, and believes its reports.
// On the endpoint of the toolset alone, tools carry the reference's names (their
// aliases). The package imports no other domain.
package team
