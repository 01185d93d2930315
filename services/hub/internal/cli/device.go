package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley.internal/services/hub/internal/operator"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

// named is the number of characters by which a person knows a key.
const named = 12

func nameOf(k keys.View) string { return printable.Line(k.ID[:min(named, len(k.ID))]) }

// pairs describes the pairing of the browser that opens a link.
func pairs(link keys.Link) string {
	devices := link.Devices
	if len(devices) == 0 && link.Guarded {
		return "A browser that opens it gets the assurance local, because you have a passkey: sign in with that on the " +
			"server's page instead, and press \"Pair another device\" there to pair this one"
	}
	if len(devices) == 0 {
		return "The browser that opens it is paired as your device. If it was not you who opened it: parley key revoke"
	}
	var known []string
	for _, d := range devices {
		known = append(known, fmt.Sprintf("%s since %s", nameOf(d), d.CreatedAt.Format("2006-01-02")))
	}
	return fmt.Sprintf("A browser that opens it gets the assurance local, because you have a paired device (%s), which "+
		"stays paired if it opens it. To pair another, press \"Pair another device\" there, on the page /q",
		strings.Join(known, ", "))
}

// confirmDevice asks whether the key of a paired device shall be revoked, and returns an error if it shall not. It asks
// at a terminal alone: a command that an agent runs usually has none.
func (w *world) confirmDevice(ctx context.Context, o operator.Operator, user, id string) error {
	devices, err := o.Devices(ctx, user)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(devices, func(d keys.View) bool { return d.ID == id })
	if at < 0 {
		return nil
	}
	name := nameOf(devices[at])
	if !isTerminal(w.in) {
		return fmt.Errorf("%s is the key of a paired device: revoke it on a paired device, or run this at a terminal, "+
			"where you confirm it", name)
	}
	fmt.Fprintf(w.err, "%s is the key of a paired device. Without one, the browser of the next link is paired, and any "+
		"process of your account can make a link.\nType %s to revoke it: ", name, name)
	line, err := bufio.NewReader(w.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != name {
		return errors.New("nothing was revoked")
	}
	return nil
}

// confirmUser asks whether a user without a key is meant, so that a misspelt name makes no new user unnoticed. It asks at a
// terminal; a script gets a warning, and the user of a first start is not held up.
func (w *world) confirmUser(ctx context.Context, o operator.Operator, user string) error {
	if user == localUser || !identity.ValidName(user) {
		return nil
	}
	page, err := o.Keys(ctx, user, keys.ListInput{Limit: 1})
	if err != nil || len(page.Keys) > 0 {
		return err
	}
	if !isTerminal(w.in) {
		fmt.Fprintf(w.err, "parley: the user %s is new: nobody had a key of it; the server's own user is %s\n", user, localUser)
		return nil
	}
	fmt.Fprintf(w.err, "There is no user %s yet; the server's own user is %s. Make %[1]s? [y/N] ", user, localUser)
	line, err := bufio.NewReader(w.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("nothing was made")
	}
	return nil
}
