package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/shared/identity"
)

// The default and the shortest retention of unused data.
const (
	keepIdle    = 90 * 24 * time.Hour
	minKeepIdle = time.Hour
)

// Config is the configuration of the hub. Declare its flags with [Config.StoreFlags] or [Config.ServeFlags], parse
// them, and then check it with [Config.CheckStore] or [Config.CheckServe].
type Config struct {
	// Addr is the host:port that the server listens on.
	Addr string
	// Data is the directory of the embedded store. It is empty until the command has found one, where neither the flag
	// nor the variable names it.
	Data string
	// Store is sqlite or firestore. Project and EmulatorHost apply to Firestore only.
	Store, Project, EmulatorHost string
	// Rate is the number of calls a second that a key may make, 0 for no limit. A negative rate stands for the
	// default until CheckServe replaces it. Burst is the number of calls that a key may make at once.
	Rate  float64
	Burst int
	// UserRate and UserBurst are the same for a user over all its keys.
	UserRate  float64
	UserBurst int
	// WaitsKey, WaitsUser and Waits are the numbers of calls that may wait at once, of a key, of a user and in all; 0 is no
	// limit, except that Waits is then chosen by the memory.
	WaitsKey, WaitsUser, Waits int
	// QuotaDocuments and QuotaBytes bound the data of a user in the store; 0 is no limit. A negative number stands for
	// the default until CheckServe replaces it.
	QuotaDocuments, QuotaBytes int64
	// TrustProxy is the number of trusted proxies before the server. A caller's address is the entry of that number
	// from the right in X-Forwarded-For, and with 0 that of the connection.
	TrustProxy int
	// Origins are the origins of web pages that may call the server. Pages on loopback may call it as well where
	// the server listens on loopback alone.
	Origins []string
	// HideKeys means that the keys of the first start are not printed, for a server whose output is logged.
	HideKeys bool
	// KeepIdle is the time for which fires, read messages of teams and unclaimed tasks are kept; see [app.Ports].
	KeepIdle time.Duration
	// PublicURL is the URL of the server for a browser, without a trailing slash.
	PublicURL string
	// FirebaseProject is the project whose sign-ins are accepted, empty for none. FirebaseAPIKey is the web API key
	// that the page signs people in with. AuthEmulatorHost is the Auth emulator that verifies sign-ins in development.
	FirebaseProject, FirebaseAPIKey, AuthEmulatorHost string
	// SignInAllow are the people whose sign-ins are admitted beside those with the custom claim: user ids, verified
	// e-mail addresses, and domains written @example.org. CheckServe parses it into Allow.
	SignInAllow []string
	Allow       admission.List
	// FCMProject is the project whose devices a server with the embedded store notifies, empty for none.
	// FCMEndpoint replaces Firebase Cloud Messaging in development.
	FCMProject, FCMEndpoint string
	// VAPIDKey is the private key with which Web Push is sent. If it is empty, a server with the embedded store makes one
	// at its first start, and one over Firestore has no Web Push. Contact is the mailto: or https: URL that push services
	// are told.
	VAPIDKey, Contact string
	// WorkspaceRoot is the directory under which verifications of the WorkspaceUsers may read files; empty for none.
	// WorkspaceAnyway allows it for a server that others can reach.
	WorkspaceRoot   string
	WorkspaceUsers  []string
	WorkspaceAnyway bool

	invalid []error // one for each variable that could not be parsed
	// given reports whether a flag of serve was given; nil where there are no flags.
	given func(flag string) bool
}

// The default limits of a server that listens on more than loopback. On loopback the default is no limit.
const (
	cloudRate      = 50
	cloudBurst     = 200
	cloudUserRate  = 4 * cloudRate
	cloudUserBurst = 4 * cloudBurst
	cloudDocuments = 1_000_000
	cloudBytes     = 10 << 30
)

// The default limits of the calls that wait.
const (
	waitsKey  = 64
	waitsUser = 256
)

