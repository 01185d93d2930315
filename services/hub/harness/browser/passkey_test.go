package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
)

// holdPasskeys gives the tab a device that holds passkeys, and sees its person at once.
func (b *tab) holdPasskeys() webauthn.AuthenticatorID {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, webauthn.Enable, webauthn.EnableParams{})
	hubtest.Must(b.t, err)
	made, err := chromedp.Call(b.ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{Protocol: webauthn.AuthenticatorProtocolCtap2,
			Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true, HasUserVerification: true,
			IsUserVerified: true, AutomaticPresenceSimulation: true}})
	hubtest.Must(b.t, err)
	return made.AuthenticatorID
}

// localhost returns the hub's URL at the name by which passkeys know it.
func (u *user) localhost() string { return strings.Replace(u.Hub.URL, "127.0.0.1", "localhost", 1) }

// addPasskey adds a passkey in the settings, with the name that is offered.
func (b *tab) addPasskey() {
	b.t.Helper()
	b.click("#add-passkey")
	b.sees("dialog h2", "A new passkey")
	b.click("dialog .main")
	b.sees("#passkeys strong", "Chrome on Linux")
}

func TestAPasskeyThatWasAddedSignsInAndAnswersWhatDemandsOne(t *testing.T) {
	t.Parallel()
	script := axe(t)
	u := newUser(t, hubtest.Options{})
	at := u.localhost()
	b := u.console(at, "/settings")
	b.sees("h2", "Passkeys")
	b.holdPasskeys()
	b.addPasskey()
	b.sees("#passkeys .meta", "never used")
	b.onScreens(u, "passkeys", script, at+"/settings", "#passkeys strong", "Chrome on Linux")

	b.signOut()
	b.onScreens(u, "sign-in", script, at+"/", "#use-passkey", "Use a passkey")
	b.click("#use-passkey")
	b.sees("#nothing", "Nothing waits for you")
	b.open(at + "/settings")
	b.sees("#keys strong", "browser, by passkey Chrome on Linux")
	b.sees("#passkeys .meta", "used")

	question := u.Ask(args{"question": "Deploy?", "options": []string{"yes", "no"}, "assurance": "passkey"})
	b.open(at + "/")
	b.sees("#asked .choices a", "Answer with a passkey…")
	b.click("#asked .choices a")
	b.sees("#guarded", "Sending asks for your passkey")
	b.onScreens(u, "question", script, at+"/q/"+question, "#guarded", "Sending asks for your passkey")
	b.click("#choices label:nth-child(1)")
	b.click("#send")
	b.sees("#state", "This question is answered")
	b.sees("#left", "with a passkey")
	var got struct{ Status, Response, AnsweredWith string }
	hubtest.Must(t, u.Hub.REST(u.Agent, "GET", "/v1/questions/"+question+"/response", nil).Into(&got))
	if got.Response != "yes" || got.AnsweredWith != "passkey" {
		t.Errorf("the record is %+v", got)
	}
}

// onScreens opens an address on each screen, and checks that it fits and is accessible.
func (b *tab) onScreens(u *user, what, script, at, sel, text string) {
	b.t.Helper()
	for _, s := range screens {
		b.do("the screen", chromedp.EmulateViewport(s.width, 844))
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
		hubtest.Must(b.t, err)
		b.open(at)
		b.sees(sel, text)
		name := fmt.Sprintf("%s-%d-%s", what, s.width, s.scheme)
		if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > s.width {
			u.t.Errorf("%s: it is %d wide", name, wide)
		}
		b.accessible(name, script)
		eval[int](b, fmt.Sprintf("(document.querySelector(%q).scrollIntoView({block: 'center'}), 0)", sel))
		b.picture("passkey-" + name)
	}
}

func TestABrowserWithoutThePasskeyIsToldHow(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	at := u.localhost()
	holder := u.console(at, "/settings")
	holder.sees("h2", "Passkeys")
	holder.holdPasskeys()
	question := u.Ask(args{"question": "Deploy?", "assurance": "passkey"})

	holder.open(at + "/q/" + question)
	holder.sees("#guarded", "Sending asks for your passkey")
	holder.write("#text", "yes")
	holder.click("#send")
	holder.sees("#refused", "You have no passkey yet: add one in the settings of the console")
	holder.open(at + "/settings")
	holder.addPasskey()

	// Another device holds no passkey of the person, and one that sees nobody is not enough.
	other := u.console(at, "/q/"+question)
	device := other.holdPasskeys()
	other.sees("#guarded", "Sending asks for your passkey")
	other.write("#text", "no")
	other.click("#send")
	other.sees("#refused", "The passkey was not used: it was cancelled, took too long, or is not on this device.")
	_, err := chromedp.Call(other.ctx, webauthn.RemoveVirtualAuthenticator, webauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: device})
	hubtest.Must(t, err)

	// At the IP address no browser has passkeys: the page leads to the name.
	paired := holder
	paired.open(u.Hub.URL + "/")
	paired.sees("#passkey-there", "A passkey signs you in at "+at)
	numbered := u.console(u.Hub.URL, "/q/"+question)
	numbered.sees("#guarded", "Only a passkey answers this, and passkeys work at "+at)
	numbered.open(u.Hub.URL + "/settings")
	numbered.sees("#no-passkeys", "Passkeys work at "+at+", and not at 127.0.0.1")
	numbered.click("#go-there")
	numbered.sees("#sign-in-title", "Sign in") // it is not paired, so it brings no sign-in along
	if s := u.answer(question); s.Status != "pending" {
		t.Errorf("the question is %+v", s)
	}
}

func TestAPairedBrowserMovesToTheNameAndTakesItsPairingAlong(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	b := u.console(u.Hub.URL, "/settings")
	b.sees("#no-passkeys", "Passkeys work at "+u.localhost())
	b.click("#go-there")
	b.sees("#add-passkey", "Add a passkey")
	b.holdPasskeys()
	b.addPasskey()
	b.click("#add-passkey")
	b.sees("dialog p", "One that you have confirms it first.")
	b.click("dialog .main")
	b.sees("dialog .bad", "This device has a passkey of yours for here already.")
	b.click("dialog .actions [type=button]")
	b.click("#passkeys .danger")
	b.sees("dialog h2", "Remove the passkey")
	b.click("dialog .main")
	b.holds("!document.querySelector('#passkeys li')")
}
