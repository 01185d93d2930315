// Package config is the hub's configuration: one struct, read once from flags
// and the environment, checked before anything starts. A flag beats its variable.
// Nothing else in the hub reads the environment.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Config is how the hub runs.
type Config struct {
	// Addr is where it listens.
	Addr string
	// Data is the directory of the embedded store.
	Data string
	// Store is sqlite or firestore; Project and EmulatorHost are Firestore's.
	Store, Project, EmulatorHost string
	// Rate is calls a second a key may make, Burst how many at once; 0 for no limit.
	Rate  float64
	Burst int
	// TrustProxy takes a caller's address from the last X-Forwarded-For entry.
	TrustProxy bool
	// Origins are those of web pages that may call; loopback ones may where the
	// server listens on loopback alone.
	Origins []string
	// PublicURL is where a person's browser finds the server, without a slash at its end.
	PublicURL string
	// FirebaseProject is whose sign-ins are taken, FirebaseAPIKey what the page signs
	// people in with, AuthEmulatorHost who verifies them in development.
	FirebaseProject, FirebaseAPIKey, AuthEmulatorHost string
	// FCMProject is whose devices an embedded server rings, FCMEndpoint who rings them in
	// development.
	FCMProject, FCMEndpoint string
	// WorkspaceRoot is the directory under which files may be read to be verified; empty for none.
	WorkspaceRoot string

	wrong []error // variables that could not be read
}

// The limits of a server that others can reach; one on loopback has none.
const (
	cloudRate  = 50
	cloudBurst = 200
)

// StoreFlags declares the flags of commands that open the store.
func (c *Config) StoreFlags(f *pflag.FlagSet, env func(string) string) {
	f.StringVar(&c.Data, "data", cmp.Or(env("PARLEY_DATA"), defaultData()),
		"directory of the embedded store (PARLEY_DATA)")
	f.StringVar(&c.Store, "store", cmp.Or(env("PARLEY_STORE"), "sqlite"), "sqlite or firestore (PARLEY_STORE)")
	f.StringVar(&c.Project, "project", env("GOOGLE_CLOUD_PROJECT"),
		"Google Cloud project of the Firestore store (GOOGLE_CLOUD_PROJECT)")
	c.EmulatorHost = env("FIRESTORE_EMULATOR_HOST")
}

// ServeFlags declares the flags of serve.
func (c *Config) ServeFlags(f *pflag.FlagSet, env func(string) string) {
	c.StoreFlags(f, env)
	addr := cmp.Or(env("PARLEY_ADDR"), "127.0.0.1:3001")
	port := env("PORT")
	if env("PARLEY_ADDR") == "" && port != "" {
		addr = ":" + port
	}
	f.StringVar(&c.Addr, "addr", addr, "address to listen on (PARLEY_ADDR; PORT alone means every interface)")
	f.Float64Var(&c.Rate, "rate", read(c, env, "PARLEY_RATE", -1, parseRate),
		"calls a second for a key, 0 for no limit; 50 where others can reach the server (PARLEY_RATE)")
	f.IntVar(&c.Burst, "burst", read(c, env, "PARLEY_BURST", cloudBurst, strconv.Atoi),
		"calls that a key may make at once (PARLEY_BURST)")
	f.BoolVar(&c.TrustProxy, "trust-proxy", read(c, env, "PARLEY_TRUST_PROXY", port != "", strconv.ParseBool),
		"one proxy stands before the server and names the caller in X-Forwarded-For (PARLEY_TRUST_PROXY)")
	var origins []string
	if o := env("PARLEY_ALLOWED_ORIGINS"); o != "" {
		origins = strings.Split(o, ",")
	}
	f.StringVar(&c.PublicURL, "public-url", env("PARLEY_PUBLIC_URL"),
		"where a browser finds the server, as https://parley.example.org (PARLEY_PUBLIC_URL)")
	f.StringVar(&c.FirebaseProject, "firebase-project", env("PARLEY_FIREBASE_PROJECT"),
		"project whose Firebase sign-ins are taken beside human keys; that of the Firestore store where left out "+
			"(PARLEY_FIREBASE_PROJECT)")
	f.StringVar(&c.FirebaseAPIKey, "firebase-api-key", env("PARLEY_FIREBASE_API_KEY"),
		"web API key by which the page signs people in (PARLEY_FIREBASE_API_KEY)")
	f.StringVar(&c.FCMProject, "fcm-project", env("PARLEY_FCM_PROJECT"),
		"project whose devices the embedded store's server rings, with the application default credentials "+
			"(PARLEY_FCM_PROJECT)")
	f.StringVar(&c.FCMEndpoint, "fcm-endpoint", env("PARLEY_FCM_ENDPOINT"),
		"a stand-in for Firebase Cloud Messaging in development, as http://127.0.0.1:9100/v1 (PARLEY_FCM_ENDPOINT)")
	f.StringVar(&c.WorkspaceRoot, "workspace-root", env("PARLEY_WORKSPACE_ROOT"),
		"directory under which verifications read the files of agents; none where left out (PARLEY_WORKSPACE_ROOT)")
	c.AuthEmulatorHost = env("FIREBASE_AUTH_EMULATOR_HOST")
	f.StringSliceVar(&c.Origins, "allow-origin", origins,
		"origin of a web page that may call, as https://example.org (PARLEY_ALLOWED_ORIGINS)")
}

