package browser_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/page"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

func TestWithoutASignInThePageSaysHowToGetOne(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "secret"})
	b := newTab(t)
	b.open(u.Hub.URL + "/q/" + id)
	b.sees("#sign-in", "parley link")
	if body := b.text("main"); strings.Contains(body, "secret") {
		t.Errorf("the page shows %s", body)
	}
	for _, sel := range []string{"#by-password", "#sign-out", "#task"} {
		if eval[bool](b, "!!document.querySelector('"+sel+"')?.checkVisibility()") {
			t.Errorf("%s is seen", sel)
		}
	}
}

// A public server refuses requests with an unknown Origin, so the page must not load its parts with requests that
// carry one.
func TestThePageLoadsFromAPublicServer(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{Public: true})
	b := newTab(t)
	b.open(u.Hub.URL + "/q")
	b.sees("#sign-in", "parley link")
	eval[string](b, "localStorage.setItem('parley.signIn', '"+`{"key":"`+u.Human+`"}`+"'), 'ok'")
	u.Ask(args{"question": "Here?"})
	b.reload()
	b.sees("#questions", "Here?")
}

func TestALinkSignsInOneBrowserOnce(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "q"})
	link := u.Hub.URL + "/q/" + id + "#link=" + u.LinkCode()
	first, second := newTab(t), newTab(t)
	first.open(link)
	first.sees("#state", "Waiting for your answer")
	second.open(link)
	second.sees("#why", "was used or has expired")
	second.sees("#by-link", "parley link")
	if at := eval[string](second, "location.hash"); at != "" {
		t.Errorf("the address keeps %q", at)
	}
	// Opening a link to the page in the same tab does not load the page again.
	second.open(u.Hub.URL + "/q/" + id + "#link=" + u.LinkCode())
	second.sees("#state", "Waiting for your answer")
	// A browser that is signed in may open a used link.
	first.open(u.Hub.URL + "/q")
	first.open(link)
	first.sees("#state", "Waiting for your answer")
}

func TestARevokedKeyLeadsToTheSignInAndKeepsTheText(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "q"})
	p := newProxy(t, u.Hub, nil)
	p.holdWaits(t)
	b := u.signedIn(p.URL, id)
	b.write("#text", "my words")
	key := eval[string](b, "JSON.parse(localStorage.getItem('parley.signIn')).key")
	u.revoke(key)
	b.click("#send")
	b.sees("#why", "This key was revoked")
	b.sees("#by-link", "parley link")
	if left := eval[int](b, "localStorage.length"); left != 0 {
		t.Error("the key is kept")
	}
	b.open(p.URL + "/q/" + id + "#link=" + u.LinkCode())
	b.sees("#state", "Waiting for your answer")
	b.click("#send")
	b.sees("#standing", "my words")
}

// revoke revokes a key. The browser learns of it only from the next response.
func (u *user) revoke(key string) {
	u.t.Helper()
	caller, _, err := u.Hub.App.Keys.Lookup(u.t.Context(), key)
	hubtest.Must(u.t, err)
	_, err = u.Hub.App.Keys.Revoke(u.t.Context(), identity.Caller{User: caller.User, Kind: identity.Human},
		keys.RevokeInput{KeyID: caller.KeyID})
	hubtest.Must(u.t, err)
}

func TestSigningOutEndsTheSignInOfEveryTab(t *testing.T) {
	t.Parallel()
	u := newUser(t, hubtest.Options{})
	id := u.Ask(args{"question": "secret"})
	b := u.signedIn(u.Hub.URL, id)
	b.sees("#title", "secret")
	other := b.sibling()
	other.open(u.Hub.URL + "/q")
	other.sees("#questions", "secret")
	b.signOut()
	b.sees("#sign-in", "parley link")
	other.sees("#sign-in", "parley link")
	if left := eval[int](b, "localStorage.length + sessionStorage.length"); left != 0 {
		t.Error("the browser still stores data")
	}
	if body := b.text("main"); strings.Contains(body, "secret") {
		t.Errorf("the page still shows %s", body)
	}
	b.reload()
	b.sees("#sign-in", "parley link")
}

