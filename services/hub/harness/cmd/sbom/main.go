// Command sbom makes a CycloneDX bill of materials in JSON reproducible and true. It reads one from standard input and
// writes it to the file of -o, without the fields that differ between two runs over the same binary: the time, the serial
// number, and the hashes of the program that made it. The URLs of its packages name the platform that the binary is for,
// rather than the one where the bill was made, and a module of this repository has its path and the version of the binary,
// rather than its directory.
//
// "make sbom" pipes it the output of cyclonedx-gomod, whose version tool.mod and tool.sum pin. They are a module file of
// their own, so that the harness does not depend on the modules of that program. Its list of components is that of the
// linker, as the binary holds it; nothing is added to it here.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	if err := run(os.Stdin, *out); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out string) error {
	if out == "" {
		return errors.New("-o must name a file")
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if text, err = reproducible(text); err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// reproducible returns a bill of materials without the fields that differ between runs, with the names of each object
// sorted. It refuses text that is not CycloneDX, or that names no component.
func reproducible(text []byte) ([]byte, error) {
	var bill map[string]any
	if err := json.Unmarshal(text, &bill); err != nil {
		return nil, fmt.Errorf("reading the bill of materials: %w", err)
	}
	if bill["bomFormat"] != "CycloneDX" {
		return nil, errors.New("the input is not a CycloneDX bill of materials")
	}
	if components, _ := bill["components"].([]any); len(components) == 0 {
		return nil, errors.New("the bill of materials has no components")
	}
	if err := correct(bill); err != nil {
		return nil, err
	}
	delete(bill, "serialNumber")
	if metadata, ok := bill["metadata"].(map[string]any); ok {
		delete(metadata, "timestamp")
		tools, _ := metadata["tools"].([]any)
		for _, tool := range tools {
			if tool, ok := tool.(map[string]any); ok {
				delete(tool, "hashes")
			}
		}
	}
	out, err := json.MarshalIndent(bill, "", "  ")
	return append(out, '\n'), err
}
