package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/services/hub/internal/supply"
	"parley.internal/shared/elenchus/workspace"
)

func (w *world) stdioCommand() *cobra.Command {
	var url, keyEnv, session, root, id string
	cmd := &cobra.Command{Use: "stdio", Short: "Bridge a stdio-only MCP client to a server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key := w.env(keyEnv)
			if id != "" {
				c, err := w.connection(cmd.Context(), id)
				if err != nil {
					return err
				}
				key, url = c.Key, c.Endpoint
			}
			if key == "" {
				return fmt.Errorf("the variable %s holds no key; set it, or name another with --key-env", keyEnv)
			}
			b := &stdio.Bridge{URL: url, Key: key, KeyEnv: keyEnv, Session: session, In: w.in, Out: w.out, Err: w.err}
			if cmd.Flags().Changed("workspace-root") {
				allowed, err := openRoot(root)
				if err != nil {
					return err
				}
				defer allowed.Close()
				b.Hook = &supply.Supplier{Root: allowed}
			}
			return b.Run(cmd.Context())
		}}
	def := w.env("PARLEY_URL")
	if def == "" {
		def = "http://127.0.0.1:3001/mcp"
	}
	cmd.Flags().StringVar(&url, "url", def, "the server's MCP URL (PARLEY_URL)")
	cmd.Flags().StringVar(&keyEnv, "key-env", "PARLEY_KEY", "the variable that holds the key")
	cmd.Flags().StringVar(&id, "connection", "", "the connection that has the URL and the key, by its id in `parley connect --list --json`")
	cmd.Flags().StringVar(&session, "session", w.env("PARLEY_SESSION"),
		"the session that the client's calls belong to, an id or an address such as claude/2 (PARLEY_SESSION)")
	// No variable sets this flag: the variable of a server on this machine must not give files to a remote server.
	cmd.Flags().StringVar(&root, "workspace-root", "",
		"directory under which the files of verifications are read and sent to the server, if they are below the "+
			"working directory that the agent names; by default none")
	return cmd
}

// openRoot opens the directory whose files may be sent to the server. It refuses an empty name, which would mean the
// working directory of the client.
func openRoot(dir string) (*workspace.Root, error) {
	const advice = "give a directory that exists, or omit --workspace-root to send no files"
	if dir == "" {
		return nil, fmt.Errorf("--workspace-root must not be empty; %s", advice)
	}
	root, err := workspace.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("--workspace-root: %w; %s", err, advice)
	}
	return root, nil
}