// service imitates the two services of Firebase Auth for one person.
type service struct {
	page.Firebase

	mu      sync.Mutex
	ids     []string // the ID tokens to issue, in order
	refresh []string // the refresh tokens that were used
	refused bool     // refuse every refresh token
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /identitytoolkit.googleapis.com/v1/accounts:signInWithPassword", s.password)
	mux.HandleFunc("POST /securetoken.googleapis.com/v1/token", s.token)
	mux.HandleFunc("OPTIONS /", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Headers", "content-type")
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.Method != http.MethodOptions && r.URL.Query().Get("key") != "public" {
			http.Error(w, `{"error":{"message":"API key not valid"}}`, 400)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.Firebase = page.Firebase{APIKey: "public", AuthURL: server.URL + "/identitytoolkit.googleapis.com",
		TokenURL: server.URL + "/securetoken.googleapis.com"}
	return s
}

// next returns the next ID token, and the last one again and again. The caller must hold the lock.
func (s *service) next() string {
	id := s.ids[0]
	if len(s.ids) > 1 {
		s.ids = s.ids[1:]
	}
	return id
}

func (s *service) password(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct {
		Email, Password   string
		ReturnSecureToken bool
	}
	if err := readJSON(r, &in); err != nil || in.Email != "me@example.org" || in.Password != "right" ||
		!in.ReturnSecureToken {
		http.Error(w, `{"error":{"code":400,"message":"INVALID_LOGIN_CREDENTIALS"}}`, 400)
		return
	}
	writeJSON(w, args{"idToken": s.next(), "refreshToken": "r1", "expiresIn": "3600"})
}

func (s *service) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := r.PostFormValue("refresh_token")
	s.refresh = append(s.refresh, used)
	if s.refused || r.PostFormValue("grant_type") != "refresh_token" || (used != "r1" && used != "r2") {
		http.Error(w, `{"error":{"code":400,"message":"TOKEN_EXPIRED"}}`, 400)
		return
	}
	writeJSON(w, args{"id_token": s.next(), "refresh_token": "r2", "expires_in": "3600"})
}

// used returns the refresh tokens that clients sent.
func (s *service) used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refresh)
}

func (b *tab) signIn(password string) {
	b.t.Helper()
	b.holds("document.querySelector('#by-password button:enabled')")
	eval[string](b, "document.querySelector('#password').value = ''")
	b.write("#password", password+"\r")
}

func TestFirebaseSignsInAndRenewsItsTokenOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	u := newUser(t, hubtest.Options{Firebase: s.Firebase})
	id := u.Ask(args{"question": "q"})
	got := u.waiting(id)
	stale := u.Hub.Human("u")
	s.ids = []string{stale, u.Hub.Human("u")}

	b := newTab(t)
	b.open(u.Hub.URL + "/q/" + id)
	b.sees("#sign-in", "Password")
	b.write("#email", "me@example.org")
	b.signIn("wrong")
	b.sees("#why", "The e-mail or the password is wrong")
	b.signIn("right")
	b.sees("#state", "Waiting for your answer")
	kept := eval[string](b, "JSON.stringify([localStorage, sessionStorage])")
	if !strings.Contains(kept, "r1") || strings.Contains(kept, stale) || strings.Contains(kept, "right") {
		t.Errorf("the browser keeps %s, want the refresh token alone", kept)
	}
	b.write("#text", "my words")
	u.revoke(stale) // like a token that has expired
	b.click("#send")
	b.sees("#standing", "my words")
	answered(t, got, "my words")
	if used := s.used(); !slices.Equal(used, []string{"r1"}) {
		t.Errorf("the refresh tokens %q were used, want r1 once", used)
	}
	b.reload()
	b.sees("#standing", "my words")
	if used := s.used(); !slices.Equal(used, []string{"r1", "r2"}) {
		t.Errorf("the refresh tokens %q were used, want the new one at the next load", used)
	}
	b.signOut()
	b.sees("#sign-in", "Password")
	b.reload()
	b.sees("#sign-in", "Password")
	if used := s.used(); len(used) != 2 {
		t.Errorf("the refresh tokens %q were used, want none after signing out", used)
	}
}

func TestAnExpiredFirebaseSignInAsksForThePasswordAndKeepsTheText(t *testing.T) {
	t.Parallel()
	s := newService(t)
	u := newUser(t, hubtest.Options{Firebase: s.Firebase})
	id := u.Ask(args{"question": "q"})
	stale := u.Hub.Human("u")
	s.ids = []string{stale, u.Hub.Human("u")}
	p := newProxy(t, u.Hub, nil)
	p.holdWaits(t)
	b := newTab(t)
	b.open(p.URL + "/q/" + id)
	b.write("#email", "me@example.org")
	b.signIn("right")
	b.write("#text", "my words")
	u.revoke(stale)
	s.mu.Lock()
	s.refused = true
	s.mu.Unlock()
	b.click("#send")
	b.sees("#why", "The sign-in has ended")
	b.signIn("right")
	b.sees("#state", "Waiting for your answer")
	b.click("#send")
	b.sees("#standing", "my words")
}
