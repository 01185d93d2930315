package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/autostart"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/datadir"
	"parley.internal/services/hub/internal/printable"
)

// systemData is the data directory of a service of the machine; systemd makes it.
const systemData = "/var/lib/parley"

func (w *world) serviceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "service", Short: "Run the server always: install it as a service of systemd or launchd"}
	cmd.AddCommand(w.serviceInstall(), w.serviceStatus(), w.serviceUninstall())
	return cmd
}

// service returns the server as a service of this machine, without its arguments.
func (w *world) service(cmd *cobra.Command, system bool) (*autostart.Service, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("the home directory is unknown (%w): set HOME to it, such as HOME=/home/ann", err)
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	return &autostart.Service{OS: runtime.GOOS, System: system, UID: os.Getuid(), Home: home, Config: w.env("XDG_CONFIG_HOME"),
		Program: program, Run: run}, err
}

// run runs a program of the system.
func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), err
}

func (w *world) serviceInstall() *cobra.Command {
	var c config.Config
	var system, dry bool
	cmd := &cobra.Command{Use: "install [flags] [-- FLAGS OF SERVE]", Short: "Install and start the service",
		Long: "Install the server as a service that starts with your session or, with --system, with the machine. It prints no\n" +
			"keys: those of the first start are in the data directory. Other flags of `parley serve` follow after --.\n\n" +
			"It is refused where another program has the address, and ends with the exit code 1 where the server does not\n" +
			"answer within 10 seconds after its start.",
		Example: "  parley service install\n  sudo parley service install --system -- --public-url https://parley.example.org --trust-proxy 1 " +
			"--rate 50 --burst 200"}
	cmd.Flags().BoolVar(&system, "system", false, "for the machine, as root: the account parley runs it, confined")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the definition, and change nothing")
	cmd.Flags().StringVar(&c.Addr, "addr", "127.0.0.1:3001", "address to listen on")
	data := cmd.Flags().String("data", "", "data directory; by default ~/.parley, and "+systemData+" with --system")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return nil } // its data directory has a default of its own
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := w.service(cmd, system)
		if err != nil {
			return err
		}
		dir, err := serviceData(s, *data)
		if err != nil {
			return err
		}
		c.Data, c.Store = dir, "sqlite"
		s.Args = append([]string{"serve", "--data", dir, "--addr", c.Addr, "--hide-keys"}, args...)
		if err := checkServeArgs(s.Args[1:6], args); err != nil {
			return usage("%w; see `parley serve --help`", err)
		}
		if dry {
			text, err := s.Definition()
			if err == nil {
				_, err = io.WriteString(w.out, text)
			}
			return err
		}
		if system && os.Geteuid() != 0 {
			return errors.New("--system needs root: run it with sudo")
		}
		return w.startService(cmd.Context(), s, watch(), dir, c.Addr)
	}
	return cmd
}

