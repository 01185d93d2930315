package browser_test

import (
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

func TestAPairedBrowserAnswersWhatDemandsADeviceAndPairsAnother(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	guarded := args{"question": "Deploy?", "assurance": "device"}
	first, second := u.Ask(guarded), u.Ask(guarded)
	phone := u.signedIn(u.Hub.URL, first)
	phone.sees("#state", "Waiting for your answer")
	laptop := u.signedIn(u.Hub.URL, first)

	laptop.sees("#state", "Waiting for your answer")
	laptop.sees("#guarded", "Only a paired device may answer this, and this browser is none")
	laptop.write("#text", "yes")
	laptop.click("#send")
	laptop.sees("#refused", "This question demands the assurance device")
	if pair := eval[bool](laptop, "!document.querySelector('#pair').hidden"); pair {
		t.Error("a browser that is not paired offers to pair another")
	}
	phone.sees("#guarded", "Only a paired device may answer this. This browser is one.")
	phone.write("#text", "no")
	phone.click("#send")
	phone.sees("#state", "This question is answered")
	phone.sees("#left", "from a paired device")
	if s := u.answer(first); s.Response != "no" {
		t.Errorf("the answer is %+v", s)
	}
	laptop.sees("#state", "This question was answered elsewhere")

	phone.click("#menu summary")
	phone.click("#pair")
	phone.sees("#pairing", "Open this in the other browser, once")
	laptop.open(u.Hub.URL + "/q/" + second)
	laptop.sees("#guarded", "this browser is none")
	laptop.open(strings.Replace(phone.text("#pairing-link"), "/q#", "/q/"+second+"#", 1))
	laptop.sees("#guarded", "This browser is one.")
	laptop.write("#text", "yes")
	laptop.click("#send")
	laptop.sees("#left", "from a paired device")

	// A paired browser that opens a link, or is loaded again, stays paired.
	third := u.Ask(guarded)
	phone.open(u.Hub.URL + "/q/" + third + "#link=" + u.LinkCode())
	phone.sees("#guarded", "This browser is one.")
	phone.reload()
	phone.sees("#guarded", "This browser is one.")

	easy := u.Ask(args{"question": "Tea?"})
	u.elsewhere(easy, "yes")
	phone.open(u.Hub.URL + "/q/" + easy)
	phone.sees("#left", "from the machine of the agents")
}