// StoreFlags declares the flags of commands that open the store, with the variables of env as their defaults.
func (c *Config) StoreFlags(f *pflag.FlagSet, env func(string) string) {
	f.StringVar(&c.Data, "data", env("PARLEY_DATA"), "directory of the embedded store; by default .parley in the working "+
		"directory or above it, if it is yours alone, else ~/.parley (PARLEY_DATA)")
	f.StringVar(&c.Store, "store", cmp.Or(env("PARLEY_STORE"), "sqlite"), "sqlite or firestore (PARLEY_STORE)")
	f.StringVar(&c.Project, "project", env("GOOGLE_CLOUD_PROJECT"),
		"Google Cloud project of the Firestore store (GOOGLE_CLOUD_PROJECT)")
	c.EmulatorHost = env("FIRESTORE_EMULATOR_HOST")
}

// ServeFlags declares the flags of the serve command, those of StoreFlags included, with the variables of env as
// their defaults. CheckServe reports variables that cannot be parsed.
func (c *Config) ServeFlags(f *pflag.FlagSet, env func(string) string) {
	c.StoreFlags(f, env)
	addr := cmp.Or(env("PARLEY_ADDR"), "127.0.0.1:3001")
	port := env("PORT")
	if env("PARLEY_ADDR") == "" && port != "" {
		addr = ":" + port
	}
	f.StringVar(&c.Addr, "addr", addr, "address to listen on (PARLEY_ADDR; PORT alone means every interface)")
	f.Float64Var(&c.Rate, "rate", parsed(c, env, "PARLEY_RATE", -1, parseRate),
		"calls a second for a key, 0 for no limit; by default 50 unless the server listens on loopback alone "+
			"(PARLEY_RATE)")
	f.IntVar(&c.Burst, "burst", parsed(c, env, "PARLEY_BURST", cloudBurst, strconv.Atoi),
		"calls that a key may make at once (PARLEY_BURST)")
	c.limitFlags(f, env)
	c.given = f.Changed
	f.BoolVar(&c.HideKeys, "hide-keys", parsed(c, env, "PARLEY_HIDE_KEYS", false, strconv.ParseBool),
		"print no key at the first start, only the files that have them, where the output is logged (PARLEY_HIDE_KEYS)")
	f.DurationVar(&c.KeepIdle, "keep-idle", parsed(c, env, "PARLEY_KEEP_IDLE", keepIdle, time.ParseDuration),
		"time for which fires, read messages of teams, and tasks that nobody claims and that do not expire are kept after "+
			"their last word or change, such as 2160h (PARLEY_KEEP_IDLE)")
	c.TrustProxy = 0
	if port != "" { // Cloud Run, which sets PORT, is one proxy
		c.TrustProxy = 1
	}
	if text := env("PARLEY_TRUST_PROXY"); text != "" {
		if err := (*proxies)(&c.TrustProxy).Set(text); err != nil {
			c.invalid = append(c.invalid, fmt.Errorf("PARLEY_TRUST_PROXY cannot be %q: %w", text, err))
		}
	}
	f.Var((*proxies)(&c.TrustProxy), "trust-proxy",
		"`number` of trusted proxies before the server: the caller's address is the entry of that number from the right "+
			"in X-Forwarded-For; 1 on Cloud Run, 2 behind a load balancer of Google Cloud (PARLEY_TRUST_PROXY)")
	origins := list(env("PARLEY_ALLOWED_ORIGINS"))
	f.StringVar(&c.PublicURL, "public-url", env("PARLEY_PUBLIC_URL"),
		"URL of the server for a browser, such as https://parley.example.org (PARLEY_PUBLIC_URL)")
	f.StringVar(&c.FirebaseProject, "firebase-project", env("PARLEY_FIREBASE_PROJECT"),
		"project whose Firebase sign-ins are accepted beside human keys; by default that of the Firestore store "+
			"(PARLEY_FIREBASE_PROJECT)")
	f.StringVar(&c.FirebaseAPIKey, "firebase-api-key", env("PARLEY_FIREBASE_API_KEY"),
		"web API key with which the page signs people in (PARLEY_FIREBASE_API_KEY)")
	f.StringSliceVar(&c.SignInAllow, "sign-in-allow", list(env("PARLEY_SIGN_IN_ALLOW")),
		"who may sign in with Firebase: a user id, a verified e-mail address or a domain written @example.org, beside "+
			"people with the custom claim parley: true; by default nobody (PARLEY_SIGN_IN_ALLOW)")
	c.pushFlags(f, env)
	f.StringVar(&c.WorkspaceRoot, "workspace-root", env("PARLEY_WORKSPACE_ROOT"),
		"directory under which verifications read the files of agents; by default none (PARLEY_WORKSPACE_ROOT)")
	users := []string{"local"}
	if u := env("PARLEY_WORKSPACE_USER"); u != "" {
		users = strings.Split(u, ",")
	}
	f.StringSliceVar(&c.WorkspaceUsers, "workspace-user", users,
		"user whose verifications read files under --workspace-root; repeat it for more (PARLEY_WORKSPACE_USER)")
	f.BoolVar(&c.WorkspaceAnyway, "workspace-anyway", false,
		"read files under --workspace-root although others can reach the server")
	c.AuthEmulatorHost = env("FIREBASE_AUTH_EMULATOR_HOST")
	f.StringSliceVar(&c.Origins, "allow-origin", origins,
		"origin of a web page that may call, such as https://example.org (PARLEY_ALLOWED_ORIGINS)")
}

