package firebase_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	admin "firebase.google.com/go/v4/auth"

	"parley.internal/services/hub/harness/firebase"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/storetest"
)

// One emulator serves the package.
var shared struct {
	once     sync.Once
	emulator *firebase.Emulator
	problem  error
}

func TestMain(m *testing.M) {
	hubtest.Main(m, func() {
		if shared.emulator != nil {
			shared.emulator.Stop()
		}
	})
}

func start(t *testing.T) *firebase.Emulator {
	t.Helper()
	shared.once.Do(func() { shared.emulator, shared.problem = firebase.Start(context.Background(), ".") })
	if errors.Is(shared.problem, firebase.ErrNone) && os.Getenv("PARLEY_NO_NODE") == "1" {
		emulator.Skip(t, shared.problem)
	}
	if shared.problem != nil {
		t.Fatal(shared.problem)
	}
	return shared.emulator
}

// got returns the first of two results, and fails the test for an error.
func got[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		hubtest.Must(t, err)
		return v
	}
}

// world is a hub that admits some people, with a clock that the test moves past its caches.
type world struct {
	*firebase.Emulator
	t     *testing.T
	hub   *hubtest.Hub
	clock *domaintest.Clock
}

func newWorld(t *testing.T, db *store.DB, allow ...string) *world {
	t.Helper()
	w := &world{Emulator: start(t), t: t, clock: &domaintest.Clock{}}
	keys, err := w.Keys(t.Context(), allow...)
	hubtest.Must(t, err)
	w.hub = hubtest.New(t, db, hubtest.Options{Keys: keys, Now: w.clock.Now})
	return w
}

func sqlite(t *testing.T) *store.DB { return storetest.SQLite(t, app.Schema()) }

const password = "a-password"

// signUp makes an account.
func (w *world) signUp(email string) firebase.SignIn {
	w.t.Helper()
	return got[firebase.SignIn](w.t)(w.SignUp(w.t.Context(), email, password))
}

// fresh returns the sign-in with a new token, which has the claims of the account as they are now.
func (w *world) fresh(s firebase.SignIn) firebase.SignIn {
	w.t.Helper()
	return got[firebase.SignIn](w.t)(w.Refreshed(w.t.Context(), s))
}

// admitted wants that a sign-in reaches the data of its user.
func (w *world) admitted(what string, s firebase.SignIn) {
	w.t.Helper()
	if a := w.hub.REST(s.Token, "GET", "/v1/tasks", nil); a.Status != 200 {
		w.t.Errorf("%s: got %s, want 200", what, a)
	}
}

// refused wants that a sign-in is answered with a status and words, over both transports.
func (w *world) refused(what string, s firebase.SignIn, status int, words string) {
	w.t.Helper()
	for _, a := range []hubtest.Answer{w.hub.REST(s.Token, "GET", "/v1/tasks", nil),
		w.hub.MCP(s.Token, "/mcp", hubtest.Message(1, "tools/list", nil)).Answer} {
		if a.Status != status || !strings.Contains(a.Fault().Message, words) {
			w.t.Errorf("%s: got %s, want %d that says %q", what, a, status, words)
		}
		if h := a.Header.Get("WWW-Authenticate"); strings.Contains(h, words) != (status == 401) {
			w.t.Errorf("%s: got WWW-Authenticate %q", what, h)
		}
	}
}

func TestWhoeverSignsUpIsNobodyByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	s := w.signUp("default@example.org")
	w.refused("a sign-up", s, 403, "is not admitted to this server")
	hubtest.Must(t, w.Verify(t.Context(), s, "default@example.org"))
	w.refused("a verified address", w.fresh(s), 403, "--sign-in-allow")
	anonymous := got[firebase.SignIn](t)(w.Anonymous(t.Context()))
	w.refused("an anonymous sign-in", anonymous, 403, "anonymous")
}

func TestAnAddressCountsOnceItIsVerified(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		name := strings.ReplaceAll(t.Name(), "/", "-")
		email, boss := strings.ToLower(name)+"@example.org", strings.ToLower(name)+"@corp.example"
		w := newWorld(t, db, email, "@corp.example")
		for _, address := range []string{email, boss} {
			s := w.signUp(address)
			w.refused("before the verification", s, 403, "verify it and sign in again")
			hubtest.Must(t, w.Verify(t.Context(), s, address))
			w.refused("a token from before the verification", s, 403, "verify it and sign in again")
			w.admitted("after the verification", w.fresh(s))
		}
		stranger := w.signUp("stranger-" + email)
		hubtest.Must(t, w.Verify(t.Context(), stranger, "stranger-"+email))
		w.refused("another address of the domain", w.fresh(stranger), 403, "is not admitted")
	})
}

