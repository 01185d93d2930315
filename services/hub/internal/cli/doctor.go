package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/cloud"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/datadir"
	"parley.internal/services/hub/internal/doctor"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/store/sqlite"
)

// doctorFlags are the flags of the doctor command.
type doctorFlags struct {
	config.Config
	region, name string
	json         bool
}

func (w *world) doctorCommand() *cobra.Command {
	var t doctorFlags
	cmd := &cobra.Command{Use: "doctor", Short: "Check a deployment and tell how to repair it",
		Long: "Check a deployment: the file of the embedded store and its keys, or a Google Cloud project with its\n" +
			"database, indexes, TTL policies, functions and jobs. Each check prints a line: ok, warn, fail or skip,\n" +
			"the finding, and after an arrow the advice to repair it. Nothing is changed.\n\n" +
			"The exit code is 0 if no check failed, and 1 otherwise. Warnings do not fail. A setting that the\n" +
			"credentials may not read is a warning; the role roles/viewer reads all settings of a project.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.CheckStore(); err != nil {
				return err
			}
			if t.Store == "sqlite" {
				return w.examineLaptop(cmd, &t)
			}
			checks, err := t.checks()
			if err != nil {
				return err
			}
			return w.examine(cmd.Context(), checks, t.json)
		}}
	f := cmd.Flags()
	t.StoreFlags(f, w.env)
	f.StringVar(&t.region, "region", "", "region of the functions; by default any region")
	f.StringVar(&t.name, "name", "parley", "name of the deployment, the Terraform variable name")
	f.BoolVar(&t.json, "json", false, "print a list of {check, state, said, fix}")
	return cmd
}

// checks returns the checks of Firestore.
func (t *doctorFlags) checks() ([]doctor.Check, error) {
	a := app.New(nil, app.Ports{})
	return cloud.Checks(cloud.Deployment{EmulatorHost: t.EmulatorHost, Project: t.Project, Region: t.region, Name: t.name,
		Schema: app.Schema(), Reactions: a.Reactions(), Sweeps: a.Sweeps(), Store: t.reader, Now: time.Now})
}

// reader opens the store in the same way as a server.
func (t *doctorFlags) reader(ctx context.Context) (doctor.Reader, error) {
	o, err := open(ctx, &t.Config, nil)
	if err != nil {
		return nil, err
	}
	return reader{o, &keys.Service{DB: o.db, Now: time.Now}}, nil
}

type reader struct {
	*opened
	keys *keys.Service
}

// Read lists one key of the user local. In the cloud that user usually has none.
func (r reader) Read(ctx context.Context) error {
	_, err := r.keys.List(ctx, identity.Caller{User: localUser, Kind: identity.Human}, keys.ListInput{Limit: 1})
	return err
}

// Close closes the store.
func (r reader) Close() error { return r.db.Close() }

// laptopAt returns the checks of the embedded store in a directory.
func laptopAt(dir string) *doctor.Laptop {
	l := &doctor.Laptop{File: filepath.Join(dir, storeFile), KeysFile: filepath.Join(dir, keysFile),
		HumanKey: humanAt(dir), Layout: sqlite.Layout(), Now: time.Now}
	// The checks report a keys file that is missing or cannot be read.
	if file, err := readKeysFile(l.KeysFile); err == nil && file.vars["PARLEY_URL"] != "" {
		l.Server, _ = baseURL(file.vars["PARLEY_URL"])
	}
	return l
}

// examineLaptop checks the embedded store: by way of the server that has the data directory or, where there is none, the
// file itself, which no server opens meanwhile.
func (w *world) examineLaptop(cmd *cobra.Command, t *doctorFlags) (err error) {
	ctx := cmd.Context()
	checks := laptopAt(t.Data).Checks()
	lock, err := datadir.TakeExisting(ctx, t.Data, nameOfCommand(cmd), commandPatience)
	var taken *datadir.Taken
	switch {
	case errors.As(err, &taken) && taken.Socket != "":
		askServer(operator.NewRemote(taken.Dial, taken.Token), checks)
	case err != nil:
		return err
	case lock != nil:
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	return w.examine(ctx, checks, t.json)
}

// askServer lets a server make the checks, but for the one whether it can be reached.
func askServer(o operator.Operator, checks []doctor.Check) {
	for i, c := range checks {
		if c.Name == doctor.ServerCheck {
			continue
		}
		checks[i].Look = func(ctx context.Context) doctor.Result {
			r, err := o.Examine(ctx, c.Name)
			if err != nil {
				return doctor.Result{State: doctor.Fail, Said: "the server did not check it: " + err.Error(),
					Fix: "see its log, or stop it and repeat the command"}
			}
			return r
		}
	}
}

// examine runs the checks and prints their results: each as soon as it is known, or all together as JSON. It returns an
// error if a check failed.
func (w *world) examine(ctx context.Context, checks []doctor.Check, asJSON bool) error {
	var all []doctor.Result
	var printed error
	failed := doctor.Run(ctx, checks, doctor.Patience, func(r doctor.Result) {
		all = append(all, r)
		if !asJSON {
			_, err := fmt.Fprintln(w.out, printable.EscapeLine(r.String()))
			printed = errors.Join(printed, err)
		}
	})
	if asJSON {
		enc := json.NewEncoder(printable.Writer{To: w.out})
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		printed = enc.Encode(all)
	}
	if printed == nil && failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return printed
}
