package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/rest"
)

// humanKey is the variable of a human's key, in the environment and in keys.env.
const humanKey = "PARLEY_HUMAN_KEY"

const (
	// prompt is how long a server may take to answer, beside what it was told to wait.
	prompt = 30 * time.Second
	// maxAnswer bounds an answer of the server.
	maxAnswer = 16 << 20
)

// human calls a running server for the person at the terminal.
type human struct {
	base, key string
	// from says where the key was found, and variable where to put another.
	from, variable string
	http           *http.Client
	// ahead is how far the server's clock is before this machine's.
	ahead atomic.Int64
}

// humanFlags declares where the server is and how it is called. The result is read
// when the command runs.
func (w *world) humanFlags(cmd *cobra.Command) func() (*human, error) {
	var c config.Config
	var url, keyEnv string
	store := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.StoreFlags(store, w.env)
	data := store.Lookup("data")
	data.Usage = "directory of the server's keys.env (PARLEY_DATA)"
	f := cmd.Flags()
	f.AddFlag(data)
	f.StringVar(&url, "url", w.env("PARLEY_URL"), "the server's URL (PARLEY_URL; else that of keys.env)")
	f.StringVar(&keyEnv, "key-env", humanKey, "the variable that holds a human's key; without it "+humanKey+" of keys.env is used")
	return func() (*human, error) {
		file, err := readKeysFile(filepath.Join(c.Data, keysFile))
		if err != nil {
			return nil, err
		}
		h := &human{variable: keyEnv, from: "the variable " + keyEnv, key: strings.TrimSpace(w.env(keyEnv)),
			http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
		if h.key == "" && !f.Changed("key-env") {
			h.from, h.key = humanKey+" in "+file.path, file.vars[humanKey]
		}
		if url == "" {
			url = file.vars["PARLEY_URL"]
		}
		if url == "" {
			return nil, fmt.Errorf("no server is known: %s names none; start one with `parley serve`, or give --url or --data", file.path)
		}
		if h.base, err = baseURL(url); err != nil {
			return nil, err
		}
		if h.from != "the variable "+keyEnv && h.key != "" && !sameHost(url, file.vars["PARLEY_URL"]) {
			return nil, fmt.Errorf("the key in %s is for the server there, not for %s; set the variable %s to a human's key of that server", file.path, h.base, humanKey)
		}
		if h.key == "" && f.Changed("key-env") {
			return nil, fmt.Errorf("the variable %s holds no key; set it to a human's key, or leave --key-env out", keyEnv)
		}
		if h.key == "" {
			return nil, fmt.Errorf("no key: neither the variable %s nor %s holds one; make one with `parley key create --user YOU --kind human` and set the variable to it", humanKey, file.path)
		}
		return h, nil
	}
}

type keysEnvFile struct {
	path string
	vars map[string]string
}

// readKeysFile reads what the first start wrote; a file that is not there is empty.
func readKeysFile(path string) (keysEnvFile, error) {
	file := keysEnvFile{path, map[string]string{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return file, fmt.Errorf("cannot read the keys: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, "="); ok {
			file.vars[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return file, nil
}

// sameHost says whether two URLs name one host, on whatever port: a server may have
// moved to another since its keys were written.
func sameHost(a, b string) bool {
	u, err := neturl.Parse(a)
	v, err2 := neturl.Parse(b)
	return err == nil && err2 == nil && strings.EqualFold(u.Hostname(), v.Hostname())
}

// baseURL is what /v1 is appended to, of an MCP URL, a REST one or the base itself.
func baseURL(text string) (string, error) {
	u, err := neturl.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("the server's URL is http://host:port or https://host, in --url, PARLEY_URL or keys.env")
	}
	path := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	if i := slices.Index(path, "mcp"); i >= 0 {
		path = path[:i]
	}
	if n := len(path); n > 0 && path[n-1] == "v1" {
		path = path[:n-1]
	}
	base := u.Scheme + "://" + u.Host
	if len(path) > 0 && path[0] != "" {
		base += "/" + strings.Join(path, "/")
	}
	return base, nil
}

// unreachable is that no server answered.
type unreachable struct {
	base  string
	cause error
}

func (e *unreachable) Error() string {
	return fmt.Sprintf("no server answers at %s (%v); start it with `parley serve`, or say where it is with --url", e.base, e.cause)
}

func (e *unreachable) Unwrap() error { return e.cause }

// refusal is that the server answered with a fault. Its message was made clean.
type refusal struct {
	status        int
	code, message string
}

func (e *refusal) Error() string { return e.message }

// passing says whether the same call may fare better later.
func passing(err error) bool {
	var r *refusal
	if errors.As(err, &r) {
		return r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests
	}
	var u *unreachable
	return errors.As(err, &u)
}

// now is the time by the server's clock, which its times are to be measured by.
func (h *human) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// call calls the server and reads the data of its answer. The path is escaped
// already; wait is how long the call was told to wait.
func (h *human) call(ctx context.Context, method, path string, body, out any, wait time.Duration) (err error) {
	defer func(interrupt context.Context) {
		if err != nil && interrupt.Err() != nil {
			err = errors.New("interrupted")
		}
	}(ctx)
	ctx, cancel := context.WithTimeout(ctx, prompt+wait)
	defer cancel()
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := h.http.Do(req)
	if err != nil {
		return h.lost(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1)); err != nil {
		return h.lost(err)
	}
	return h.read(res, text, out)
}

func (h *human) lost(err error) error {
	var wrapped *neturl.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the message names the URL already
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it is silent")
	}
	return &unreachable{h.base, err}
}

// read opens the envelope.
func (h *human) read(res *http.Response, text []byte, out any) error {
	var envelope struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   rest.Error      `json:"error"`
		Meta    rest.Meta       `json:"meta"`
	}
	if err := json.Unmarshal(text, &envelope); err != nil || envelope.Success == (envelope.Error.Code != "") || envelope.Success != (res.StatusCode < 300) {
		return &refusal{res.StatusCode, "", fmt.Sprintf("what answers at %s with status %d is no Parley server; say where one is with --url", h.base, res.StatusCode)}
	}
	if at := envelope.Meta.Timestamp; !at.IsZero() {
		h.ahead.Store(int64(time.Until(at)))
	}
	if !envelope.Success {
		return h.refused(res.StatusCode, envelope.Error)
	}
	if err := json.Unmarshal(envelope.Data, out); err != nil {
		return fmt.Errorf("the answer of %s cannot be read; is it of the same version? (%w)", h.base, err)
	}
	return nil
}

func (h *human) refused(status int, e rest.Error) error {
	said := clean(strings.ReplaceAll(e.Message, h.key, "…"))
	switch status {
	case http.StatusUnauthorized:
		said = fmt.Sprintf("%s does not take the key of %s: %s; set %s to a good key of a human, which `parley key create --user YOU --kind human` makes", h.base, h.from, said, h.variable)
	case http.StatusForbidden:
		said = fmt.Sprintf("the key of %s may not do this: %s; it takes a human's key, set %s to one", h.from, said, h.variable)
	case http.StatusInternalServerError:
		said = fmt.Sprintf("%s: %s; its log says more", h.base, said)
	}
	return &refusal{status, e.Code, said}
}
