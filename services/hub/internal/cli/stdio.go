package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/stdio"
)

func (w *world) stdioCommand() *cobra.Command {
	var url, keyEnv string
	cmd := &cobra.Command{Use: "stdio", Short: "Bridge a stdio-only MCP client to a server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key := w.env(keyEnv)
			if key == "" {
				return fmt.Errorf("the variable %s holds no key; set it, or name another with --key-env", keyEnv)
			}
			b := &stdio.Bridge{URL: url, Key: key, KeyEnv: keyEnv, In: w.in, Out: w.out, Err: w.err}
			return b.Run(cmd.Context())
		}}
	def := w.env("PARLEY_URL")
	if def == "" {
		def = "http://127.0.0.1:3001/mcp"
	}
	cmd.Flags().StringVar(&url, "url", def, "the server's MCP URL (PARLEY_URL)")
	cmd.Flags().StringVar(&keyEnv, "key-env", "PARLEY_KEY", "the variable that holds the key")
	return cmd
}
