// Package autostart installs the server as a service of the machine: a unit of systemd on Linux, a job of launchd on macOS,
// for one account or for the whole system.
//
// A definition is a file whose second line marks it, so that a file of somebody else is neither replaced nor removed. The
// package writes that file and calls the service manager; it knows nothing of the store, and removing a service leaves its
// data. A [Watch] asks whether the server answers after its start. Which programs it may run, and where files are, is
// given by its caller, so that tests need no service manager.
package autostart
