package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/autostart"
	"parley.internal/services/hub/internal/config"
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
		return nil, err
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
			"keys: those of the first start are in the data directory. Other flags of `parley serve` follow after --.",
		Example: "  parley service install\n  sudo parley service install --system -- --public-url https://parley.example.org --trust-proxy 1"}
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
		if err := checkServeArgs(s.Args[1:]); err != nil {
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
		path, err := s.Install(cmd.Context())
		if err != nil {
			return err
		}
		fmt.Fprintf(w.out, "Installed %s and started it: the server listens on %s, with its data and the first keys in %s.\n", path,
			c.Addr, dir)
		if s.OS == "linux" && !system {
			fmt.Fprintln(w.out, "It ends with your last session; `loginctl enable-linger` lets it go on.")
		}
		return nil
	}
	return cmd
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

// checkServeArgs parses the flags of serve, so that a service is not installed that cannot start.
func checkServeArgs(args []string) error {
	var c config.Config
	cmd := &cobra.Command{}
	c.ServeFlags(cmd.Flags(), func(string) string { return "" })
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	if rest := cmd.Flags().Args(); len(rest) > 0 {
		return fmt.Errorf("serve takes no argument %q", rest[0])
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
		_, err = fmt.Fprintf(w.out, "%s\n%s\n", st.State, st.Path)
		return err
	}
	return cmd
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
