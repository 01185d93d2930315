// Command local serves the functions on this machine through the Functions Framework: each at the path of its name, or
// only the one that FUNCTION_TARGET names, at /.
//
//	local [--addr 127.0.0.1:8080]
//
// Without --addr the port is that of the environment variable PORT. The functions read their configuration from the
// environment, as in the cloud.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "parley.internal/functions"
)

func main() {
	addr := flag.String("addr", net.JoinHostPort("127.0.0.1", cmp.Or(os.Getenv("PORT"), "8080")),
		"host:port to listen on")
	flag.Parse()
	if err := serve(*addr); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func serve(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr must be host:port, not %q", addr)
	}
	return funcframework.StartHostPort(host, port)
}
