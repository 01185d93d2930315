package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"parley.internal/services/hub/internal/config"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

// localUser owns what a laptop's server keeps.
const localUser = "local"

// firstKeys are made on the first start, in the order of keys.env.
var firstKeys = []struct {
	variable, label string
	in              keys.CreateInput
}{
	{"PARLEY_KEY", "key of program alpha", keys.CreateInput{Name: "first start", Program: "alpha"}},
	{"PARLEY_KEY_BETA", "key of program beta", keys.CreateInput{Name: "first start", Program: "beta"}},
	{"PARLEY_HUMAN_KEY", "key of the human", keys.CreateInput{Name: "first start", Kind: identity.Human}},
}

const keysFile = "keys.env"

// welcome prints where the server is. On the first start of an empty data
// directory it makes the first keys, writes keys.env and prints them once.
func (w *world) welcome(ctx context.Context, c *config.Config, a *app.App, addr net.Addr) error {
	base := url(c, addr)
	text := &bytes.Buffer{} // written at once, so that who waits for the URL has all of it
	fmt.Fprintf(text, "Parley %s serves MCP at %s/mcp and REST at %s/v1 (%s)\n", version(), base, base, c.Store)
	var err error
	if c.Store == "sqlite" {
		err = localKeys(ctx, text, c, a, base)
	} else {
		fmt.Fprintf(text, "Make a key: parley key create --store firestore --project %s --user YOU --program NAME\n",
			c.Project)
	}
	if err != nil {
		return err
	}
	_, err = text.WriteTo(w.out)
	return err
}

// localKeys sees to the keys of a laptop's user and tells about them.
func localKeys(ctx context.Context, text *bytes.Buffer, c *config.Config, a *app.App, base string) error {
	path := filepath.Join(c.Data, keysFile)
	page, err := a.Keys.List(ctx, operator(localUser), keys.ListInput{Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Keys) > 0 {
		more := fmt.Sprintf("parley key create --data %s --user %s --program NAME", c.Data, localUser)
		there, err := movedTo(path, base)
		if there {
			fmt.Fprintf(text, "The keys of the first start are in %s; make more with: %s\n", path, more)
		} else {
			fmt.Fprintf(text, "The keys of the first start were shown then; make another with: %s\n", more)
		}
		return err
	}
	env := bytes.NewBufferString("PARLEY_URL=" + base + "/mcp\n")
	for _, k := range firstKeys {
		out, err := a.Keys.Issue(ctx, localUser, k.in)
		if err != nil {
			return err
		}
		fmt.Fprintf(env, "%s=%s\n", k.variable, out.Key)
		fmt.Fprintf(text, "%-21s %s\n", k.label+":", out.Key)
	}
	fmt.Fprintf(text, "They are in %s; this is the only time they are shown.\n", path)
	return writePrivate(path, env.Bytes())
}

// movedTo keeps the URL in keys.env true when the server starts on another address,
// and says whether the file is there: its owner may have put it elsewhere.
func movedTo(path, base string) (there bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	first, rest, ok := bytes.Cut(text, []byte("\n"))
	line := []byte("PARLEY_URL=" + base + "/mcp")
	if !ok || !bytes.HasPrefix(first, []byte("PARLEY_URL=")) || bytes.Equal(first, line) {
		return true, nil
	}
	return true, writePrivate(path, bytes.Join([][]byte{line, rest}, []byte("\n")))
}

// writePrivate replaces a file at once and whole, readable by its owner alone.
func writePrivate(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
