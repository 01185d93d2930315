package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
)

// humanKey is the name of the variable with a human's key, in the environment and in human.env.
const humanKey = "PARLEY_HUMAN_KEY"

// human is a client of a running server for the person at the terminal.
type human struct {
	*client.Client
	key string
	// from is the source of the key, and variable the variable for another key; both appear in errors.
	from, variable string
	// ahead is the difference of the server's clock from that of this machine, in nanoseconds.
	ahead atomic.Int64
}

// dial creates the client. It does not retry: a person sees a failure at once and decides, and a live view has its own
// pauses.
func (h *human) dial(base string) (err error) {
	h.Client, err = client.New(base, h.key, client.WithRetry(client.NoRetry),
		client.WithUserAgent("parley/"+Version), client.WithObserver(func(_ context.Context, a client.Attempt) {
			if !a.ServerTime.IsZero() {
				h.ahead.Store(int64(time.Until(a.ServerTime)))
			}
		}))
	return err
}

// noKeyError is the error of a machine that holds no key of a person for a server.
type noKeyError struct{ base, said string }

func (e *noKeyError) Error() string { return e.said }

// humanFlags declares the flags for the server and the key. The returned function creates the client; call it when the
// command runs.
func (w *world) humanFlags(cmd *cobra.Command) func() (*human, error) {
	var c config.Config
	var url, keyEnv string
	store := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.StoreFlags(store, w.env)
	data := store.Lookup("data")
	data.Usage = "directory of the server's keys.env and human.env (PARLEY_DATA)"
	f := cmd.Flags()
	f.AddFlag(data)
	f.StringVar(&url, "url", w.env("PARLEY_URL"), "the server's URL (PARLEY_URL; by default that in keys.env)")
	f.StringVar(&keyEnv, "key-env", humanKey,
		"the variable that holds a human's key; by default "+humanKey+", else the key in human.env or the keyring")
	return func() (*human, error) {
		file, err := readKeysFile(filepath.Join(c.Data, keysFile))
		if err != nil {
			return nil, err
		}
		h := &human{variable: keyEnv, from: "the variable " + keyEnv, key: strings.TrimSpace(w.env(keyEnv))}
		if h.key == "" && !f.Changed("key-env") {
			if h.key, h.from, err = w.findHuman(cmd.Context(), file); err != nil {
				return nil, err
			}
		}
		if url == "" {
			url = file.vars["PARLEY_URL"]
		}
		if url == "" {
			return nil, fmt.Errorf(
				"no server is known: %s names none; start one with `parley serve`, or give --url or --data",
				file.path)
		}
		base, err := baseURL(url)
		if err != nil {
			return nil, err
		}
		if h.from != "the variable "+keyEnv && h.key != "" && !sameHost(url, file.vars["PARLEY_URL"]) {
			return nil, &noKeyError{base, fmt.Sprintf(
				"the key of %s belongs to the server named in %s, not to %s; "+
					"set the variable %s to a human's key of that server", h.from, file.path, base, humanKey)}
		}
		if h.key == "" && f.Changed("key-env") {
			return nil, fmt.Errorf("the variable %s holds no key; set it to a human's key, or omit --key-env",
				keyEnv)
		}
		if h.key == "" {
			return nil, &noKeyError{base, fmt.Sprintf(
				"no key: neither the variable %s nor human.env or keys.env in %s holds one; "+
					"create one with `parley key create --user YOU --kind human` and set the variable to it", humanKey,
				c.Data)}
		}
		return h, h.dial(base)
	}
}

// keysEnvFile holds the variables of a keys.env or a human.env.
type keysEnvFile struct {
	path string
	vars map[string]string
}

// readKeysFile reads the keys.env or the human.env that the first start wrote. A missing file counts as an empty one.
func readKeysFile(path string) (keysEnvFile, error) {
	file := keysEnvFile{path, map[string]string{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return file, fmt.Errorf("cannot read the keys: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := variable(line); ok {
			file.vars[name] = value
		}
	}
	return file, nil
}

// sameHost reports whether two URLs have the same host. The port may differ, since a server may have moved to another
// one after its keys were written.
func sameHost(a, b string) bool {
	u, err := neturl.Parse(a)
	v, err2 := neturl.Parse(b)
	return err == nil && err2 == nil && strings.EqualFold(u.Hostname(), v.Hostname())
}

// baseURL returns the base URL of a server from its MCP URL, its REST URL or the base URL itself.
func baseURL(text string) (string, error) {
	base, err := client.BaseURL(text)
	if err != nil {
		return "", fmt.Errorf("%w; correct --url, PARLEY_URL or keys.env", err)
	}
	return base, nil
}

// failure is the error of a call with a message for the person at the terminal. The message is clean.
type failure struct {
	message string
	cause   *client.Error
}

// Error returns the message for the terminal.
func (f *failure) Error() string { return f.message }

// Unwrap returns the client's error.
func (f *failure) Unwrap() error { return f.cause }

// temporary reports whether the same call may succeed later.
func temporary(err error) bool {
	var e *client.Error
	return errors.As(err, &e) &&
		(e.Status == 0 || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests)
}

// now returns the time of the server's clock, with which the times of its documents are compared.
func (h *human) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// explain returns the error of a call with advice for the person at the terminal. The error does not contain the key.
func (h *human) explain(ctx context.Context, err error) error {
	var e *client.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case !errors.As(err, &e):
		return err
	}
	said, cause := printable.Line(strings.ReplaceAll(e.Fault.Message, h.key, "…")), errors.Unwrap(e.Fault)
	switch {
	case e.Status == 0:
		said = fmt.Sprintf("%s (%s); start it with `parley serve`, or give its URL with --url", said,
			printable.Line(fmt.Sprint(cause)))
	case e.Code == "" && cause != nil:
		said = fmt.Sprintf("%s (%s)", said, printable.Line(cause.Error()))
	case e.Code == "":
		said += "; give the URL of a server with --url"
	case e.Status == http.StatusUnauthorized:
		said = fmt.Sprintf("%s refuses the key of %s: %s; set %s to a valid key of a human, "+
			"which `parley key create --user YOU --kind human` creates", h.Base(), h.from, said, h.variable)
	case e.Status == http.StatusForbidden:
		said = fmt.Sprintf("the key of %s may not do this: %s; set %s to the key of a human",
			h.from, said, h.variable)
	case e.Status == http.StatusInternalServerError:
		said = fmt.Sprintf("%s: %s; see its log", h.Base(), said)
	}
	return &failure{said, e}
}
