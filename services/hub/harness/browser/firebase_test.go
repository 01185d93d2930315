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
	"parley.internal/shared/domaintest"
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
	if errors.Is(accounts.problem, firebase.ErrNone) && os.Getenv("PARLEY_NO_NODE") == "1" {
		emulator.Skip(t, accounts.problem)
	}
	hubtest.Must(t, accounts.problem)
	return accounts.emulator
}

// The person signs up, is refused, verifies the address, and answers; then the sign-in is revoked elsewhere.
func TestAPersonSignsInAtTheRealFirebaseAuth(t *testing.T) {
	t.Parallel()
	e, clock := authEmulator(t), &domaintest.Clock{}
	const email, password = "page@example.org", "right-password"
	account, err := e.SignUp(t.Context(), email, password)
	hubtest.Must(t, err)
	keys, err := e.Keys(t.Context(), email)
	hubtest.Must(t, err)
	u := newUser(t, hubtest.Options{Firebase: e.Page(), Keys: keys, Now: clock.Now})
	u.Agent = u.Hub.Agent(account.UID, "alpha")
	id := u.Ask(args{"question": "Real?"})
	got := u.waiting(id)

	b := newTab(t)
	b.open(u.Hub.URL + "/q/" + id)
	b.sees("#sign-in", "Password")
	b.write("#email", email)
	b.signIn("wrong")
	b.sees("#why", "The e-mail or the password is wrong")
	b.signIn(password)
	b.sees("#fault", "verify it and sign in again")
	hubtest.Must(t, e.Verify(t.Context(), account, email))
	b.signOut()
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
	hubtest.Must(t, e.Admin.DeleteUser(t.Context(), account.UID))
	b.reload()
	b.sees("#why", "The sign-in has ended")
}
