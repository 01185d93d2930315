// Package team manages teams of agents: a lead and its teammates, their inboxes, the graph of
// their tasks, and the desired state of their processes.
//
// The names, shapes and error messages follow the file format of agent teams: a directory for
// each team with config.json, inboxes/*.json and tasks/*.json, which `parley team import` reads
// and `parley team export` writes (see "A team, and its processes" in the README). In the
// toolset's own endpoint the tools have the short names of that format, as aliases.
//
// A team's document has the shape of config.json without the prompts: a hundred prompts do not
// fit into one document, so each is a document of its own. The team that an identity leads is a
// document too, so that "one active team" is a precondition and not a query. The board is one
// small document with the status, owner and dependencies of each task: a change reads and
// writes it as a whole, so that an update is checked and made atomically, and reads no text but
// that of its own task. An inbox numbers its messages in the transaction that adds them.
//
// The documents below a team are stored under the team's id, not its name: a new team finds
// nothing of an earlier one of the same name. The sweep deletes the documents of deleted teams.
//
// The server starts no process and knows no machine. It stores the desired state of a member's
// process, gives the process to the one runner that claims it, and trusts that runner's reports.
// The package imports no other domain.
package team
