package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/services/hub/internal/releases"
)

// Releases is the address of the document about the newest release. The build sets it; if it is empty, `parley update
// --check` needs another.
var Releases string

// exitBehind is the exit code of `parley update --check` where a newer release exists.
const exitBehind = 10

func (w *world) updateCommand() *cobra.Command {
	var check, asJSON bool
	var from string
	cmd := &cobra.Command{Use: "update", Short: "Say how to update this program, and whether a newer release exists",
		Long: "Say how to update this program, as it is installed here: it changes nothing, and asks nobody.\n\n" +
			"With --check it asks the address of releases whether a newer one exists. The exit code is then 0 if this is\n" +
			"the newest, 10 if a newer one exists, and 1 if that could not be told. The address is that of --from, of\n" +
			"PARLEY_RELEASES, or of the build; parley never asks it by itself.",
		Example: "  parley update --check --from https://parley.example.org/releases/latest.json", Args: cobra.NoArgs,
		SuggestFor: []string{"upgrade", "self-update", "selfupdate"}}
	cmd.Flags().BoolVar(&check, "check", false, "ask whether a newer release exists")
	cmd.Flags().StringVar(&from, "from", "", "URL of the document about the newest release, latest.json (PARLEY_RELEASES)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "with --check, print {state, version, newest, date, notes, method, how}")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := thisProgram()
		if err != nil {
			return err
		}
		if !check {
			if asJSON || from != "" {
				return usage("--json and --from are for --check; see `parley update --help`")
			}
			_, err := fmt.Fprintf(w.out, "This is parley %s, %s. To update it:\n\n  %s\n\n%s", version(), installed[p.Method()],
				printable.EscapeLine(p.How("")), afterwards)
			return err
		}
		from = cmp.Or(from, w.env("PARLEY_RELEASES"), Releases)
		if from == "" {
			return errors.New("this build knows no address of releases: give --from https://…/latest.json, or set PARLEY_RELEASES")
		}
		newest, err := releases.Newest(cmd.Context(), from)
		if err != nil {
			return err
		}
		return w.compared(p, newest, from, asJSON)
	}
	return cmd
}

// installed says how a program was installed.
var installed = map[releases.Method]string{
	releases.Archive: "unpacked from an archive", releases.Debian: "installed from a deb", releases.RPM: "installed from an rpm",
	releases.Homebrew: "installed by Homebrew", releases.NPM: "installed by npm", releases.Image: "in a container's image",
	releases.Source: "built from its sources",
}

const afterwards = "Before that, run `parley backup` on the machine of the server; afterwards restart the server. `parley update\n" +
	"--check` says whether a newer release exists.\n"

// thisProgram returns the program of this process.
func thisProgram() (releases.Program, error) {
	file, err := os.Executable()
	if err == nil {
		file, err = filepath.EvalSymlinks(file)
	}
	return releases.Program{Path: filepath.ToSlash(file), OS: runtime.GOOS, Arch: runtime.GOARCH, Root: os.DirFS("/")}, err
}

// compared tells how a program compares with the newest release, which the document at from names.
func (w *world) compared(p releases.Program, newest releases.Release, from string, asJSON bool) error {
	own := version()
	state := releases.Compare(own, newest.Version)
	how := p.How(newest.Version)
	var err error
	if asJSON {
		enc := json.NewEncoder(printable.Writer{To: w.out})
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(struct {
			State   releases.State  `json:"state"`
			Version string          `json:"version"`
			Newest  string          `json:"newest"`
			Date    string          `json:"date"`
			Notes   string          `json:"notes,omitempty"`
			Method  releases.Method `json:"method"`
			How     string          `json:"how"`
		}{state, own, newest.Version, newest.Date.UTC().Format("2006-01-02"), newest.Notes, p.Method(), how})
	} else {
		_, err = fmt.Fprint(w.out, said(state, own, how, from, newest))
	}
	switch {
	case err != nil:
		return err
	case state == releases.Behind:
		return exit{exitBehind, nil}
	case state == releases.Unknown:
		return fmt.Errorf("this build has no version that could be compared, but %s", printable.EscapeLine(own))
	}
	return nil
}

// said is the answer for a person. The files of a release are beside the document that names it, in a directory of the
// version.
func said(state releases.State, own, how, from string, newest releases.Release) string {
	text := newest.Version + " of " + newest.Date.UTC().Format("2006-01-02")
	if newest.Notes != "" {
		text += " (" + newest.Notes + ")"
	}
	text = printable.EscapeLine(text)
	switch state {
	case releases.Behind:
		files := from[:strings.LastIndexByte(from, '/')+1] + newest.Version + "/"
		return fmt.Sprintf("A newer release exists: %s; this is %s. To update it:\n\n  %s\n\nIts files are at %s. Before that, run "+
			"`parley backup`\non the machine of the server; afterwards restart the server.\n", text, own, printable.EscapeLine(how),
			printable.EscapeLine(files))
	case releases.Unknown:
		return fmt.Sprintf("The newest release is %s.\n", text)
	}
	return fmt.Sprintf("This is %s, and no newer release is known: the newest is %s.\n", own, text)
}
