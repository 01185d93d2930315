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
	"strings"

	"parley.internal/services/hub/internal/config"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

// localUser is the user of the keys from the first start.
const localUser = "local"

// firstKeys are the keys that the first start creates, in the order in which they are printed.
var firstKeys = []struct {
	variable, label string
	in              keys.CreateInput
}{
	{"PARLEY_KEY", "key of program alpha", keys.CreateInput{Name: "first start", Program: "alpha"}},
	{"PARLEY_KEY_BETA", "key of program beta", keys.CreateInput{Name: "first start", Program: "beta"}},
	{humanKey, "key of the human", keys.CreateInput{Name: "first start", Kind: identity.Human}},
}

const keysFile = "keys.env"

// welcome prints the URLs of the server. On the first start with an empty data directory it creates the first keys,
// writes those of the agents to keys.env and that of the human to a place of its own, and prints them once.
func (w *world) welcome(ctx context.Context, c *config.Config, a *app.App, addr net.Addr) error {
	base := url(c, addr)
	text := &bytes.Buffer{} // written at once: a program that waits for the URL reads the keys with it
	fmt.Fprintf(text, "Parley %s serves MCP at %s/mcp and REST at %s/v1 (%s)\n", version(), base, base, c.Store)
	var err error
	if c.Store == "sqlite" {
		err = w.localKeys(ctx, text, c, a, base)
	} else {
		fmt.Fprintf(text, "Create a key: parley key create --store firestore --project %s --user YOU --program NAME\n",
			c.Project)
	}
	if err != nil {
		return err
	}
	_, err = text.WriteTo(w.out)
	return err
}

// localKeys creates the keys of the first start, or tells where they are.
func (w *world) localKeys(ctx context.Context, text *bytes.Buffer, c *config.Config, a *app.App, base string) error {
	path := filepath.Join(c.Data, keysFile)
	page, err := a.Keys.List(ctx, identity.Caller{User: localUser, Kind: identity.Human}, keys.ListInput{Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Keys) > 0 {
		more := fmt.Sprintf("parley key create --data %s --user %s --program NAME", c.Data, localUser)
		note, err := w.moveHuman(ctx, c.Data)
		if err != nil {
			return err
		}
		exists, err := updateURL(path, base)
		if note != "" {
			fmt.Fprintln(text, note)
		}
		if exists {
			fmt.Fprintf(text, "The keys of the first start are in %s; create more with: %s\n", path, more)
		} else {
			fmt.Fprintf(text, "The keys of the first start were shown once; create another with: %s\n", more)
		}
		return err
	}
	env, account := bytes.NewBufferString("export PARLEY_URL="+base+"/mcp\n"), ""
	for _, k := range firstKeys {
		out, err := a.Keys.Issue(ctx, localUser, k.in)
		if err != nil {
			return err
		}
		if k.variable != humanKey {
			fmt.Fprintf(env, "export %s=%s\n", k.variable, out.Key)
		} else if account, err = w.keepHuman(ctx, c.Data, out.Key); err != nil {
			return err
		}
		if !c.HideKeys {
			fmt.Fprintf(text, "%-21s %s\n", k.label+":", out.Key)
		}
	}
	if account != "" {
		fmt.Fprintf(env, "export %s=%s\n", accountKey, account)
	}
	shown := "this is the only time they are shown"
	if c.HideKeys {
		shown = "--hide-keys leaves them out here"
	}
	fmt.Fprintf(text, "The agents' keys are in %s, and yours is in %s; %s.\n", path, humanPlace(c.Data, account), shown)
	return writePrivate(path, env.Bytes())
}

// updateURL writes the current URL of the server to keys.env, whose variables it exports, and reports whether the file
// exists: its owner may have moved it. A file whose first line is not the URL is the owner's own, and is left as it is.
func updateURL(path, base string) (exists bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		name, _, ok := variable(line)
		ours := ok && strings.HasPrefix(name, "PARLEY_")
		switch {
		case out.Len() == 0 && name != "PARLEY_URL":
			return true, nil
		case out.Len() == 0:
			fmt.Fprintf(&out, "export PARLEY_URL=%s/mcp\n", base)
		case ours && strings.HasPrefix(strings.TrimSpace(line), name):
			out.WriteString("export " + strings.TrimSpace(line) + "\n")
		default:
			out.WriteString(line)
		}
	}
	if bytes.Equal(text, out.Bytes()) {
		return true, nil
	}
	return true, writePrivate(path, out.Bytes())
}

// writePrivate replaces a file atomically and durably with one that only its owner can read.
func writePrivate(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // created with mode 0600
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
	return syncDir(filepath.Dir(path))
}
