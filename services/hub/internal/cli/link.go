package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/identity"
)

func (w *world) linkCommand() *cobra.Command {
	var c config.Config
	var user, base string
	var console bool
	cmd := &cobra.Command{Use: "link [QUESTION_ID]", Args: cobra.MaximumNArgs(1),
		Short: "Print a link that signs a browser in, once, to see and answer questions",
		Long: "Print a link that signs a browser in. The link works once, within 10 minutes; the browser may then\n" +
			"list and answer questions for 7 days or, with --console, do what a person may but make keys.\n\n" +
			"The first browser of a person is paired as a device, for 90 days: it alone answers what demands a\n" +
			"device. It pairs others, and a browser that is paired stays so; the browser of any other link has the\n" +
			"assurance local, as this command has, which any process of your account can run.\n\n" +
			"The command needs access to the store, which permits it to create a link for any user.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/q"
			if len(args) > 0 {
				if !identity.ValidName(args[0]) {
					return fmt.Errorf("%q is not the id of a question", args[0])
				}
				path += "/" + args[0]
			}
			server, err := w.serverURL(&c, base)
			if err != nil {
				return err
			}
			return operate(cmd, &c, func(o operator.Operator) error {
				link, err := o.Link(cmd.Context(), user, console)
				if err != nil {
					return err
				}
				fmt.Fprintln(w.err, pairs(link.Devices))
				_, err = fmt.Fprintf(w.out, "%s%s#link=%s\n", printable.Line(server), path, link.Code)
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().BoolVar(&console, "console", false, "let the browser do whatever a person may, but make keys")
	cmd.Flags().StringVar(&user, "user", localUser, "user that the link signs in")
	cmd.Flags().StringVar(&base, "url", "",
		"URL of the server for a browser; by default PARLEY_PUBLIC_URL, or the URL in keys.env")
	return cmd
}

// serverURL returns the URL of the server for a browser: the given one, or that of PARLEY_PUBLIC_URL, or that in the
// keys.env of the embedded store.
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
		return "", errors.New(
			"the URL of the server is unknown; give --url, such as http://127.0.0.1:3001, or set PARLEY_PUBLIC_URL")
	}
	return baseURL(at)
}
