package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/doctor"
	"parley.internal/services/hub/internal/keyring"
)

const (
	// humanFile is the file of the person's own key in the data directory, where no keyring has it.
	humanFile = "human.env"
	// accountKey is the variable of keys.env that names the person's key in the keyring.
	accountKey = "PARLEY_KEYRING_ACCOUNT"
)

// readable is the warning about the file of the person's key.
const readable = "which every process of your account can read"

// keepHuman stores the person's key in the keyring, or else in human.env, and returns its account in the keyring.
func (w *world) keepHuman(ctx context.Context, dir, key string) (account string, err error) {
	ring, err := keyring.Open(w.env)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(key))
	account = "human-" + hex.EncodeToString(id[:6])
	if ring.Keep(ctx, account, key) == nil {
		return account, nil
	}
	return "", writePrivate(filepath.Join(dir, humanFile), fmt.Appendf(nil, "export %s=%s\n", humanKey, key))
}

// moveHuman moves the person's key out of an older keys.env: it is written to its new place before it is removed from the
// old one. It returns a note if there is another key in the new place, which then keeps it.
func (w *world) moveHuman(ctx context.Context, dir string) (note string, err error) {
	path := filepath.Join(dir, keysFile)
	old, err := readKeysFile(path)
	if err != nil || old.vars[humanKey] == "" {
		return "", err
	}
	key := old.vars[humanKey]
	own, err := readKeysFile(filepath.Join(dir, humanFile))
	if err != nil {
		return "", err
	}
	if other := own.vars[humanKey]; other != "" && other != key {
		return fmt.Sprintf("%s and %s hold different keys of yours; remove the one from %s that you do not need", own.path,
			path, path), nil
	}
	account, err := w.keepHuman(ctx, dir, key)
	if err != nil {
		return "", err
	}
	return "Your key was moved from " + path + " to " + humanPlace(dir, account), editKeysFile(path, func(name, value string) bool {
		return name == accountKey || (name == humanKey && value == key)
	}, account)
}

// humanPlace describes where the person's key is.
func humanPlace(dir, account string) string {
	if account != "" {
		return "the keyring (parley, " + account + ")"
	}
	return filepath.Join(dir, humanFile) + ", " + readable
}

// editKeysFile removes the variables of a keys.env that remove names, and adds the account in the keyring if there is
// one.
func editKeysFile(path string, remove func(name, value string) bool, account string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		if name, value, ok := variable(string(line)); !ok || !remove(name, value) {
			out.Write(line)
		}
	}
	if account != "" {
		if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "export %s=%s\n", accountKey, account)
	}
	return writePrivate(path, out.Bytes())
}

// findHuman returns the person's key that the server's first start made, and where it is: in human.env, in the keyring,
// or in an older keys.env. It returns an empty key if there is none.
func (w *world) findHuman(ctx context.Context, file keysEnvFile) (key, from string, err error) {
	own, err := readKeysFile(filepath.Join(filepath.Dir(file.path), humanFile))
	if err != nil {
		return "", "", err
	}
	for _, f := range []keysEnvFile{own, file} {
		if key := f.vars[humanKey]; key != "" {
			return key, humanKey + " in " + f.path, nil
		}
	}
	account := file.vars[accountKey]
	if account == "" {
		return "", "", nil
	}
	ring, err := keyring.Open(w.env)
	if err == nil {
		key, err = ring.Find(ctx, account)
	}
	if err != nil {
		return "", "", fmt.Errorf("your key is in the keyring (parley, %s), which cannot give it: %w; unlock it, or set the "+
			"variable %s to a human's key", account, err, humanKey)
	}
	return key, "the keyring (parley, " + account + ")", nil
}

// keyHuman is the command that prints the person's own key.
func (w *world) keyHuman() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "human", Short: "Print your own key, which the first start made", Args: cobra.NoArgs,
		Long: "Print your own key, which the first start made: from the keyring, from human.env in the data directory, or\n" +
			"from an older keys.env. Answers that are given with it have the assurance local.",
		Example: "  export PARLEY_HUMAN_KEY=$(parley key human)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := readKeysFile(filepath.Join(c.Data, keysFile))
			if err != nil {
				return err
			}
			key, _, err := w.findHuman(cmd.Context(), file)
			if err == nil && key == "" {
				err = fmt.Errorf("there is no key of yours in %s; create one with `parley key create --user YOU --kind human`",
					c.Data)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(w.out, key)
			return err
		}}
	store := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.StoreFlags(store, w.env)
	cmd.Flags().AddFlag(store.Lookup("data"))
	return cmd
}

// humanAt returns where the person's key of a data directory is. It reaches no keyring.
func humanAt(dir string) doctor.HumanKey {
	for _, name := range []string{humanFile, keysFile} {
		if file, err := readKeysFile(filepath.Join(dir, name)); err == nil && file.vars[humanKey] != "" {
			return doctor.HumanKey{File: file.path, Old: name == keysFile}
		}
	}
	if file, err := readKeysFile(filepath.Join(dir, keysFile)); err == nil {
		return doctor.HumanKey{Account: file.vars[accountKey]}
	}
	return doctor.HumanKey{}
}

// syncDir makes the names of the files in a directory durable. Windows does that by itself.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// variable returns the name and the value of a line of a file of variables.
func variable(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, "=")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export ")), strings.TrimSpace(value), ok
}
