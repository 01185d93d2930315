package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/identity"
)

const connectHelp = "Give a client of agents the server, a key of its own, and hooks by which mail arrives by itself.\n\n" +
	"CLIENT is claude, codex, gemini, cursor, vscode, copilot, windsurf, or all for those that are installed. The key is\n" +
	"made with your own, and kept in the keyring, or else in a file of mode 0600 in your configuration directory. Settings\n" +
	"that are there stay byte for byte; --dry-run shows what changes, and --remove takes it back and revokes the key.\n" +
	"Running it again changes nothing, or brings the settings up to date.\n\n" +
	"With --url on a machine that has no key of yours for that server, it pairs: it shows a code and a link, you approve\n" +
	"on the console's page, on another machine or a phone, and the key arrives by itself."

// connectFlags are the flags of connect.
type connectFlags struct {
	project, user, noHooks, rules, dryRun, remove, list, status, stop, permissions, trust, goOn, plugin bool
	program, toolsets, folder, hookProgram, printHeaders, assurance                                     string
	timeout                                                                                             int
	allow, deny, wakeOn                                                                                 []string
	json                                                                                                *bool
	human                                                                                               func() (*human, error)
}

func (w *world) connectCommand() *cobra.Command {
	f := &connectFlags{}
	cmd := &cobra.Command{Use: "connect [CLIENT]", Short: "Connect a client of agents: server, key, hooks",
		Long: connectHelp, Args: cobra.MaximumNArgs(1),
		Example: "  parley connect claude\n  parley connect claude --url https://hub.example.org\n" +
			"  parley connect codex --dry-run\n  parley connect all --user\n" +
			"  parley connect claude --remove"}
	f.human = w.humanFlags(cmd)
	p := cmd.Flags()
	p.Lookup("key-env").Usage = "the variable that holds your key, or an agent's, which is then taken as it is; by default " + humanKey +
		", else your key in human.env or the keyring"
	p.BoolVar(&f.project, "project", false, "connect this repository alone (the default)")
	p.BoolVar(&f.user, "user", false, "connect every directory of your account")
	p.StringVar(&f.program, "program", "", "the name of the agent; by default the client's, or claude-2 where that is taken")
	p.StringVar(&f.toolsets, "toolsets", "", "the tools that the client sees: all, default, or toolsets separated by "+
		"commas; by default agent")
	p.BoolVar(&f.noHooks, "no-hooks", false, "give the client the server alone")
	p.BoolVar(&f.plugin, "plugin", false, "claude: install the hooks as a plugin, whose monitor wakes an idle agent, instead of "+
		"in its settings")
	p.BoolVar(&f.rules, "rules", false, "add a section on working with others to AGENTS.md or CLAUDE.md")
	p.BoolVar(&f.permissions, "permissions", false, "ring you for the client's permission requests")
	p.IntVar(&f.timeout, "permission-timeout", 300, "seconds after which the client asks by itself")
	p.StringVar(&f.assurance, "permission-assurance", "paired", "who may answer: device, passkey, local for any key of yours, "+
		"or paired for a device once you have paired one")
	p.StringArrayVar(&f.allow, "allow", nil, "a permission request to allow at once, such as 'Bash(git status*)'; repeatable")
	p.StringArrayVar(&f.deny, "deny", nil, "one to deny at once, which wins over --allow; repeatable")
	p.BoolVar(&f.goOn, "continue", false, "let a turn go on for a QUERY, an answer or a held task in a terminal too, 3 times in a row at most")
	p.StringSliceVar(&f.wakeOn, "wake-on", nil, "types of messages that wake an idle agent too: STATUS, PONG, ACK, RESULT")
	p.BoolVar(&f.trust, "trust", false, "codex: trust the repository, as its own prompt would")
	p.BoolVar(&f.dryRun, "dry-run", false, "show the changes of files as a diff, and make none")
	p.BoolVar(&f.remove, "remove", false, "take the connection back: files as they were, key revoked")
	p.BoolVar(&f.list, "list", false, "list the connections of this account")
	p.BoolVar(&f.status, "status", false, "show the daemon of the hooks and the sessions that it serves")
	p.BoolVar(&f.stop, "stop", false, "end that daemon; the next hook starts it again")
	p.StringVar(&f.folder, "repo", ".", "a directory in the repository")
	p.StringVar(&f.hookProgram, "hook-program", "", "the hooks' program; by default parley-hook beside this one")
	p.StringVar(&f.printHeaders, "print-headers", "", "print the headers of a connection, for clients that ask for them")
	_, _ = p.MarkHidden("hook-program"), p.MarkHidden("print-headers")
	f.json = jsonFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("project", "user")
	cmd.MarkFlagsMutuallyExclusive("plugin", "no-hooks")
	cmd.MarkFlagsMutuallyExclusive("plugin", "remove")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "list", "status", "stop", "print-headers")
	cmd.MarkFlagsMutuallyExclusive("remove", "list", "status", "stop", "print-headers")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		j := &connector{w: w, cmd: cmd, f: f}
		return j.run(cmd.Context(), args)
	}
	return cmd
}

