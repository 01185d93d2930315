package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/keys"
)

// machine asks for a key as a client on another machine does.
func (u *user) machine(name string) (out keys.RequestPairingOutput) {
	u.t.Helper()
	a := u.Hub.Raw("POST", "/v1/pairings", args{"client": "claude", "program": "claude", "machine": name, "directory": "/srv/shop"})
	hubtest.Must(u.t, a.Into(&out))
	return out
}

// token asks whether a machine may have its key.
func (u *user) token(p keys.RequestPairingOutput) (status int, key keys.CreateOutput) {
	u.t.Helper()
	a := u.Hub.Raw("POST", "/v1/pairings/token", args{"deviceCode": p.DeviceCode})
	_ = a.Into(&key) // a fault leaves it empty
	return a.Status, key
}

func TestAPersonApprovesAMachineByItsCodeOnEveryScreen(t *testing.T) {
	t.Parallel()
	script := axe(t)
	u := newUser(t, hubtest.Options{})
	b := u.console(u.Hub.URL, "/pair")
	b.sees("label[for=pair-code]", "Code") // signed in
	for i, s := range screens {
		at := fmt.Sprintf("at %d, %s", s.width, s.scheme)
		height := int64(844)
		if s.width > 500 {
			height = 800
		}
		b.do("the screen", chromedp.EmulateViewport(s.width, height))
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
		hubtest.Must(t, err)
		check := func(what string) {
			t.Helper()
			if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > s.width {
				t.Errorf("%s %s: it is %d wide", what, at, wide)
			}
			b.accessible(what+" "+at, script)
			b.picture(fmt.Sprintf("pair-%s-%d-%s", what, s.width, s.scheme))
		}
		p := u.machine("build-vm")
		b.open(u.Hub.URL + "/pair")
		b.sees("label[for=pair-code]", "Code")
		check("code")
		b.write("#pair-code", strings.ToLower(strings.ReplaceAll(p.UserCode, "-", "")))
		b.click("#pair-find")
		b.sees("#pair-title", "claude on build-vm asks for a key")
		b.sees("parley-pair strong", "Approve only if you started this on that machine yourself")
		b.sees("#pair-shown", p.UserCode)
		b.sees("parley-pair dd", "/srv/shop")
		b.sees("parley-pair dd", "127.0.0.1")
		b.sees("parley-pair dd", "Read and write")
		check("question")
		if status, _ := u.token(p); status != 409 {
			t.Errorf("before the approval the machine gets %d", status)
		}
		program := fmt.Sprintf("builder-%d", i)
		eval[string](b, "document.querySelector('#pair-program').value = ''")
		b.write("#pair-program", program)
		b.click("#pair-reads")
		b.click("#pair-approve")
		b.sees("#pair-title", "Approved")
		b.sees("#pair-result", "speaks as "+program)
		check("approved")
		if status, key := u.token(p); status != 200 || key.Program != program || fmt.Sprint(key.Scopes) != "[read]" ||
			key.Paired == nil || key.Paired.Assurance != "device" {
			t.Errorf("the machine gets %d, %+v", status, key.View)
		}
	}
}

func TestAPersonDeniesAMachineThatALinkNames(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	p := u.machine("<img src=x onerror=alert(1)>" + strings.Repeat("x", 70))
	b := u.console(u.Hub.URL, "/pair/"+p.UserCode)
	b.sees("#pair-title", "<img src=x onerror=alert(1)>") // as text
	b.do("a narrow screen", chromedp.EmulateViewport(390, 844))
	if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("a long name makes it %d wide", wide)
	}
	b.click("#pair-deny")
	b.sees("#pair-title", "Denied")
	if status, _ := u.token(p); status != 403 {
		t.Errorf("the machine gets %d", status)
	}
	b.open(u.Hub.URL + "/pair/" + p.UserCode)
	b.sees("#pair-title", "Denied")
	b.open(u.Hub.URL + "/pair/BBBB-BBBB")
	b.sees("#pair-fault", "No pairing has the code BBBB-BBBB")
	b.open(u.Hub.URL + "/settings")
	b.click("a[href='/pair']")
	b.sees("label[for=pair-code]", "Code")
}
