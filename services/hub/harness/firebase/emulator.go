package firebase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	sdk "firebase.google.com/go/v4"
	admin "firebase.google.com/go/v4/auth"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/firebase"
	"parley.internal/services/hub/internal/page"
	"parley.internal/shared/supervise"
)

// Project is the project of the emulator's accounts. With the prefix demo- the Firebase tools never call the cloud.
const Project = "demo-parley"

// Variable names the emulator, host:port, to the libraries and to the hub.
const Variable = "FIREBASE_AUTH_EMULATOR_HOST"

// ErrNone says that this machine cannot run the emulator.
var ErrNone = errors.New("no Firebase Auth emulator: install Node and npm, and run make proof")

// Emulator is a running Auth emulator.
type Emulator struct {
	// Addr is its host:port.
	Addr string
	// Admin manages accounts, as the backend of a project does.
	Admin *admin.Client

	service *supervise.Service
	dir     string
}

// Start starts the emulator that is installed in the directory at, that of this package. It sets [Variable] in the
// environment of this process, where the libraries look for it. If Node or the installation is missing, the error is
// [ErrNone].
func Start(ctx context.Context, at string) (*Emulator, error) {
	cli, err := filepath.Abs(filepath.Join(at, "node_modules", "firebase-tools", "lib", "bin", "firebase.js"))
	if err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(cli)
	}
	if err != nil {
		return nil, errors.Join(ErrNone, err)
	}
	dir, err := os.MkdirTemp("", "parley-auth-emulator-")
	if err != nil {
		return nil, err
	}
	e := &Emulator{dir: dir}
	// The command writes its logs to the working directory, and its settings to the home directory.
	env := append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "CI=1", "NO_UPDATE_NOTIFIER=1")
	e.service, err = supervise.Server{Path: "/", Status: http.StatusOK, Env: env, Grace: 5 * time.Second,
		Patience: 5 * time.Minute,
		Args: func(addr string) []string {
			return []string{"sh", "-c", `cd "$0" && exec "$@"`, dir, node, cli, "emulators:start", "--only", "auth",
				"--project", Project, "--config", configure(dir, addr)}
		}}.Start(ctx)
	if err == nil {
		e.Addr = e.service.Addr
		err = e.manage(ctx)
	}
	if err != nil {
		e.Stop()
		return nil, fmt.Errorf("the Firebase Auth emulator: %w", err)
	}
	return e, nil
}

// configure writes a firebase.json for the address, and returns its path. The command reports a file that is missing.
func configure(dir, addr string) string {
	host, port, _ := net.SplitHostPort(addr) // it comes from a listener
	path := filepath.Join(dir, "firebase.json")
	text := fmt.Sprintf(`{"emulators":{"auth":{"host":%q,"port":%s},"ui":{"enabled":false},"singleProjectMode":false}}`,
		host, port)
	_ = os.WriteFile(path, []byte(text), 0o600)
	return path
}

func (e *Emulator) manage(ctx context.Context) error {
	if err := os.Setenv(Variable, e.Addr); err != nil {
		return err
	}
	app, err := sdk.NewApp(ctx, &sdk.Config{ProjectID: Project})
	if err != nil {
		return err
	}
	e.Admin, err = app.Auth(ctx)
	return err
}

// Stop ends the emulator.
func (e *Emulator) Stop() {
	if e.service != nil {
		e.service.Stop()
	}
	_ = os.RemoveAll(e.dir)
}

// Page returns the page's settings for signing in at the emulator.
func (e *Emulator) Page() page.Firebase {
	return page.Firebase{APIKey: "emulator", AuthURL: "http://" + e.Addr + "/identitytoolkit.googleapis.com",
		TokenURL: "http://" + e.Addr + "/securetoken.googleapis.com"}
}

// Keys returns a look-up of keys and of the emulator's sign-ins, for the people of the list.
func (e *Emulator) Keys(ctx context.Context, allow ...string) (func(auth.Keys) auth.Keys, error) {
	list, err := admission.Parse(allow)
	if err != nil {
		return nil, err
	}
	v, err := firebase.New(ctx, Project, list)
	return func(k auth.Keys) auth.Keys { return auth.Beside{Keys: k, Tokens: v} }, err
}