// connector connects clients in a place.
type connector struct {
	w     *world
	cmd   *cobra.Command
	f     *connectFlags
	home  string // the configuration directory of Parley
	dir   string // that of the connections
	place connect.Place
	// release gives the lock of the connections back, while this run has it.
	release func() error
}

func (j *connector) run(ctx context.Context, args []string) (err error) {
	if j.home, err = connection.Home(j.w.env); err != nil {
		return err
	}
	if j.dir, err = connection.Dir(j.w.env); err != nil {
		return err
	}
	switch {
	case j.f.printHeaders != "":
		return j.headers(ctx, j.f.printHeaders)
	case j.f.list:
		return j.list(ctx)
	case j.f.status || j.f.stop:
		return j.ofDaemon(ctx, args)
	case len(args) == 0:
		return errors.New("name a client: claude, codex, gemini, cursor, vscode, copilot, windsurf, or all; --list shows what " +
			"is connected")
	}
	if err := j.locate(ctx); err != nil {
		return err
	}
	if j.f.program != "" && !identity.ValidName(j.f.program) {
		return errors.New("--program must be 1 to 100 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")
	}
	if !slices.Contains([]identity.Assurance{identity.Paired, identity.Local, identity.Device, identity.Passkey},
		identity.Assurance(j.f.assurance)) {
		return errors.New("--permission-assurance must be paired, local, device or passkey")
	}
	if err := errors.Join(hook.CheckRules(j.f.allow), hook.CheckRules(j.f.deny)); err != nil {
		return fmt.Errorf("--allow and --deny: %w", err)
	}
	if j.f.timeout < 1 || j.f.timeout > 3600 {
		return errors.New("--permission-timeout must be 1 to 3600 seconds")
	}
	clients, err := j.clients(args[0])
	if err != nil {
		return err
	}
	var reports []*connectReport
	failed := false
	for _, c := range clients {
		r := &connectReport{Client: c.Name, Steps: []connectStep{}, Files: []connectFile{}}
		reports = append(reports, r)
		act := j.connect
		if j.f.remove {
			act = j.remove
		}
		if err := act(ctx, c, r); err != nil {
			if len(clients) == 1 && !*j.f.json {
				_ = j.print(r)
				return err
			}
			r.fail("connect", printable.Line(err.Error()))
		}
		failed = failed || r.failed()
		if !*j.f.json {
			if err := j.print(r); err != nil {
				return err
			}
		}
	}
	if *j.f.json {
		if err := j.w.document(map[string]any{"connections": reports}); err != nil {
			return err
		}
	}
	if failed {
		return exit{1, nil}
	}
	return nil
}

// locate finds out where the client is connected.
func (j *connector) locate(ctx context.Context) error {
	home := cmp.Or(j.w.env("HOME"), j.w.env("USERPROFILE"))
	if home == "" {
		return errors.New("the home directory is unknown; set HOME")
	}
	j.place = connect.Place{Env: j.w.env, Home: home}
	if j.f.user {
		return nil
	}
	dir, err := filepath.Abs(j.f.folder)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", dir)
		}
	}
	if err != nil {
		return fmt.Errorf("--repo: %w", err)
	}
	j.place.Root, j.place.Main = dir, dir
	c, err := checkout.Find(ctx, dir)
	if err != nil {
		if real, e := filepath.EvalSymlinks(home); e == nil && real == dir {
			return errors.New("this is your home directory and no repository; run this in a repository, or with --user for " +
				"every directory")
		}
		return nil // a directory without a repository
	}
	j.place.Root, j.place.Main, j.place.Common = c.Root, c.Root, c.Common
	if filepath.Base(c.Common) == ".git" {
		j.place.Main = filepath.Dir(c.Common)
	}
	return nil
}

// clients returns the clients of a name.
func (j *connector) clients(name string) ([]connect.Client, error) {
	if name != "all" {
		c, err := connect.Find(name)
		if err != nil {
			group := groupOf("all")
			for _, c := range connect.Clients {
				group.AddCommand(groupOf(c.Name).Commands()...)
			}
			return nil, suggest(group, name, "", err)
		}
		return []connect.Client{c}, j.plugins(c)
	}
	if j.f.program != "" {
		return nil, errors.New("--program names one agent; give it with one client")
	}
	found := slices.DeleteFunc(slices.Clone(connect.Clients), func(c connect.Client) bool {
		if !j.f.remove {
			return !c.Installed()
		}
		_, err := os.Stat(filepath.Join(j.dir, j.id(c)+".json"))
		return err != nil
	})
	if len(found) == 0 {
		if j.f.remove {
			return nil, errors.New("nothing is connected here; --list shows the connections")
		}
		return nil, errors.New("none of the clients is installed in PATH; name one, whose settings are then written all the same")
	}
	return found, j.plugins(found...)
}