// The token still says that the address is verified. The account decides.
func TestAnAddressWhoseVerificationIsTakenBackCountsNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t), "before@example.org")
	s := w.signUp("before@example.org")
	hubtest.Must(t, w.Verify(t.Context(), s, "before@example.org"))
	s = w.fresh(s)
	w.admitted("the verified address", s)
	_, err := w.Admin.UpdateUser(t.Context(), s.UID, (&admin.UserToUpdate{}).EmailVerified(false))
	hubtest.Must(t, err)
	w.clock.Pass(time.Minute)
	w.refused("the token from before", s, 403, "verify it")
}

func TestTheClaimAdmitsUntilItIsTakenAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	s := w.signUp("claim@example.org")
	for _, claims := range []map[string]any{{"parley": "true"}, {"parley": 1}, {"admin": true}} {
		hubtest.Must(t, w.Admin.SetCustomUserClaims(t.Context(), s.UID, claims))
		w.refused("a claim that is not true", w.fresh(s), 403, "is not admitted")
		w.clock.Pass(time.Minute)
	}
	hubtest.Must(t, w.Admin.SetCustomUserClaims(t.Context(), s.UID, map[string]any{"parley": true}))
	w.refused("a token from before the claim", s, 403, "is not admitted")
	s = w.fresh(s)
	w.admitted("the claim", s)
	hubtest.Must(t, w.Admin.SetCustomUserClaims(t.Context(), s.UID, nil))
	w.clock.Pass(time.Minute)
	w.refused("a token from before the claim was taken away", s, 403, "is not admitted")
}

func TestATokenFromBeforeARevocationEndsWithinAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t), "revoked@example.org")
	s := w.signUp("revoked@example.org")
	hubtest.Must(t, w.Verify(t.Context(), s, "revoked@example.org"))
	s = w.fresh(s)
	w.admitted("before the revocation", s)
	time.Sleep(1100 * time.Millisecond) // tokens and revocations have whole seconds
	hubtest.Must(t, w.Admin.RevokeRefreshTokens(t.Context(), s.UID))
	w.clock.Pass(time.Minute)
	w.refused("after the revocation", s, 401, "this sign-in was revoked")
	w.admitted("a new sign-in", got[firebase.SignIn](t)(w.SignIn(t.Context(), "revoked@example.org", password)))
}

func TestADisabledAndADeletedAccountEndWithinAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t), "disabled@example.org", "deleted@example.org")
	for email, end := range map[string]func(uid string) error{
		"disabled@example.org": func(uid string) error {
			_, err := w.Admin.UpdateUser(t.Context(), uid, (&admin.UserToUpdate{}).Disabled(true))
			return err
		},
		"deleted@example.org": func(uid string) error { return w.Admin.DeleteUser(t.Context(), uid) },
	} {
		s := w.signUp(email)
		hubtest.Must(t, w.Verify(t.Context(), s, email))
		s = w.fresh(s)
		w.admitted(email, s)
		hubtest.Must(t, end(s.UID))
		w.clock.Pass(time.Minute)
		w.refused(email, s, 401, "this sign-in was revoked")
	}
}

func TestAPersonOwnsTheDataOfTheUserID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t), "owner@example.org")
	s := w.signUp("owner@example.org")
	hubtest.Must(t, w.Verify(t.Context(), s, "owner@example.org"))
	s = w.fresh(s)
	var asked struct{ QuestionID string }
	ask := w.hub.REST(w.hub.Agent(s.UID, "alpha"), "POST", "/v1/questions", map[string]any{"question": "Now?"})
	hubtest.Must(t, ask.Into(&asked))
	path := "/v1/questions/" + asked.QuestionID
	if a := w.hub.REST(s.Token, "POST", path+"/answer", map[string]any{"response": "yes"}); a.Status != 200 {
		t.Errorf("the person's answer: got %s", a)
	}
	if a := w.hub.REST(w.hub.Human("another"), "GET", path+"/response", nil); a.Status != 404 {
		t.Errorf("another user's look at it: got %s, want 404", a)
	}
}

func TestAttackTheUserLocalCannotBeSignedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t), "@local.example")
	_, err := w.Admin.CreateUser(t.Context(), (&admin.UserToCreate{}).UID("local").Email("me@local.example").
		EmailVerified(true).Password(password))
	hubtest.Must(t, err)
	hubtest.Must(t, w.Admin.SetCustomUserClaims(t.Context(), "local", map[string]any{"parley": true}))
	s := got[firebase.SignIn](t)(w.SignIn(t.Context(), "me@local.example", password))
	w.refused("the user local", s, 403, "the server's own user")
}

func TestAttackASignInOfAForeignProjectIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t), "twin", "twin@example.org")
	_, err := w.Admin.CreateUser(t.Context(), (&admin.UserToCreate{}).UID("twin").Email("twin@example.org").
		EmailVerified(true).Password(password))
	hubtest.Must(t, err)
	foreign := got[firebase.SignIn](t)(w.Foreign(t.Context(), "demo-foreign", "twin", "twin@example.org"))
	w.refused("a foreign project's sign-in with the same user id", foreign, 401, "not a sign-in of this server's project")
	w.admitted("the own project's", got[firebase.SignIn](t)(w.SignIn(t.Context(), "twin@example.org", password)))
}
