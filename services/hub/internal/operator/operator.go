package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"time"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/team"
)

// Operator performs the commands of operators. Keys, links and teams are those of a user.
type Operator interface {
	Issue(ctx context.Context, user string, in keys.CreateInput) (keys.CreateOutput, error)
	Keys(ctx context.Context, user string, in keys.ListInput) (keys.ListOutput, error)
	Devices(ctx context.Context, user string) ([]keys.View, error)
	Revoke(ctx context.Context, user, id string) (keys.View, error)
	Link(ctx context.Context, user string, console bool) (keys.Link, error)
	Passkeys(ctx context.Context, user string) ([]passkeys.View, error)
	// DiscardPasskey removes a passkey, and revokes the keys that it made.
	DiscardPasskey(ctx context.Context, user, id string) (passkeys.View, error)
	// ImportTeam creates a team that a program leads, or people if the program is empty.
	ImportTeam(ctx context.Context, user, program string, a team.Archive) error
	ExportTeam(ctx context.Context, user, name string) (team.Archive, error)
	// Export writes all documents of a user, one JSON object a line, and returns their number.
	Export(ctx context.Context, user string, to io.Writer) (int, error)
	// Erase deletes all documents of a user and returns their number.
	Erase(ctx context.Context, user string) (int, error)
	// Backup copies the store to a new file and returns the number of documents.
	Backup(ctx context.Context, file string) (int, error)
	Restore(ctx context.Context, file string) (Restored, error)
	// Examine returns the result of a check of the embedded store by its name.
	Examine(ctx context.Context, check string) (doctor.Result, error)
	// Served reports whether servers may use the store meanwhile.
	Served() bool
}

// Restored is the outcome of a restore: the numbers of documents, and the file that keeps the content before, empty if
// there was none.
type Restored struct {
	Before int    `json:"before"`
	After  int    `json:"after"`
	Kept   string `json:"kept,omitempty"`
}

// Local is the operator of an open store.
type Local struct {
	App *app.App
	DB  *store.DB
	// File is the embedded store in the data directory Dir; nil over Firestore.
	File *sqlite.Driver
	Dir  string
	// Laptop returns the checks of the embedded store, with its directory as it is now.
	Laptop func() *doctor.Laptop
}

var errEmbedded = errors.New("this command needs the embedded store; for backups of Firestore see docs/operate.md")

// person is a caller with all rights of the user.
func person(user string) identity.Caller { return identity.Caller{User: user, Kind: identity.Human} }

// Issue implements [Operator].
func (l *Local) Issue(ctx context.Context, user string, in keys.CreateInput) (keys.CreateOutput, error) {
	return l.App.Keys.Issue(ctx, user, in)
}

// Keys implements [Operator].
func (l *Local) Keys(ctx context.Context, user string, in keys.ListInput) (keys.ListOutput, error) {
	return l.App.Keys.List(ctx, person(user), in)
}

// Devices implements [Operator].
func (l *Local) Devices(ctx context.Context, user string) ([]keys.View, error) {
	return l.App.Keys.Devices(ctx, user)
}

// Revoke implements [Operator].
func (l *Local) Revoke(ctx context.Context, user, id string) (keys.View, error) {
	return l.App.Keys.Revoke(ctx, person(user), keys.RevokeInput{KeyID: id})
}

// Link implements [Operator].
func (l *Local) Link(ctx context.Context, user string, console bool) (keys.Link, error) {
	return l.App.Keys.MakeLink(ctx, user, console)
}

// Passkeys implements [Operator].
func (l *Local) Passkeys(ctx context.Context, user string) ([]passkeys.View, error) {
	out, err := l.App.Passkeys.List(ctx, person(user), passkeys.ListInput{})
	return out.Passkeys, err
}

// DiscardPasskey implements [Operator].
func (l *Local) DiscardPasskey(ctx context.Context, user, id string) (passkeys.View, error) {
	return l.App.Passkeys.Discard(ctx, user, id)
}

// ImportTeam implements [Operator].
func (l *Local) ImportTeam(ctx context.Context, user, program string, a team.Archive) error {
	caller := person(user)
	caller.Program = program
	return l.App.Team.Import(ctx, caller, a)
}

// ExportTeam implements [Operator].
func (l *Local) ExportTeam(ctx context.Context, user, name string) (team.Archive, error) {
	return l.App.Team.Export(ctx, person(user), name)
}

// exported is a line of an export.
type exported struct {
	Path   string       `json:"path"`
	Fields store.Fields `json:"fields"`
}

// Export implements [Operator]. Characters that are not printable are escaped, in a file too: it may be shown on a
// terminal.
func (l *Local) Export(ctx context.Context, user string, to io.Writer) (n int, err error) {
	out := bufio.NewWriter(to)
	enc := json.NewEncoder(printable.Writer{To: out})
	enc.SetEscapeHTML(false)
	err = store.NewAdmin(l.DB).Walk(ctx, user, func(page []store.Raw) error {
		for _, raw := range page {
			if err := enc.Encode(exported{raw.Ref.Coll + "/" + raw.Ref.ID, raw.Fields}); err != nil {
				return err
			}
		}
		n += len(page)
		return nil
	})
	return n, errors.Join(err, out.Flush())
}

// Erase implements [Operator].
func (l *Local) Erase(ctx context.Context, user string) (int, error) {
	return store.NewAdmin(l.DB).Erase(ctx, user)
}

// Backup implements [Operator].
func (l *Local) Backup(ctx context.Context, file string) (int, error) {
	if l.File == nil {
		return 0, errEmbedded
	}
	n, err := l.File.Documents(ctx)
	if err != nil {
		return 0, err
	}
	return n, l.File.Backup(ctx, file)
}

// Restore implements [Operator].
func (l *Local) Restore(ctx context.Context, file string) (out Restored, err error) {
	if l.File == nil {
		return out, errEmbedded
	}
	if out.Before, err = l.File.Documents(ctx); err != nil {
		return out, err
	}
	kept := ""
	if out.Before > 0 {
		kept = filepath.Join(l.Dir, "before-restore-"+time.Now().UTC().Format("20060102-150405.000")+".db")
	}
	if err := l.File.Restore(ctx, file, kept); err != nil {
		return out, err
	}
	out.Kept = kept
	out.After, err = l.File.Documents(ctx)
	return out, err
}

// Examine implements [Operator].
func (l *Local) Examine(ctx context.Context, check string) (doctor.Result, error) {
	if l.Laptop == nil {
		return doctor.Result{}, errEmbedded
	}
	for _, c := range l.Laptop().Checks() {
		if c.Name == check {
			return c.Look(ctx), nil
		}
	}
	return doctor.Result{State: doctor.Skip, Said: "not checked: the server that runs is of another version"}, nil
}

// Served implements [Operator]: the embedded store's lock keeps servers out.
func (l *Local) Served() bool { return l.File == nil }