// plugins refuses a plugin for clients that take none from Parley.
func (j *connector) plugins(clients ...connect.Client) error {
	if !j.f.plugin {
		return nil
	}
	for _, c := range clients {
		if c.Plugins {
			continue
		}
		does := "runs no hooks of Parley"
		if c.Hooks {
			does = "has its hooks in its settings"
		}
		return fmt.Errorf("--plugin is for %s; %s %s, so connect it without --plugin; nothing was changed",
			strings.Join(connect.WithPlugins(), ", "), c.Title, does)
	}
	return nil
}

// placeOf returns the place for a client, which may know the user's servers only.
func (j *connector) placeOf(c connect.Client) connect.Place {
	p := j.place
	if c.UserOnly {
		p.Root, p.Main, p.Common = "", "", ""
	}
	return p
}

func (j *connector) id(c connect.Client) string { return connection.ID(c.Name, j.placeOf(c).Main) }

// programs returns the absolute paths of this program and of that of the hooks, which is empty if it is missing.
func (j *connector) programs() (parley, hook string, err error) {
	if parley, err = os.Executable(); err != nil {
		return "", "", err
	}
	hook = j.f.hookProgram
	if hook == "" {
		hook = filepath.Join(filepath.Dir(parley), "parley-hook")
		if runtime.GOOS == "windows" {
			hook += ".exe"
		}
	}
	if hook, err = filepath.Abs(hook); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(hook); err != nil || !info.Mode().IsRegular() {
		hook = ""
	}
	return parley, hook, nil
}

// connectReport is the report of the steps for one client.
type connectReport struct {
	Client     string        `json:"client"`
	Connection string        `json:"connection,omitempty"`
	Program    string        `json:"program,omitempty"`
	Endpoint   string        `json:"endpoint,omitempty"`
	Project    string        `json:"project,omitempty"`
	Files      []connectFile `json:"files"`
	Steps      []connectStep `json:"steps"`
	Diff       string        `json:"diff,omitempty"`
	Next       string        `json:"next,omitempty"`
}

type connectFile struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

// connectStep is a step with its state: done, todo for a step that is left to the person, or failed.
type connectStep struct {
	Step  string `json:"step"`
	State string `json:"state"`
	Text  string `json:"text"`
}

func (r *connectReport) done(step, text string) { r.step(step, "done", text) }
func (r *connectReport) todo(step, text string) { r.step(step, "todo", text) }
func (r *connectReport) fail(step, text string) { r.step(step, "failed", text) }

func (r *connectReport) step(step, state, text string) {
	r.Steps = append(r.Steps, connectStep{step, state, text})
}

func (r *connectReport) failed() bool {
	return slices.ContainsFunc(r.Steps, func(s connectStep) bool { return s.State == "failed" })
}

// changed adds the files that a plan changes.
func (r *connectReport) changed(p *connect.Plan) {
	for _, e := range p.Edits {
		i := slices.IndexFunc(r.Files, func(f connectFile) bool { return f.Path == e.Path })
		if c := e.Change(); c != "" && i < 0 {
			r.Files = append(r.Files, connectFile{e.Path, c})
		}
	}
}

// left tells of the files in which lines of Parley stay.
func (r *connectReport) left(p *connect.Plan) {
	for _, path := range p.Left {
		r.todo("rules", "the section of Parley in "+path+" was changed by hand and stays as it is; to have it replaced or removed, "+
			"delete it with both marks, and run this again")
	}
}

// loose warns of files that the client does not read.
func (r *connectReport) loose(c connect.Client, p *connect.Plan) {
	if !c.Strict {
		return
	}
	for _, path := range p.Loose() {
		r.todo("comments", path+" has comments, or commas at the end of lists, with which "+c.Title+" refuses the whole file, and "+
			"what Parley wrote there too; take them out")
	}
}

// print prints a report for a person.
func (j *connector) print(r *connectReport) error {
	var b strings.Builder
	if r.Diff != "" {
		b.WriteString(r.Diff)
	}
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "%-6s %-8s %s\n", s.State, s.Step, s.Text)
	}
	if r.Next != "" {
		fmt.Fprintf(&b, "next: %s\n", r.Next)
	}
	_, err := printable.Writer{To: j.w.out}.Write([]byte(b.String()))
	return err
}
