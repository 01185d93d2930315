package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/app"
	"parley.internal/shared/keys"
	"parley.internal/shared/store/sqlite"
)

// treatment is how the doctor is called.
type treatment struct {
	config.Config
	region, name string
	json         bool
}

func (w *world) doctorCommand() *cobra.Command {
	var t treatment
	cmd := &cobra.Command{Use: "doctor", Short: "Look at what a deployment stands on, and say what to do about it",
		Long: "Look at what a deployment stands on: at a file and its keys, or at a project of Google's with its " +
			"database,\n" +
			"indexes, TTL policies, functions and jobs. Each check is a line: ok, warn, fail or skip, what was looked " +
			"at,\n" +
			"and after an arrow what to do about it. Nothing is changed.\n\n" +
			"The exit code is 0 where no check failed, and 1 otherwise. Warnings do not fail; what the credentials " +
			"may not\n" +
			"see is one. In a project the role roles/viewer shows everything.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.CheckStore(); err != nil {
				return err
			}
			return w.examine(cmd.Context(), t.checks(), t.json)
		}}
	f := cmd.Flags()
	t.StoreFlags(f, w.env)
	f.StringVar(&t.region, "region", "", "region of the functions; where left out they are looked for in all")
	f.StringVar(&t.name, "name", "parley", "name of the deployment, Terraform's variable name")
	f.BoolVar(&t.json, "json", false, "print a list of {check, state, said, fix}")
	return cmd
}

// checks are those of the store that is meant.
func (t *treatment) checks() []doctor.Check {
	switch {
	case t.Store == "sqlite":
		return t.laptop().Checks()
	case t.EmulatorHost != "":
		return doctor.Emulator(t.EmulatorHost, t.reader, time.Now)
	}
	a := app.New(nil, app.Ports{})
	cloud := &doctor.Cloud{Project: t.Project, Region: t.region, Name: t.name, Schema: app.Schema(),
		Reactions: a.Reactions(), Sweeps: a.Sweeps(),
		Store: t.reader, Now: time.Now}
	return cloud.Checks()
}

// reader opens the store as a server does, for reads.
func (t *treatment) reader(ctx context.Context) (doctor.Reader, error) {
	o, err := open(ctx, &t.Config)
	if err != nil {
		return nil, err
	}
	return reader{o, &keys.Service{DB: o.db, Now: time.Now}}, nil
}

type reader struct {
	*opened
	keys *keys.Service
}

// Read reads the key that a laptop's user made last, wherever it runs: mostly none.
func (r reader) Read(ctx context.Context) error {
	_, err := r.keys.List(ctx, operator(localUser), keys.ListInput{Limit: 1})
	return err
}

func (r reader) Close() error { return r.db.Close() }

func (t *treatment) laptop() *doctor.Laptop {
	l := &doctor.Laptop{File: filepath.Join(t.Data, "parley.db"), KeysFile: filepath.Join(t.Data, keysFile),
		Layout: sqlite.Layout(), Now: time.Now}
	// Who may not read the keys is told so by a check, as is whoever has none.
	if file, err := readKeysFile(l.KeysFile); err == nil && file.vars["PARLEY_URL"] != "" {
		l.Server, _ = baseURL(file.vars["PARLEY_URL"])
	}
	return l
}

// examine runs the checks and prints what they saw: each as soon as it is known, or all
// as JSON. Where one failed, so has the command.
func (w *world) examine(ctx context.Context, checks []doctor.Check, asJSON bool) error {
	var all []doctor.Result
	var printed error
	failed := doctor.Run(ctx, checks, doctor.Patience, func(r doctor.Result) {
		all = append(all, r)
		if !asJSON {
			_, err := fmt.Fprintln(w.out, r)
			printed = errors.Join(printed, err)
		}
	})
	if asJSON {
		enc := json.NewEncoder(w.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		printed = enc.Encode(all)
	}
	if printed == nil && failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return printed
}
