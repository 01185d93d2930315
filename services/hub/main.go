// Command parley is the hub of Parley: it serves MCP and REST, manages keys, teams and the store, and bridges
// stdio-only clients. Run parley --help for its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // quiet hours have time zones, and neither Windows nor an empty image knows them

	_ "golang.org/x/crypto/x509roots/fallback" // for an image without files; the certificates of a system win

	"parley.internal/services/hub/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
