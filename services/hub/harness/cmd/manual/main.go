// Command manual writes the manual pages of parley and the completions of shells, from the commands of the program
// themselves. "make dist" puts them into archives and packages.
//
//	manual -o DIR -version v1.2.3 -time 1700000000
//
// DIR receives man/man1 and completions. The same commands give the same bytes: the date of the pages is that of -time,
// in seconds since 1970, and no variable of the environment is read.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"parley.internal/services/hub/internal/cli"
)

func main() {
	dir := flag.String("o", "", "the directory to write to")
	version := flag.String("version", "", "the version of the program")
	at := flag.Int64("time", 0, "the date of the pages, in seconds since 1970")
	flag.Parse()
	if err := write(*dir, *version, time.Unix(*at, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes the manual and the completions below dir.
func write(dir, version string, at time.Time) error {
	if dir == "" || version == "" {
		return errors.New("-o must name a directory, and -version the version of the program")
	}
	pages, completions := filepath.Join(dir, "man", "man1"), filepath.Join(dir, "completions")
	for _, d := range []string{pages, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := cli.Commands()
	describe(root)
	header := doc.GenManHeader{Section: "1", Manual: "Parley", Source: "parley " + version, Date: &at}
	if err := doc.GenManTree(root, &header, pages); err != nil {
		return fmt.Errorf("writing the pages: %w", err)
	}
	for name, script := range map[string]func(io.Writer) error{
		"parley.bash": func(to io.Writer) error { return root.GenBashCompletionV2(to, true) },
		"_parley":     root.GenZshCompletion,
		"parley.fish": func(to io.Writer) error { return root.GenFishCompletion(to, true) },
		"parley.ps1":  root.GenPowerShellCompletionWithDesc,
	} {
		var text bytes.Buffer
		if err := script(&text); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(completions, name), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// describe leaves out the note of the generator, which would be in every page.
func describe(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	for _, below := range cmd.Commands() {
		describe(below)
	}
}
