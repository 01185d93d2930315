// Command openapi writes the OpenAPI document that a server of these sources serves at /openapi.json. It needs no
// server, and the same sources and version give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"parley.internal/shared/app"
)

func main() {
	file := flag.String("o", "", "the file to write")
	version := flag.String("version", "devel", "the version of the document")
	flag.Parse()
	if err := run(*file, *version); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(file, version string) error {
	text, err := app.New(nil, app.Ports{}).Catalogue().OpenAPI("Parley", version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
