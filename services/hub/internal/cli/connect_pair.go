package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	neturl "net/url"
	"strings"
	"time"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
	"parley.internal/shared/sleep"
)

const (
	// slower is the time that RFC 8628 adds to the interval of a device that is told to slow down.
	slower = 5 * time.Second
	// pairingPatience is the time after which a server that does not answer any more is given up. One that answers says
	// earlier that the pairing has expired.
	pairingPatience = 15 * time.Minute
)

// pair gets a key of the agent's own for a machine that has none of the person's: it shows a code, and waits until the
// person has approved it on the console's page.
func (j *connector) pair(ctx context.Context, base string, c connect.Client, old connection.Connection) (keys.CreateOutput, error) {
	var none keys.CreateOutput
	if u, err := neturl.Parse(base); err != nil || u.Scheme == "http" && !loopback(u.Hostname()) {
		return none, fmt.Errorf("%s has no encryption, so that a key could be read on its way here; give --url an https address, or "+
			"a port on this machine that a tunnel leads to the server, or set the variable %s to a human's key of that server",
			printable.Line(base), humanKey)
	}
	server, err := agent(base, "")
	if err != nil {
		return none, err
	}
	asked, err := server.RequestPairing(ctx, keys.RequestPairingInput{Client: c.Name, Program: cmp.Or(j.f.program, old.Program, c.Name),
		Machine: shorter(machineName(), 100), Directory: shorter(j.placeOf(c).Main, 500)})
	if err != nil {
		return none, unpaired(ctx, base, err)
	}
	if err := j.w.showPairing(base, asked, *j.f.json); err != nil {
		return none, err
	}
	end := time.Now().Add(pairingPatience)
	for every := time.Duration(max(asked.IntervalSeconds, 1)) * time.Second; ; {
		if err := sleep.For(ctx, every); err != nil {
			return none, unpaired(ctx, base, err)
		}
		out, err := server.CollectPairing(ctx, keys.CollectPairingInput{DeviceCode: asked.DeviceCode})
		switch word := pairingWord(err); {
		case err == nil:
			return out, nil
		case word == "authorization_pending":
		case word == "slow_down":
			every += slower
		case !temporary(err), ctx.Err() != nil, time.Now().After(end):
			return none, unpaired(ctx, base, err)
		}
	}
}

// shorter returns a text as one printable line of at most n characters, without its beginning if it is longer: the end of
// a path tells more.
func shorter(text string, n int) string {
	r := []rune(printable.Line(text))
	if len(r) <= n {
		return string(r)
	}
	return "…" + string(r[len(r)-n+1:])
}

// pairingWord returns the word of RFC 8628 for why there is no key, empty if the error is another one.
func pairingWord(err error) string {
	var e *client.Error
	if errors.As(err, &e) && len(e.Fault.Problems) > 0 {
		return e.Fault.Problems[0].Message
	}
	return ""
}

// unpaired explains why pairing ended without a key.
func unpaired(ctx context.Context, base string, err error) error {
	var e *client.Error
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: nothing was connected")
	case !errors.As(err, &e):
		return err
	case e.Status == 0:
		return fmt.Errorf("%s does not answer: %s", printable.Line(base), printable.Line(err.Error()))
	case fault.Is(err, fault.NotFound):
		return fmt.Errorf("%s cannot pair: it is no Parley server, or an older one; set the variable %s to your key of it",
			printable.Line(base), humanKey)
	}
	return fmt.Errorf("no key for this machine: %s", printable.Line(e.Fault.Message))
}

// showPairing prints the code and the link, for a person or as a line of JSON.
func (w *world) showPairing(base string, p keys.RequestPairingOutput, asJSON bool) error {
	complete, at := address(base, p.VerificationURIComplete), address(base, p.VerificationURI)
	if asJSON {
		enc := json.NewEncoder(printable.Writer{To: w.out})
		enc.SetEscapeHTML(false)
		return enc.Encode(map[string]any{"pairing": map[string]any{"userCode": p.UserCode, "verificationUri": at,
			"verificationUriComplete": complete, "expiresAt": p.ExpiresAt}})
	}
	_, err := fmt.Fprintf(w.out, "This machine has no key of yours for %s. Approve it on the console's page, where you are signed in:\n\n"+
		"  %s\n\n  code %s\n", printable.Line(base), printable.Line(complete), printable.Line(p.UserCode))
	if err == nil && isTerminal(w.out) {
		var text string
		if text, err = qrCode(complete); err == nil {
			_, err = io.WriteString(w.out, "\n"+text)
		}
	}
	if err == nil {
		_, err = fmt.Fprint(w.out, "\nWaiting for your approval for 10 minutes; Ctrl-C gives up.\n")
	}
	return err
}

// address returns an address of the server, which may be a path only.
func address(base, at string) string {
	if strings.HasPrefix(at, "/") {
		return base + at
	}
	return at
}
