package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	neturl "net/url"
	"path/filepath"
	"strings"

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
			"list and answer questions for 7 days or, with --console, do everything that a person may but make keys.\n\n" +
			"The first browser of a person is paired as a device, for 90 days: it alone answers what demands a\n" +
			"device. Once there is a passkey, no browser is paired by being the first. A device pairs others, and a\n" +
			"browser that is paired stays so; the browser of any other link has the assurance local, as this command\n" +
			"has, which any process of your account can run.\n\n" +
			"With --console on a terminal it is also drawn as a QR code, for a phone. A phone reaches a server that is not on\n" +
			"loopback; the command says how where it is.\n\n" +
			"The command needs access to the store, which permits it to create a link for any user.",
		Example: "  parley link 0198c0de-7c4f-7000-8000-000000000000\n  parley link --console\n" +
			"  parley link --console --url https://parley.example.ts.net",
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
				if err := w.confirmUser(cmd.Context(), o, user); err != nil {
					return err
				}
				link, err := o.Link(cmd.Context(), user, console)
				if err != nil {
					return err
				}
				fmt.Fprintln(w.err, pairs(link))
				address := fmt.Sprintf("%s%s#link=%s", printable.Line(server), path, link.Code)
				if _, err = fmt.Fprintln(w.out, address); err != nil || !console {
					return err
				}
				return w.forPhones(server, address)
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().BoolVar(&console, "console", false, "let the browser do whatever a person may, but make keys")
	cmd.Flags().StringVar(&user, "user", localUser, "user that the link signs in")
	cmd.Flags().StringVar(&base, "url", "",
		"URL of the server for a browser; by default PARLEY_PUBLIC_URL, or the URL in keys.env")
	return cmd
}

// phoneWays are the ways in which a phone reaches a server on loopback. A browser gives Web Push to pages of HTTPS alone.
const phoneWays = `parley: a phone cannot open this address, which is of this machine alone. These work:
  - a TLS proxy on this machine, such as Caddy: let it pass https://HOST to %[1]s, start the server with
    --public-url https://HOST, and give this command --url https://HOST
  - a tunnel or a tailnet, such as: tailscale serve %[2]s, with the https address that it prints as --public-url and --url
  - Cloud Run: make deploy runs Parley there, with an https address of its own (docs/operate.md)
`

// forPhones draws a link as a QR code where the output is a terminal. Where the server is on loopback, it prints the
// ways for a phone to reach it.
func (w *world) forPhones(server, link string) error {
	u, err := neturl.Parse(server)
	if err != nil {
		return err
	}
	if host := u.Hostname(); loopback(host) {
		fmt.Fprintf(w.err, phoneWays, printable.Line(server), printable.Line(cmp.Or(u.Port(), "80")))
	}
	if !isTerminal(w.out) {
		return nil
	}
	text, err := qrCode(link)
	if err == nil {
		_, err = io.WriteString(w.out, "\n"+text)
	}
	return err
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") || ip != nil && ip.IsLoopback()
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
