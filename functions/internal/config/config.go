package config

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/compute/metadata"
)

// Config is the configuration of the functions.
type Config struct {
	// Project is the Google Cloud project of the Firestore store. EmulatorHost is the host:port of an emulator to use
	// instead of Firestore; empty for none.
	Project, EmulatorHost string
	// FCMProject is the Firebase project that the apps are registered in; the default is Project. FCMEndpoint is the
	// base URL of a stand-in for FCM, such as http://127.0.0.1:9/v1, which is called without credentials; empty for
	// none.
	FCMProject, FCMEndpoint string
	// VAPIDKey is the private key with which Web Push is sent; empty for no Web Push. Contact is the mailto: or https: URL
	// that push services are told; empty for the default.
	VAPIDKey, Contact string
	// PublicURL is the base URL of the hub for browsers; empty if it is not known.
	PublicURL string
	// KeepIdle is the retention of unused data; zero for the default.
	KeepIdle time.Duration
	// Sweep is the time limit for one run of a sweep; the default is 150 seconds.
	Sweep time.Duration
}

const (
	defaultSweep = 150 * time.Second
	maxSweep     = time.Hour
	// metadataTimeout bounds the request for the project to the metadata server.
	metadataTimeout = 5 * time.Second
)

// Read returns the configuration, or an error that lists all invalid settings. In the cloud, if no project is set, it
// asks the metadata server for one; that can fail temporarily, so a caller may try again.
func Read(ctx context.Context, env func(string) string) (Config, error) {
	c := Config{Project: env("GOOGLE_CLOUD_PROJECT"), EmulatorHost: env("FIRESTORE_EMULATOR_HOST"),
		FCMProject:  env("PARLEY_FCM_PROJECT"),
		FCMEndpoint: env("PARLEY_FCM_ENDPOINT"), PublicURL: env("PARLEY_PUBLIC_URL"), Sweep: defaultSweep,
		VAPIDKey: env("PARLEY_VAPID_KEY"), Contact: env("PARLEY_PUSH_CONTACT")}
	if c.Contact == "" && strings.HasPrefix(c.PublicURL, "https://") {
		c.Contact = c.PublicURL
	}
	var wrong []error
	for _, name := range []string{"PARLEY_FCM_ENDPOINT", "PARLEY_PUBLIC_URL"} {
		if v := env(name); v != "" && !isHTTPURL(v) {
			wrong = append(wrong, fmt.Errorf("%s must be scheme://host, not %q", name, v))
		}
	}
	if v := env("PARLEY_SWEEP_SECONDS"); v != "" {
		n, err := strconv.Atoi(v)
		if c.Sweep = time.Duration(n) * time.Second; err != nil || n < 1 || n > int(maxSweep/time.Second) {
			wrong = append(wrong, fmt.Errorf("PARLEY_SWEEP_SECONDS must be a number from 1 to %d, not %q",
				maxSweep/time.Second, v))
		}
	}
	if v := env("PARLEY_KEEP_IDLE"); v != "" {
		var err error
		if c.KeepIdle, err = time.ParseDuration(v); err != nil || c.KeepIdle < time.Hour {
			wrong = append(wrong, fmt.Errorf("PARLEY_KEEP_IDLE must be a duration of at least 1h, such as 2160h, not %q", v))
		}
	}
	if c.Project == "" && env("K_SERVICE") != "" {
		ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
		defer cancel()
		project, err := metadata.ProjectIDWithContext(ctx)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("cannot get the project from the metadata server; set "+
				"GOOGLE_CLOUD_PROJECT: %w",
				err))
		}
		c.Project = project
	} else if c.Project == "" {
		wrong = append(wrong, errors.New("set GOOGLE_CLOUD_PROJECT to the project of the Firestore store"))
	}
	if c.FCMProject == "" {
		c.FCMProject = c.Project
	}
	return c, errors.Join(wrong...)
}

func isHTTPURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
