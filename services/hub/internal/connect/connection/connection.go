package connection

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley.internal/services/hub/internal/keepout"
)

// Connection is the connection of one client, in one directory or everywhere, to a server.
type Connection struct {
	ID string `json:"id"`
	// Client is the client's name in `parley connect`, such as claude.
	Client string `json:"client"`
	// Program is the name that the key is bound to.
	Program string `json:"program"`
	// URL is the server's base URL, without /mcp and /v1.
	URL string `json:"url"`
	// Endpoint is the URL of the MCP endpoint that the client was given.
	Endpoint string `json:"endpoint"`
	// Project is the root of the connected directory; empty for a connection of the user, which holds everywhere.
	Project string `json:"project,omitempty"`
	// Key is the key, where no keyring has it.
	Key string `json:"key,omitempty"`
	// Account is the name of the key in the user's keyring, of the service parley.
	Account string `json:"account,omitempty"`
	// KeyID is the id of the key, which is no secret.
	KeyID string `json:"keyId"`
	// Given is set for a key that the person gave, and that connecting did not make.
	Given bool `json:"given,omitempty"`
	// Hook is the absolute path of the hook's program; empty where no hooks are installed.
	Hook string `json:"hook,omitempty"`
	// Plugin is set where the hooks are to be a plugin of the client and not in its settings.
	Plugin      bool        `json:"plugin,omitempty"`
	Permissions Permissions `json:"permissions"`
	Wake        Wake        `json:"wake"`
	ConnectedAt time.Time   `json:"connectedAt"`
}

// Permissions say whether, and how, the person answers the client's permission requests by Parley.
type Permissions struct {
	// On is set by the person. Without it the hook says nothing to a request.
	On bool `json:"on"`
	// Timeout is the time in seconds after which the client asks by itself; 0 stands for the hook's default.
	Timeout int `json:"timeout,omitempty"`
	// Allow and Deny are patterns of requests that are answered at once, in the form TOOL or TOOL(PATTERN), such as
	// "Bash(git status*)". Deny wins.
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Assurance is the assurance that an answer needs. Empty stands for paired: a device, once the person has paired one.
	Assurance string `json:"assurance,omitempty"`
}

// Asked returns the assurance that an answer needs.
func (p Permissions) Asked() string { return cmp.Or(p.Assurance, "paired") }

// Wake are the rules for waking an idle agent. Zero fields stand for the defaults.
type Wake struct {
	Off bool `json:"off,omitempty"`
	// On are the types of messages that wake beside the default ones, such as RESULT.
	On []string `json:"on,omitempty"`
	// PerHour and PerSender are the largest numbers of wakes in an hour.
	PerHour   int `json:"perHour,omitempty"`
	PerSender int `json:"perSender,omitempty"`
	// Continue lets the end of a turn continue it for unread mail and open tasks also in a terminal.
	Continue bool `json:"continue,omitempty"`
}

// Variable is the environment variable that names the configuration directory of Parley.
const Variable = "PARLEY_CONFIG"

// largest is the largest size of a connection's file.
const largest = 1 << 20

var validID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ErrNone means that there is no connection with an id.
var ErrNone = errors.New("there is no such connection")

// Home returns the configuration directory of Parley: that of the variable, or else parley in the user's.
func Home(env func(string) string) (string, error) {
	if dir := env(Variable); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%s must be an absolute path, not %q", Variable, dir)
		}
		return filepath.Clean(dir), nil
	}
	dir, err := userConfig(env)
	if err != nil {
		return "", fmt.Errorf("%w; set %s to a directory", err, Variable)
	}
	return filepath.Join(dir, "parley"), nil
}

// Dir returns the directory of the connections.
func Dir(env func(string) string) (string, error) {
	home, err := Home(env)
	return filepath.Join(home, "connections"), err
}

// ID returns the id of the connection of a client in a project, which is empty for that of the user.
func ID(client, project string) string {
	if project == "" {
		return client + "-user"
	}
	sum := sha256.Sum256([]byte(project))
	return client + "-" + hex.EncodeToString(sum[:5])
}

func path(dir, id string) (string, error) {
	if !validID.MatchString(id) {
		return "", fmt.Errorf("%q is not the id of a connection; `parley connect --list` shows them", id)
	}
	return filepath.Join(dir, id+".json"), nil
}

// Read returns a connection, or [ErrNone].
func Read(dir, id string) (Connection, error) {
	var c Connection
	name, err := path(dir, id)
	if err != nil {
		return c, err
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("%w: %s; make it with `parley connect`", ErrNone, id)
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	if err := private(f); err != nil {
		return c, fmt.Errorf("%s is not used: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(text) > largest {
		err = errors.New("it is too large")
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.ID != id {
		err = fmt.Errorf("it is the connection %q", c.ID)
	}
	if err != nil {
		return Connection{}, fmt.Errorf("%s is not a connection: %w; make it again with `parley connect`", name, err)
	}
	return c, nil
}

// private refuses a file that is not the user's alone.
func private(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return ownOnly(info)
}

// Write stores a connection, and reports whether that changed its file.
func (c Connection) Write(dir string) (changed bool, err error) {
	name, err := path(dir, c.ID)
	if err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return false, err
	}
	return WritePrivate(name, append(text, '\n'))
}

// WritePrivate replaces a file with one that the user alone can read, if its text differs, and makes its directory, out of
// which it keeps git.
func WritePrivate(name string, text []byte) (changed bool, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return false, err
	}
	if err := keepout.Dir(filepath.Dir(name)); err != nil {
		return false, fmt.Errorf("git is not kept from %s: %w", name, err)
	}
	if f, err := os.Open(name); err == nil {
		before, err := io.ReadAll(f)
		same := err == nil && private(f) == nil && bytes.Equal(before, text)
		f.Close()
		if same {
			return false, nil
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".write-*") // of mode 0600
	if err != nil {
		return false, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	return true, nil
}

// Remove removes a connection's file, if it is there.
func Remove(dir, id string) error {
	name, err := path(dir, id)
	if err != nil {
		return err
	}
	return RemovePrivate(name)
}

// RemovePrivate removes a file that [WritePrivate] wrote, if it is there, and also the .gitignore beside it if the
// directory has no other files.
func RemovePrivate(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return keepout.Leave(filepath.Dir(name))
}

// List returns the connections, sorted by id, and an error for each file that is none.
func List(dir string) ([]Connection, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Connection
	var wrong []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !validID.MatchString(id) {
			continue
		}
		c, err := Read(dir, id)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Connection) int { return strings.Compare(a.ID, b.ID) })
	return all, errors.Join(wrong...)
}

// userConfig returns the user's configuration directory, as [os.UserConfigDir] does, by the variables of env.
func userConfig(env func(string) string) (string, error) {
	name, below := configVariable()
	if dir := env("XDG_CONFIG_HOME"); name == "HOME" && below == ".config" && filepath.IsAbs(dir) {
		return dir, nil
	}
	dir := env(name)
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("the configuration directory is unknown, because %s names no directory", name)
	}
	return filepath.Join(dir, below), nil
}