// SignIn is an account with the tokens of an app that has signed in.
type SignIn struct{ UID, Token, Refresh string }

// SignUp makes an account, as everybody can, and signs in. The address is not verified.
func (e *Emulator) SignUp(ctx context.Context, email, password string) (SignIn, error) {
	return e.app(ctx, "accounts:signUp", map[string]any{"email": email, "password": password})
}

// Anonymous signs in without an account.
func (e *Emulator) Anonymous(ctx context.Context) (SignIn, error) {
	return e.app(ctx, "accounts:signUp", map[string]any{})
}

// SignIn signs in with a password.
func (e *Emulator) SignIn(ctx context.Context, email, password string) (SignIn, error) {
	return e.app(ctx, "accounts:signInWithPassword", map[string]any{"email": email, "password": password})
}

// Foreign makes an account with a user id and a verified address in another project, and signs in there.
func (e *Emulator) Foreign(ctx context.Context, project, uid, email string) (SignIn, error) {
	const password = "foreign-password"
	in := map[string]any{"localId": uid, "email": email, "password": password, "emailVerified": true}
	if err := e.post(ctx, "/identitytoolkit.googleapis.com/v1/projects/"+project+"/accounts", in, &struct{}{}); err != nil {
		return SignIn{}, err
	}
	return e.app(ctx, "accounts:signInWithPassword",
		map[string]any{"email": email, "password": password, "targetProjectId": project})
}

// Refreshed returns a sign-in with a new token.
func (e *Emulator) Refreshed(ctx context.Context, s SignIn) (SignIn, error) {
	var out struct {
		ID      string `json:"id_token"`
		Refresh string `json:"refresh_token"`
	}
	form := map[string]any{"grant_type": "refresh_token", "refresh_token": s.Refresh}
	err := e.post(ctx, "/securetoken.googleapis.com/v1/token?key=emulator", form, &out)
	return SignIn{s.UID, out.ID, out.Refresh}, err
}

// Verify proves that the address of a sign-in is the person's: it follows the link that the emulator sends there.
func (e *Emulator) Verify(ctx context.Context, s SignIn, email string) error {
	in := map[string]any{"requestType": "VERIFY_EMAIL", "idToken": s.Token}
	if err := e.post(ctx, "/identitytoolkit.googleapis.com/v1/accounts:sendOobCode?key=emulator", in, &struct{}{}); err != nil {
		return err
	}
	var sent struct {
		OobCodes []struct{ Email, RequestType, OobLink string }
	}
	if err := e.do(ctx, http.MethodGet, "/emulator/v1/projects/"+Project+"/oobCodes", nil, &sent); err != nil {
		return err
	}
	for _, c := range sent.OobCodes {
		if c.Email != email || c.RequestType != "VERIFY_EMAIL" {
			continue
		}
		link, err := url.Parse(c.OobLink)
		if err != nil {
			return err
		}
		return e.do(ctx, http.MethodGet, link.RequestURI(), nil, &struct{}{})
	}
	return fmt.Errorf("no link was sent to %s", email)
}

// app makes a call of an app that signs in.
func (e *Emulator) app(ctx context.Context, method string, in map[string]any) (SignIn, error) {
	in["returnSecureToken"] = true
	var out struct{ LocalID, IDToken, RefreshToken string }
	err := e.post(ctx, "/identitytoolkit.googleapis.com/v1/"+method+"?key=emulator", in, &out)
	return SignIn{out.LocalID, out.IDToken, out.RefreshToken}, err
}

func (e *Emulator) post(ctx context.Context, path string, in map[string]any, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return e.do(ctx, http.MethodPost, path, text, out)
}

// do calls the emulator. A call that names a project needs the credentials of its owner.
func (e *Emulator) do(ctx context.Context, method, path string, in []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+e.Addr+path, bytes.NewReader(in))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.Contains(path, "/projects/") || bytes.Contains(in, []byte(`"targetProjectId"`)) {
		req.Header.Set("Authorization", "Bearer owner")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s: %s %s", path, res.Status, text), err)
	}
	return json.Unmarshal(text, out)
}
