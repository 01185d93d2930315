// Package cli is the commands of parley: it reads the configuration, opens the
// store, wires the rooms together and runs them. It holds no rule of any domain.
package cli
