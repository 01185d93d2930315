// Package chaos runs many agents on hubs that are killed under load and checks that every promise made to a client is
// kept.
//
// The hubs are separate processes on one Firestore emulator, behind a load balancer. Every few seconds one of them is
// killed and another started, and a share of the answers is lost between the balancer and the client. Of another share
// of the requests the connections go silent without an end, on both sides of the balancer. Agents come in crews of
// eight; each crew is one user with its human. They speak REST, or MCP with the official SDKs for Go and TypeScript.
// Circles of three agents share a team and a campfire. The groups are small because the emulator is slow where many
// clients contend for one document. For the same reason a proxy in front of the emulator rolls back the transactions of
// a killed hub, and agents take turns at the calls that lock most. Sweeps, which the functions run in the cloud, run in
// this process.
//
// A run ends with a calm phase: work in flight is finished and every inbox is read to its end, so that nothing is
// pending when the store is compared with the answers that the clients got. Beside that, the times of all claims and
// messages are checked for an order that explains the answers (package history). The seed determines the choices of the
// agents; the order in which their calls meet depends on the machine.
//
// Nothing that ships may import this package.
package chaos
