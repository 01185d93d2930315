package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/fault"
)

// exitHeld is the exit code of commands about files where another holds one; 1 stands for any other trouble.
const exitHeld = 3

// exit ends the program with an exit code of its own. Without an error nothing more is printed.
type exit struct {
	code int
	err  error
}

// Error returns the text of the error.
func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// agentKey is the name of the variable with an agent's key.
const agentKey = "PARLEY_KEY"

// repoFlags are the flags of commands about the files of a repository.
type repoFlags struct {
	w                            *world
	cmd                          *cobra.Command
	data                         config.Config
	url, keyEnv, session, folder string
}

// repoFlags declares the flags for the repository, the server and the key.
func (w *world) repoFlags(cmd *cobra.Command) *repoFlags {
	f := &repoFlags{w: w, cmd: cmd}
	store := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.data.StoreFlags(store, w.env)
	data := store.Lookup("data")
	data.Usage = "directory of the server's keys.env and human.env (PARLEY_DATA)"
	p := cmd.Flags()
	p.AddFlag(data)
	p.StringVar(&f.url, "url", w.env("PARLEY_URL"), "the server's URL (PARLEY_URL; by default that in keys.env)")
	p.StringVar(&f.keyEnv, "key-env", agentKey,
		"the variable that holds the key; by default "+agentKey+", else "+humanKey+" and your key in human.env or the keyring")
	p.StringVar(&f.session, "session", w.env("PARLEY_SESSION"),
		"the session that an agent's reservations belong to, an id or an address such as claude/2 (PARLEY_SESSION)")
	p.StringVar(&f.folder, "repo", ".", "a directory in the repository")
	return f
}

// repo is a checkout, and a client of the server that keeps its reservations.
type repo struct {
	*checkout.Checkout
	*human
	agent   bool
	session string
}

// open finds the checkout and makes the client.
func (f *repoFlags) open() (*repo, error) {
	c, err := checkout.Find(f.cmd.Context(), f.folder)
	if err != nil {
		return nil, err
	}
	return f.connect(f.cmd.Context(), c)
}

// connect makes a client with the key of the agent, or else of the person.
func (f *repoFlags) connect(ctx context.Context, c *checkout.Checkout) (*repo, error) {
	w := f.w
	file, err := readKeysFile(filepath.Join(f.data.Data, keysFile))
	if err != nil {
		return nil, err
	}
	url := cmp.Or(f.url, file.vars["PARLEY_URL"], "http://127.0.0.1:3001")
	r := &repo{Checkout: c, agent: true, session: f.session,
		human: &human{variable: f.keyEnv, from: "the variable " + f.keyEnv, key: strings.TrimSpace(w.env(f.keyEnv))}}
	if r.key == "" && f.cmd.Flags().Changed("key-env") {
		return nil, fmt.Errorf("the variable %s holds no key; set it, or omit --key-env", f.keyEnv)
	}
	if r.key == "" {
		r.agent, r.variable, r.from, r.session = false, humanKey, "the variable "+humanKey, ""
		if r.key = strings.TrimSpace(w.env(humanKey)); r.key == "" {
			if r.key, r.from, err = w.findHuman(ctx, file); err != nil {
				return nil, err
			}
			if r.key != "" && !sameHost(url, file.vars["PARLEY_URL"]) {
				return nil, fmt.Errorf(
					"the key of %s belongs to the server named in %s, not to %s; set %s to a key of that server",
					r.from, file.path, url, agentKey)
			}
		}
	}
	if r.key == "" {
		return nil, fmt.Errorf("no key: set %s to the key of an agent, or %s to that of a person", agentKey, humanKey)
	}
	base, err := baseURL(url)
	if err != nil {
		return nil, err
	}
	if err := r.dial(base); err != nil {
		return nil, err
	}
	if r.session != "" {
		r.Client = r.With(client.WithSession(r.session))
	}
	return r, nil
}

// answerTime is the time that the server has for an answer, beside the time for which a call waits for its turn.
const answerTime = 10 * time.Second

// within makes a call that waits for its turn for a while, and ends it when the server does not answer.
func within[O any](ctx context.Context, r *repo, wait time.Duration, call func(context.Context) (O, error)) (O, error) {
	limit := wait + answerTime
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := call(timed)
	if err != nil && ctx.Err() == nil && timed.Err() != nil {
		return out, fmt.Errorf("%s has not answered within %v; check that it is well with `parley doctor`, or give the URL of "+
			"another server with --url", r.Base(), limit.Round(time.Second))
	}
	return out, err
}

// why returns the error of a call with advice. It does not contain the key.
func (r *repo) why(ctx context.Context, err error) error {
	var e *client.Error
	if err == nil || ctx.Err() != nil || !r.agent || !errors.As(err, &e) {
		return r.explain(ctx, err)
	}
	said := printable.Line(strings.ReplaceAll(e.Fault.Message, r.key, "…"))
	switch e.Status {
	case http.StatusUnauthorized:
		return &failure{fmt.Sprintf("%s refuses the key of %s: %s; set it to a valid key", r.Base(), r.from, said), e}
	case http.StatusForbidden:
		return &failure{fmt.Sprintf("the key of %s may not do this: %s", r.from, said), e}
	}
	return r.explain(ctx, err)
}

// held reports whether a call failed because others hold the files.
func held(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code == fault.Precondition.Code() && len(e.Fault.Problems) > 0 &&
		strings.HasPrefix(e.Fault.Problems[0].Path, "paths[")
}

// document prints a value as JSON, with the characters escaped that are not printable.
func (w *world) document(v any) error {
	enc := json.NewEncoder(printable.Writer{To: w.out})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// until returns a time for a table, by the clock of this machine's zone.
func until(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