// watch returns how the server of a service is asked after its start.
func watch() autostart.Watch {
	return autostart.Watch{
		Client: &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
		Now:    time.Now,
		Pause: func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
}

// startService installs and starts a service whose address and data directory are nobody else's, and says that it
// listens once it answers.
func (w *world) startService(ctx context.Context, s *autostart.Service, ask autostart.Watch, dir, addr string) error {
	if err := vacant(ctx, s, dir, addr); err != nil {
		return err
	}
	path, err := s.Install(ctx)
	if err != nil {
		return err
	}
	if err := ask.Answers(ctx, addr); err != nil {
		return fmt.Errorf("installed %s: %w; look with %s", path, err, s.Look())
	}
	fmt.Fprintf(w.out, "Installed %s and started it: the server listens on %s, with its data and the first keys in %s.\n", path, addr, dir)
	if s.OS == "linux" && !s.System {
		fmt.Fprintln(w.out, "It ends with your last session; `loginctl enable-linger` lets it go on.")
	}
	return nil
}

// vacant returns an error if another process than the service has its address or its data directory.
func vacant(ctx context.Context, s *autostart.Service, dir, addr string) error {
	const patience = 2 * time.Second // for a command that has the directory
	pid := s.PID(ctx)
	lock, err := datadir.TakeExisting(ctx, dir, "service install", patience)
	if lock != nil {
		err = lock.Release()
	}
	var taken *datadir.Taken
	own := errors.As(err, &taken) && pid != 0 && taken.PID == pid
	if err != nil && !own {
		return err
	}
	listener, err := listen(ctx, addr)
	if err == nil {
		return listener.Close()
	}
	if _, port, splitErr := net.SplitHostPort(addr); own && splitErr == nil && strings.HasSuffix(taken.URL, ":"+port) {
		return nil
	}
	return err
}

// serviceData returns the absolute data directory of a service.
func serviceData(s *autostart.Service, given string) (string, error) {
	switch {
	case s.System && given == "":
		given = systemData
	case s.System && given != systemData:
		return "", usage("a service of the machine has its data in %s: leave out --data", systemData)
	case given == "":
		given = filepath.Join(s.Home, ".parley")
	}
	for _, hidden := range []string{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"} {
		if s.System && strings.HasPrefix(s.Program, hidden) {
			return "", fmt.Errorf("a confined service cannot read %s: copy the program first, with `sudo install -m 755 %[1]s "+
				"/usr/local/bin/parley`, and run that one", s.Program)
		}
	}
	return filepath.Abs(given)
}

// checkServeArgs parses the flags of serve, those that the service has of its own and the others that follow after --, so
// that a service is not installed that cannot start.
func checkServeArgs(own, others []string) error {
	var c config.Config
	cmd := &cobra.Command{}
	flags := cmd.Flags()
	c.ServeFlags(flags, func(string) string { return "" })
	if err := flags.Parse(others); err != nil {
		return err
	}
	for _, name := range []string{"addr", "data"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s is the service's own: give --%[1]s before --", name)
		}
	}
	if rest := flags.Args(); len(rest) > 0 {
		return fmt.Errorf("serve takes no argument %q", rest[0])
	}
	if err := flags.Parse(own); err != nil {
		return err
	}
	if _, port, err := net.SplitHostPort(c.Addr); err == nil && port == "0" {
		return errors.New("--addr of a service must name its port, not 0")
	}
	return c.CheckServe()
}

func (w *world) serviceStatus() *cobra.Command {
	var system bool
	cmd := &cobra.Command{Use: "status", Short: "Say whether the service is installed and runs", Args: cobra.NoArgs}
	cmd.Flags().BoolVar(&system, "system", false, "that of the machine")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := w.service(cmd, system)
		if err != nil {
			return err
		}
		st, err := s.Status(cmd.Context())
		switch {
		case errors.Is(err, autostart.ErrNoManager) && st.Installed:
			return fmt.Errorf("%s is installed, but %w", st.Path, err)
		case errors.Is(err, autostart.ErrNoManager):
			return fmt.Errorf("no service is installed, and %w", err)
		case err != nil:
			return err
		}
		if !st.Installed {
			_, err = fmt.Fprintf(w.out, "No service is installed; `parley service install` writes %s.\n", st.Path)
			return err
		}
		_, err = fmt.Fprintf(w.out, "%s\n%s\n%s\n", st.State, st.Path, w.health(cmd.Context(), s))
		return err
	}
	return cmd
}

// health asks the server of a service for its health, and returns the answer in words.
func (w *world) health(ctx context.Context, s *autostart.Service) string {
	addr := s.Addr()
	if addr == "" {
		return "The definition names no address, so the server was not asked."
	}
	version, err := watch().Health(ctx, addr)
	if err != nil {
		return printable.Line(fmt.Sprintf("The server does not answer at %s (%v); look with %s.", addr, err, s.Look()))
	}
	return printable.Line(fmt.Sprintf("The server answers at %s that it is well: Parley %s.", addr, cmp.Or(version, "of an unknown version")))
}

func (w *world) serviceUninstall() *cobra.Command {
	var system bool
	cmd := &cobra.Command{Use: "uninstall", Short: "Stop and remove the service, and leave its data", Args: cobra.NoArgs}
	cmd.Flags().BoolVar(&system, "system", false, "that of the machine")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := w.service(cmd, system)
		if err != nil {
			return err
		}
		removed, err := s.Uninstall(cmd.Context())
		if err != nil {
			return err
		}
		if removed.Unmanaged != nil {
			fmt.Fprintf(w.out, "Removed %s; its data stays. A server that it may have started was not stopped, because no service "+
				"manager answers here.\n", removed.Path)
			return nil
		}
		_, err = fmt.Fprintf(w.out, "Stopped the service and removed %s; its data stays.\n", removed.Path)
		return err
	}
	return cmd
}
