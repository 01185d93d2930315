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
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "secret"})
	b := newTab(t)
	b.open(w.hub.URL + "/q/" + id)
	b.sees("#sign-in", "parley link")
	if body := b.text("main"); strings.Contains(body, "secret") {
		t.Errorf("the page shows %s", body)
	}
	for _, sel := range []string{"#by-password", "#sign-out", "#task"} {
		if eval[bool](b, "document.querySelector('"+sel+"').checkVisibility()") {
			t.Errorf("%s is seen", sel)
		}
	}
}

// A server that others can reach refuses pages of origins that it does not know, so
// nothing of the page may be loaded in a way that names one.
func TestThePageLoadsFromAServerThatOthersCanReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{Public: true})
	b := newTab(t)
	b.open(w.hub.URL + "/q")
	b.sees("#sign-in", "parley link")
	eval[string](b, "localStorage.setItem('parley.signIn', '"+`{"key":"`+w.human+`"}`+"'), 'ok'")
	w.ask(args{"question": "Here?"})
	b.reload()
	b.sees("#questions", "Here?")
}

func TestALinkSignsInOneBrowserOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "q"})
	link := w.hub.URL + "/q/" + id + "#link=" + w.code()
	first, second := newTab(t), newTab(t)
	first.open(link)
	first.sees("#state", "Waiting for your answer")
	second.open(link)
	second.sees("#why", "was used or has expired")
	second.sees("#by-link", "parley link")
	if at := eval[string](second, "location.hash"); at != "" {
		t.Errorf("the address keeps %q", at)
	}
	// A link that is opened in the same tab is not loaded anew.
	second.open(w.hub.URL + "/q/" + id + "#link=" + w.code())
	second.sees("#state", "Waiting for your answer")
	// Who is signed in already may open an old one.
	first.open(w.hub.URL + "/q")
	first.open(link)
	first.sees("#state", "Waiting for your answer")
}

func TestAKeyThatIsGoodNoMoreAsksForANewLinkAndKeepsTheText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "q"})
	d := newDoor(t, w.hub, nil)
	d.hush(t)
	b := w.signedIn(d.URL, id)
	b.write("#text", "my words")
	key := eval[string](b, "JSON.parse(localStorage.getItem('parley.signIn')).key")
	w.revoke(key)
	b.click("#send")
	b.sees("#why", "This key was revoked")
	b.sees("#by-link", "parley link")
	if left := eval[int](b, "localStorage.length"); left != 0 {
		t.Error("the key is kept")
	}
	b.open(d.URL + "/q/" + id + "#link=" + w.code())
	b.sees("#state", "Waiting for your answer")
	b.click("#send")
	b.sees("#standing", "my words")
}

// revoke ends a key, which the browser does not know.
func (w *world) revoke(key string) {
	w.t.Helper()
	caller, _, err := w.hub.App.Keys.Lookup(w.t.Context(), key)
	must(w.t, err)
	_, err = w.hub.App.Keys.Revoke(w.t.Context(), identity.Caller{User: caller.User, Kind: identity.Human}, keys.RevokeInput{KeyID: caller.KeyID})
	must(w.t, err)
}

func TestSigningOutForgetsInEveryTab(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hubtest.Options{})
	id := w.ask(args{"question": "secret"})
	b := w.signedIn(w.hub.URL, id)
	b.sees("#title", "secret")
	other := b.beside()
	other.open(w.hub.URL + "/q")
	other.sees("#questions", "secret")
	b.click("#sign-out")
	b.sees("#sign-in", "parley link")
	other.sees("#sign-in", "parley link")
	if left := eval[int](b, "localStorage.length + sessionStorage.length"); left != 0 {
		t.Error("something is kept")
	}
	if body := b.text("main"); strings.Contains(body, "secret") {
		t.Errorf("the page still shows %s", body)
	}
	b.reload()
	b.sees("#sign-in", "parley link")
}

// service plays the two services of Firebase Auth for one person.
type service struct {
	page.Firebase

	mu      sync.Mutex
	ids     []string // the ID tokens to give, in turn
	refresh []string // the refresh tokens that were used
	refused bool     // whether refresh tokens are good no more
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
	s.Firebase = page.Firebase{APIKey: "public", AuthURL: server.URL + "/identitytoolkit.googleapis.com", TokenURL: server.URL + "/securetoken.googleapis.com"}
	return s
}

// next is the next ID token; the last one stays. The lock is held.
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
	if err := readJSON(r, &in); err != nil || in.Email != "me@example.org" || in.Password != "right" || !in.ReturnSecureToken {
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

// used are the refresh tokens that came.
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

func TestFirebaseSignsInAndItsTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	w := newWorld(t, hubtest.Options{Firebase: s.Firebase})
	id := w.ask(args{"question": "q"})
	got := w.waiting(id)
	stale := w.hub.Human("u")
	s.ids = []string{stale, w.hub.Human("u")}

	b := newTab(t)
	b.open(w.hub.URL + "/q/" + id)
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
	w.revoke(stale) // as if its hour were over
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
	b.click("#sign-out")
	b.sees("#sign-in", "Password")
	b.reload()
	b.sees("#sign-in", "Password")
	if used := s.used(); len(used) != 2 {
		t.Errorf("the refresh tokens %q were used, want none after signing out", used)
	}
}

func TestFirebaseThatEndsASignInAsksForThePasswordAndKeepsTheText(t *testing.T) {
	t.Parallel()
	s := newService(t)
	w := newWorld(t, hubtest.Options{Firebase: s.Firebase})
	id := w.ask(args{"question": "q"})
	stale := w.hub.Human("u")
	s.ids = []string{stale, w.hub.Human("u")}
	d := newDoor(t, w.hub, nil)
	d.hush(t)
	b := newTab(t)
	b.open(d.URL + "/q/" + id)
	b.write("#email", "me@example.org")
	b.signIn("right")
	b.write("#text", "my words")
	w.revoke(stale)
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
