package page

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/rest"
	"parley.internal/services/hub/internal/static"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Site serves the page, its assets and the route that redeems a link.
type Site struct {
	// Redeem exchanges the code of a one-time link for a human's key. The browser shows its present key if it has one,
	// which stays its key if it is a paired device's. Redeem returns a fault for an invalid code. If it is nil, there is no
	// route for links.
	Redeem func(r *http.Request, code, present string) (SignIn, error)
	// Limit returns an error if the address of a request may not read the page's files now. It may be nil.
	Limit func(*http.Request) error
	// Firebase configures the sign-in with Firebase Auth, which is offered if its APIKey is set.
	Firebase Firebase
	// Passkeys is the origin at which passkeys work, empty if nowhere.
	Passkeys string
	// Now is the clock for the metadata of answers; nil means [time.Now].
	Now func() time.Time
}

// settings are the values that the document has for the scripts.
type settings struct {
	Firebase
	Passkeys string
}

// Firebase configures the sign-in by e-mail and password.
type Firebase struct {
	// APIKey is the public key of the project's web app; empty disables the sign-in.
	APIKey string
	// AuthURL and TokenURL are the base URLs of the Identity Toolkit and of the Secure Token service, without the path
	// of a version; empty means Google's. The Auth emulator serves them at http://HOST/identitytoolkit.googleapis.com
	// and http://HOST/securetoken.googleapis.com.
	AuthURL, TokenURL string
}

//go:embed assets
var assets embed.FS

// worker is the file of the service worker. It is served at the root, because it may act only for the paths below its
// own.
const worker = "sw.js"

// document is the file that is the same at every address of the page.
const document = "index.html"

var html = template.Must(template.ParseFS(assets, "assets/"+document))

// addresses are the addresses of the page's views, which main.js distinguishes, but for the first one, at /.
var addresses = []string{"/q", "/q/", "/q/:id", "/agents", "/work", "/work/:id", "/files", "/sprints", "/sprints/:id",
	"/teams/:id", "/talk", "/talk/:kind/:id", "/mail", "/search", "/usage", "/settings",
	"/pair", "/pair/:code"}

// kinds are the media types of the files by their extensions.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml; charset=utf-8", ".png": "image/png", ".webmanifest": "application/manifest+json"}

// files returns the assets by their names, but the document.
func files() map[string]*static.Text {
	all := map[string]*static.Text{}
	err := fs.WalkDir(assets, "assets", func(file string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(file, "assets/")
		if err != nil || d.IsDir() || name == document {
			return err
		}
		kind := kinds[path.Ext(name)]
		if kind == "" {
			return fmt.Errorf("page: %s has no media type", file)
		}
		text, err := assets.ReadFile(file)
		all[name] = static.New(kind, text)
		return err
	})
	if err != nil {
		panic(err) // cannot happen: the files are part of the program
	}
	return all
}

// Mount adds the routes to a router.
func (s Site) Mount(e *echo.Echo) {
	f := s.Firebase
	if f.APIKey == "" {
		f = Firebase{}
	} else {
		f.AuthURL = strings.TrimRight(cmp.Or(f.AuthURL, "https://identitytoolkit.googleapis.com"), "/")
		f.TokenURL = strings.TrimRight(cmp.Or(f.TokenURL, "https://securetoken.googleapis.com"), "/")
	}
	var text bytes.Buffer
	if err := html.Execute(&text, settings{f, s.Passkeys}); err != nil {
		panic(err) // cannot happen: the template and its data are part of the program
	}
	policy := f.policy()
	page := s.serve(static.New(echo.MIMETextHTMLCharsetUTF8, text.Bytes()))
	everywhere := func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		return page(c)
	}
	for _, at := range addresses {
		e.GET(at, everywhere, securityHeaders(policy))
	}
	e.Match([]string{http.MethodGet, http.MethodHead}, "/", s.home(everywhere), securityHeaders(policy))
	for name, text := range files() {
		at := "/assets/" + name
		if name == worker {
			at = "/" + name
		}
		e.GET(at, s.serve(text), securityHeaders(policy))
	}
	if s.Redeem != nil {
		e.POST("/v1/links/redeem", s.redeem)
	}
}

