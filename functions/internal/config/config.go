package config

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"cloud.google.com/go/compute/metadata"
)

// Config is how the functions run.
type Config struct {
	// Project is the Google Cloud project of the Firestore store, EmulatorHost the host:port of an emulator in its
	// place.
	Project, EmulatorHost string
	// FCMProject is the Firebase project whose devices are rung. FCMEndpoint is the base URL of a stand-in for FCM, as
	// http://127.0.0.1:9/v1, that is called without credentials.
	FCMProject, FCMEndpoint string
	// PublicURL is where a person's browser finds the hub; empty where that is not known.
	PublicURL string
	// Sweep is how long one run of a sweep may take.
	Sweep time.Duration
}

const (
	defaultSweep = 150 * time.Second
	maxSweep     = time.Hour
	// askFor bounds the question to the machine which project it is in.
	askFor = 5 * time.Second
)

// Read is the configuration, or everything that is wrong with it. Where no project is named, a function in the cloud
// asks its machine, so that the error may be a passing one.
func Read(ctx context.Context, env func(string) string) (Config, error) {
	c := Config{Project: env("GOOGLE_CLOUD_PROJECT"), EmulatorHost: env("FIRESTORE_EMULATOR_HOST"),
		FCMProject:  env("PARLEY_FCM_PROJECT"),
		FCMEndpoint: env("PARLEY_FCM_ENDPOINT"), PublicURL: env("PARLEY_PUBLIC_URL"), Sweep: defaultSweep}
	var wrong []error
	for _, name := range []string{"PARLEY_FCM_ENDPOINT", "PARLEY_PUBLIC_URL"} {
		if v := env(name); v != "" && !absolute(v) {
			wrong = append(wrong, fmt.Errorf("%s is scheme://host, not %q", name, v))
		}
	}
	if v := env("PARLEY_SWEEP_SECONDS"); v != "" {
		n, err := strconv.Atoi(v)
		if c.Sweep = time.Duration(n) * time.Second; err != nil || n < 1 || n > int(maxSweep/time.Second) {
			wrong = append(wrong, fmt.Errorf("PARLEY_SWEEP_SECONDS is a number from 1 to %d, not %q",
				maxSweep/time.Second, v))
		}
	}
	if c.Project == "" && env("K_SERVICE") != "" {
		ctx, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		project, err := metadata.ProjectIDWithContext(ctx)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("the machine does not tell its project; set GOOGLE_CLOUD_PROJECT: %w",
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

func absolute(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
