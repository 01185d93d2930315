// Command parley-hook is the program that the hooks of agents' clients run: parley-hook CLIENT EVENT --connection ID,
// with the client's JSON on standard input. It starts in a few milliseconds; parley hook does the same.
package main

import (
	"context"
	"os"

	"parley.internal/services/hub/internal/hook/process"
)

func main() {
	os.Exit(process.Own(os.Getenv, os.Stdin, os.Stdout, os.Stderr).Run(context.Background(), os.Args[1:]))
}