// explanation is the answer at / to a client that is no browser.
const explanation = `Parley, the meeting ground for AI agents

  MCP      at /mcp, with the header "Authorization: Bearer KEY"
  REST     below /v1; /openapi.json describes the routes, and /v1/health needs no key
  console  open this address in a browser; "parley link --console" signs you in

The file keys.env in the server's data directory has the first keys, and "parley key create" makes others.
`

// home returns the handler at /: the page for a browser, and an explanation for a client that does not ask for HTML, such
// as curl.
func (s Site) home(page echo.HandlerFunc) echo.HandlerFunc {
	text := s.serve(static.New(echo.MIMETextPlainCharsetUTF8, []byte(explanation)))
	return func(c echo.Context) error {
		c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
		accept := strings.ToLower(strings.Join(c.Request().Header.Values(echo.HeaderAccept), ","))
		if accept != "" && !strings.Contains(accept, echo.MIMETextHTML) {
			return text(c)
		}
		return page(c)
	}
}

// policy returns the Content-Security-Policy of all responses.
func (f Firebase) policy() string {
	connect := []string{"'self'"}
	for _, at := range []string{f.AuthURL, f.TokenURL} {
		if u, err := url.Parse(at); err == nil && u.Host != "" {
			connect = append(connect, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
		"manifest-src 'self'", "worker-src 'self'",
		"connect-src " + strings.Join(connect, " "),
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
		"trusted-types parley-worker", // which makes the address of the service worker alone
	}, "; ")
}

// securityHeaders returns middleware that sets the headers which protect the page from other origins.
func securityHeaders(policy string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for name, value := range map[string]string{
				"Content-Security-Policy":      policy,
				"Cross-Origin-Opener-Policy":   "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), " +
					"payment=(), usb=()",
				"Referrer-Policy":        "no-referrer",
				"X-Content-Type-Options": "nosniff",
				"X-Frame-Options":        "DENY",
			} {
				c.Response().Header().Set(name, value)
			}
			return next(c)
		}
	}
}

// serve returns a handler of a text that everybody may read.
func (s Site) serve(text *static.Text) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.Limit != nil {
			if err := s.Limit(c.Request()); err != nil {
				return err
			}
		}
		text.ServeHTTP(c.Response(), c.Request())
		return nil
	}
}

// redeemed is the answer to a valid code, in the envelope of all REST answers.
type redeemed struct {
	Success bool      `json:"success"`
	Data    SignIn    `json:"data"`
	Meta    rest.Meta `json:"meta"`
}

// SignIn is the result of opening a link: a key, its expiry, and whether the browser is a paired device.
type SignIn struct {
	Key       string             `json:"key"`
	ExpiresAt time.Time          `json:"expiresAt"`
	Assurance identity.Assurance `json:"assurance"`
}

// maxRedeem is the number of bytes that are read of a request to redeem a link.
const maxRedeem = 4 << 10

func (s Site) redeem(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	var in struct {
		Code string `json:"code"`
	}
	// Nobody has signed in yet, so little is read.
	if err := json.NewDecoder(io.LimitReader(c.Request().Body, maxRedeem)).Decode(&in); err != nil {
		return fault.New(fault.Invalid, "the body must be a JSON object with the code of a link")
	}
	if in.Code == "" {
		return fault.Field("code", "is required: it follows #link= in what parley link prints")
	}
	present, _ := strings.CutPrefix(c.Request().Header.Get(echo.HeaderAuthorization), "Bearer ")
	made, err := s.Redeem(c.Request(), in.Code, present)
	if err != nil {
		return err
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	meta := rest.Meta{Timestamp: now().UTC(), RequestID: c.Response().Header().Get(echo.HeaderXRequestID)}
	return c.JSON(http.StatusOK, redeemed{true, made, meta})
}