// parsed returns the parsed value of a variable, or def if the variable is empty. It records a variable that cannot be
// parsed for CheckServe to report.
func parsed[T any](c *Config, env func(string) string, name string, def T, parse func(string) (T, error)) T {
	text := env(name)
	if text == "" {
		return def
	}
	v, err := parse(text)
	if err != nil {
		c.invalid = append(c.invalid, fmt.Errorf("%s cannot be %q", name, text))
		return def
	}
	return v
}

// list returns the parts of a variable that are separated by commas; none if it is empty.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// maxProxies is far beyond every chain of proxies, so that a port or an address is not taken for a number of them.
const maxProxies = 20

// proxies is the value of --trust-proxy, which was once true or false.
type proxies int

// Set implements [pflag.Value].
func (p *proxies) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err == nil && n >= 0 && n <= maxProxies {
		*p = proxies(n)
		return nil
	}
	yes, err := strconv.ParseBool(text)
	switch {
	case err == nil && yes:
		return errors.New("it is a number now: write --trust-proxy 1 for one proxy (PARLEY_TRUST_PROXY=1)")
	case err == nil:
		return errors.New("it is a number now: write --trust-proxy 0 for no proxy (PARLEY_TRUST_PROXY=0)")
	}
	return fmt.Errorf("it must be the number of trusted proxies, 0 to %d: write --trust-proxy 1 for one proxy", maxProxies)
}

// String implements [pflag.Value].
func (p *proxies) String() string { return strconv.Itoa(int(*p)) }

// Type implements [pflag.Value].
func (p *proxies) Type() string { return "number" }

func parseRate(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && !(n >= 0) {
		err = strconv.ErrRange
	}
	return n, err
}

// CheckStore returns an error that names the flag if a setting of the store is missing or invalid.
func (c *Config) CheckStore() error {
	switch {
	case c.Store != "sqlite" && c.Store != "firestore":
		return fmt.Errorf("--store must be sqlite or firestore, not %q", c.Store)
	case c.Store == "firestore" && c.Project == "":
		return fmt.Errorf("the Firestore store needs a project: give --project or set GOOGLE_CLOUD_PROJECT")
	}
	return nil
}

// CheckServe returns an error that names the flag or the variable if a setting of the serve command is missing or
// invalid. It sets the defaults that depend on other settings: the rate, the Firebase project, and the server's own
// origin.
func (c *Config) CheckServe() error {
	if err := errors.Join(append(c.invalid, c.CheckStore())...); err != nil {
		return err
	}
	if c.KeepIdle < minKeepIdle {
		return fmt.Errorf("--keep-idle must be at least %s, such as 2160h for 90 days, not %s", minKeepIdle, c.KeepIdle)
	}
	if _, port, err := net.SplitHostPort(c.Addr); err != nil || port == "" {
		return fmt.Errorf("--addr must be host:port, not %q", c.Addr)
	}
	for _, o := range c.Origins {
		if u, err := url.Parse(o); err != nil || u.Host == "" || u.Path != "" {
			return fmt.Errorf("--allow-origin must be scheme://host[:port], not %q", o)
		}
	}
	if err := c.checkPages(); err != nil {
		return err
	}
	if err := c.checkContact(); err != nil {
		return err
	}
	if err := c.checkWorkspace(); err != nil {
		return err
	}
	return c.checkLimits()
}

