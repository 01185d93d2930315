package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
)

func (w *world) linkCommand() *cobra.Command {
	var c config.Config
	var user, base string
	cmd := &cobra.Command{Use: "link [QUESTION_ID]",
		Short: "Print a link that signs a browser in, once, to see and answer questions", Args: cobra.MaximumNArgs(1),
		Long: "Print a link that signs a browser in. It is good once and for 10 minutes; the browser may then see " +
			"tasks and answer questions for 7 days.\n" +
			"Whoever has the store may make one, so it is run where the store is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/q"
			if len(args) > 0 {
				if !identity.ValidName(args[0]) {
					return fmt.Errorf("%q is no question's id", args[0])
				}
				path += "/" + args[0]
			}
			server, err := w.serverURL(&c, base)
			if err != nil {
				return err
			}
			return withApp(cmd.Context(), &c, func(a *app.App) error {
				link, err := a.Keys.MakeLink(cmd.Context(), user)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(w.out, "%s%s#link=%s\n", server, path, link.Code)
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "whom it signs in")
	cmd.Flags().StringVar(&base, "url", "",
		"where the browser finds the server; what keys.env says, else PARLEY_PUBLIC_URL, where left out")
	return cmd
}

// serverURL is where a browser finds the server of the store: what was given, what the
// environment says, or what the server wrote down at its start.
func (w *world) serverURL(c *config.Config, given string) (string, error) {
	at := cmp.Or(given, w.env("PARLEY_PUBLIC_URL"))
	if at == "" && c.Store == "sqlite" {
		file, err := readKeysFile(filepath.Join(c.Data, keysFile))
		if err != nil {
			return "", err
		}
		at = file.vars["PARLEY_URL"]
	}
	if at == "" {
		return "", errors.New("where is the server? give --url, as http://127.0.0.1:3001, or set PARLEY_PUBLIC_URL")
	}
	return baseURL(at)
}