// read is a variable's value, or def where it is empty. One that cannot be read is
// told when the configuration is checked.
func read[T any](c *Config, env func(string) string, name string, def T, parse func(string) (T, error)) T {
	text := env(name)
	if text == "" {
		return def
	}
	v, err := parse(text)
	if err != nil {
		c.wrong = append(c.wrong, fmt.Errorf("%s cannot be %q", name, text))
		return def
	}
	return v
}

func parseRate(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && !(n >= 0) {
		err = strconv.ErrRange
	}
	return n, err
}

func defaultData() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ".parley"
	}
	return filepath.Join(home, ".parley")
}

// CheckStore says what is wrong with the store's settings.
func (c *Config) CheckStore() error {
	switch {
	case c.Store != "sqlite" && c.Store != "firestore":
		return fmt.Errorf("--store is sqlite or firestore, not %q", c.Store)
	case c.Store == "firestore" && c.Project == "":
		return fmt.Errorf("the Firestore store needs a project: give --project or set GOOGLE_CLOUD_PROJECT")
	case c.Store == "sqlite" && c.Data == "":
		return fmt.Errorf("the embedded store needs a directory: give --data or set PARLEY_DATA")
	}
	return nil
}

// CheckServe says what is wrong with the settings of serve, and fills in the
// rate where it was left open.
func (c *Config) CheckServe() error {
	if err := errors.Join(append(c.wrong, c.CheckStore())...); err != nil {
		return err
	}
	if math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0) {
		return fmt.Errorf("--rate is calls a second, not %v", c.Rate)
	}
	if _, port, err := net.SplitHostPort(c.Addr); err != nil || port == "" {
		return fmt.Errorf("--addr is host:port, not %q", c.Addr)
	}
	for _, o := range c.Origins {
		if u, err := url.Parse(o); err != nil || u.Host == "" || u.Path != "" {
			return fmt.Errorf("--allow-origin is scheme://host[:port], not %q", o)
		}
	}
	if err := c.checkPeople(); err != nil {
		return err
	}
	if c.Rate < 0 {
		c.Rate = cloudRate
		if c.Loopback() {
			c.Rate = 0
		}
	}
	if c.Rate > 0 && c.Burst < 1 {
		return fmt.Errorf("--burst is at least 1 where there is a --rate")
	}
	return nil
}

// checkPeople says what is wrong with the settings of people's sides, and fills in
// what was left open.
func (c *Config) checkPeople() error {
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
			return fmt.Errorf("%s is a URL as https://example.org, not %q", u.flag, *u.url)
		}
	}
	// The emulator's tokens carry no signature: whoever writes one is anybody.
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
	if c.PublicURL != "" { // the server's own page may call it
		p, _ := url.Parse(c.PublicURL)
		c.Origins = append(c.Origins, p.Scheme+"://"+p.Host)
	}
	return nil
}

// Loopback says whether only this machine can reach the server.
func (c *Config) Loopback() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	return err == nil && IsLoopback(host)
}

// IsLoopback says whether a host, without its port, is this machine.
func IsLoopback(host string) bool {
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
