package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// inWSL names the way to the rest on Windows.
const inWSL = "run it in WSL 2, or on Linux or macOS"

// needUnix are the commands that work on Unix systems alone, each with the reason and an alternative.
var needUnix = map[string]string{
	"runner":    "it ends the groups of processes that it starts; " + inWSL + "; the server may stay here",
	"agent":     "it ends the groups of processes that it starts; " + inWSL + "; the server may stay here",
	runnerChild: "only a runner starts it; " + inWSL,
	runnerPane:  "only a runner starts it; " + inWSL,
	"connectd":  "no daemon is needed there, since each hook calls the server by itself",
}

// refusal returns why a command cannot work on a system, or nil if it can.
func refusal(cmd *cobra.Command, unix bool, system string) error {
	why, ok := needUnix[nameOfCommand(cmd)]
	if unix || !ok {
		return nil
	}
	return fmt.Errorf("parley %s does not work on %s: %s", nameOfCommand(cmd), system, why)
}

// Commands returns the command parley with all below it as they are without any variable of the environment, for
// descriptions of them. To run them there is [Run].
func Commands() *cobra.Command {
	root := (&world{env: func(string) string { return "" }, out: io.Discard, err: io.Discard}).commands()
	root.InitDefaultHelpCmd()
	return root
}
