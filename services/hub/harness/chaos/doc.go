// Package chaos lets many agents work together on hubs that are killed under them, and
// says whether anything came of it that nobody was promised.
//
// Hubs are processes of their own on one Firestore, behind a balancer; every few
// seconds one is killed and another started, and some answers get lost on their way.
// Agents come in crews of eight, each crew a user with its human, and circles of three
// have a team and a fire: few contend for one document, so that the emulator, which is
// slow at that, lets work go on. For the same reason a proxy before the emulator rolls
// back the transactions of a killed hub, and agents take turns at what locks most. What the
// functions do in the cloud is done here by sweeps in this process.
//
// A run ends in calm: what was begun is finished and every inbox is read to its end, so
// that nothing is still on its way when the store is held against what the clients were
// told. The seed decides what agents choose; what meets what is up to the machine.
//
// Nothing that ships may import this package.
package chaos
