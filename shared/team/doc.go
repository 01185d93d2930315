// Package team manages teams of agents: a lead and its teammates, their inboxes, the graph of
// their tasks, and the desired state of their processes.
//
// The names, shapes and error messages follow the file format of agent teams: a directory for
// each team with config.json, inboxes/*.json and tasks/*.json, which `parley team import` reads
// and `parley team export` writes (docs/team.md). In the toolset's own endpoint the tools have
// the short names of that format, as aliases.
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
// A team belongs to the program that founded it, or to the key without a program that did; it alone and people lead the
// team. The tasks and messages are its members' and the lead's. A member is the program of its name, which somebody
// starts, or has a process: then the server makes a key for it when a runner claims the process, as a child of the
// founder's key, and revokes the key when the process ends. The rules are the methods of a team's document.
//
// The server starts no process and knows no machine. It stores the desired state of a member's process, gives the process
// to the one runner that claims it with a key of the scope runner, and trusts that runner's reports. The package imports no
// other domain.
package team
