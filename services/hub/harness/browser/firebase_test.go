package browser_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"parley.internal/services/hub/harness/firebase"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store/emulator"
)

// One Auth emulator serves the package.
var accounts struct {
	once     sync.Once
	emulator *firebase.Emulator
	problem  error
}

func authEmulator(t *testing.T) *firebase.Emulator {
	t.Helper()
	accounts.once.Do(func() { accounts.emulator, accounts.problem = firebase.Start(context.Background(), "../firebase") })
	if errors.Is(accounts.problem, firebase.ErrNone) && os.Getenv("PARLEY_NO_NODE") == "1" && !emulator.Required() {
		t.Skip(accounts.problem)
	}
	must(t, accounts.problem)
	return accounts.emulator
}

// The person signs up, is refused, verifies the address, and answers; then the sign-in is revoked elsewhere.
func TestAPersonSignsInAtTheRealFirebaseAuth(t *testing.T) {
	t.Parallel()
	e, clock := authEmulator(t), hubtest.NewClock()
	const email, password = "page@example.org", "right-password"
	account, err := e.SignUp(t.Context(), email, password)
	must(t, err)
	keys, err := e.Keys(t.Context(), email)
	must(t, err)
	w := newWorld(t, hubtest.Options{Firebase: e.Page(), Keys: keys, Now: clock.Now})
	w.agent = w.hub.Agent(account.UID, "alpha")
	id := w.ask(args{"question": "Real?"})
	got := w.waiting(id)

	b := newTab(t)
	b.open(w.hub.URL + "/q/" + id)
	b.sees("#sign-in", "Password")
	b.write("#email", email)
	b.signIn("wrong")
	b.sees("#why", "The e-mail or the password is wrong")
	b.signIn(password)
	b.sees("#fault", "verify it and sign in again")
	must(t, e.Verify(t.Context(), account, email))
	b.click("#sign-out")
	b.sees("#sign-in", "Password")
	b.write("#email", email)
	b.signIn(password)
	b.sees("#state", "Waiting for your answer")
	if kept := eval[string](b, "JSON.stringify([localStorage, sessionStorage])"); strings.Contains(kept, password) {
		t.Errorf("the browser keeps the password: %s", kept)
	}
	b.write("#text", "real words")
	b.click("#send")
	b.sees("#standing", "real words")
	answered(t, got, "real words")

	b.reload() // with the refresh token
	b.sees("#standing", "real words")
	must(t, e.Admin.DeleteUser(t.Context(), account.UID))
	b.reload()
	b.sees("#why", "The sign-in has ended")
}