// checkWorkspace returns an error if others can reach a server that reads the files of this machine: whoever holds a key
// of a workspace user would read them from elsewhere.
func (c *Config) checkWorkspace() error {
	if c.WorkspaceRoot == "" {
		return nil
	}
	if len(c.WorkspaceUsers) == 0 {
		return errors.New("--workspace-user must name a user")
	}
	for _, user := range c.WorkspaceUsers {
		if !identity.ValidName(user) {
			return fmt.Errorf(
				"--workspace-user must be 1 to 100 letters, digits, dots, underscores and hyphens, not %q", user)
		}
	}
	const advice = "omit --workspace-root and let agents send their files, or give --workspace-anyway"
	switch {
	case c.WorkspaceAnyway:
		return nil
	case !c.Loopback():
		return fmt.Errorf("--workspace-root is given and others can reach the server at %s: %s", c.Addr, advice)
	case c.PublicURL != "":
		return fmt.Errorf("--workspace-root is given and others can reach the server at %s: %s", c.PublicURL, advice)
	}
	return nil
}

// checkPages checks the settings of the web pages and of sign-ins, and sets their defaults.
func (c *Config) checkPages() error {
	for _, u := range []struct {
		flag string
		url  *string
	}{{"--public-url", &c.PublicURL}, {"--fcm-endpoint", &c.FCMEndpoint}} {
		if *u.url == "" {
			continue
		}
		*u.url = strings.TrimSuffix(*u.url, "/")
		if p, err := url.Parse(*u.url); err != nil || (p.Scheme != "http" && p.Scheme != "https") || p.Host == "" ||
			p.User != nil || p.RawQuery != "" || p.Fragment != "" {
			return fmt.Errorf("%s must be a URL such as https://example.org, not %q", u.flag, *u.url)
		}
	}
	// The Auth emulator's tokens carry no signature, so anyone can write a token for any user.
	if c.AuthEmulatorHost != "" && c.Store == "firestore" && c.EmulatorHost == "" {
		return fmt.Errorf(
			"FIREBASE_AUTH_EMULATOR_HOST is set beside a real Firestore: anyone could sign in as anyone; unset it")
	}
	if c.AuthEmulatorHost != "" && !c.Loopback() {
		return fmt.Errorf(
			"FIREBASE_AUTH_EMULATOR_HOST is set and others can reach the server at %s: anyone could sign in as "+
				"anyone; unset it or listen on 127.0.0.1", c.Addr)
	}
	if c.FirebaseProject == "" && c.Store == "firestore" && (c.EmulatorHost == "" || c.AuthEmulatorHost != "") {
		c.FirebaseProject = c.Project
	}
	var err error
	if c.Allow, err = admission.Parse(c.SignInAllow); err != nil {
		return fmt.Errorf("--sign-in-allow: %w", err)
	}
	if len(c.SignInAllow) > 0 && c.FirebaseProject == "" {
		return errors.New("--sign-in-allow needs a project whose sign-ins are accepted: give --firebase-project")
	}
	if c.PublicURL != "" { // the server's own page may call the server
		p, _ := url.Parse(c.PublicURL)
		c.Origins = append(c.Origins, p.Scheme+"://"+p.Host)
	}
	return nil
}

// Loopback reports whether the server listens on loopback alone. It is false if Addr is not host:port.
func (c *Config) Loopback() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	return err == nil && IsLoopback(host)
}

// IsLoopback reports whether a host without a port is localhost or a loopback address. It resolves no names.
func IsLoopback(host string) bool {
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
