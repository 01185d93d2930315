package config

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func env(of map[string]string) func(string) string {
	return func(name string) string { return of[name] }
}

func TestTheEnvironmentIsReadOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  map[string]string
		want Config
	}{
		"only a project": {map[string]string{"GOOGLE_CLOUD_PROJECT": "p"},
			Config{Project: "p", FCMProject: "p", Sweep: 150 * time.Second}},
		"everything": {map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "FIRESTORE_EMULATOR_HOST": "h:1",
			"PARLEY_FCM_PROJECT":  "q",
			"PARLEY_FCM_ENDPOINT": "http://127.0.0.1:9/v1", "PARLEY_PUBLIC_URL": "https://parley.example",
			"PARLEY_SWEEP_SECONDS": "7", "PARLEY_VAPID_KEY": "k", "PARLEY_PUSH_CONTACT": "mailto:me@example.org",
			"K_SERVICE": "f"},
			Config{Project: "p", EmulatorHost: "h:1", FCMProject: "q", FCMEndpoint: "http://127.0.0.1:9/v1",
				VAPIDKey: "k", Contact: "mailto:me@example.org", PublicURL: "https://parley.example", Sweep: 7 * time.Second}},
		"a page and no contact": {map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "PARLEY_PUBLIC_URL": "https://parley.example"},
			Config{Project: "p", FCMProject: "p", Contact: "https://parley.example", PublicURL: "https://parley.example",
				Sweep: 150 * time.Second}},
	} {
		if got, err := Read(t.Context(), env(tc.env)); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestTheErrorListsAllInvalidSettings(t *testing.T) {
	t.Parallel()
	_, err := Read(t.Context(), env(map[string]string{"PARLEY_FCM_ENDPOINT": "127.0.0.1:9",
		"PARLEY_PUBLIC_URL": "parley.example", "PARLEY_SWEEP_SECONDS": "0"}))
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, name := range []string{"GOOGLE_CLOUD_PROJECT", "PARLEY_FCM_ENDPOINT", "PARLEY_PUBLIC_URL",
		"PARLEY_SWEEP_SECONDS"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	for _, seconds := range []string{"-1", "3601", "9223372036854775807", "1.5", "soon"} {
		if _, err := Read(t.Context(), env(map[string]string{"GOOGLE_CLOUD_PROJECT": "p",
			"PARLEY_SWEEP_SECONDS": seconds})); err == nil {
			t.Errorf("%s seconds are taken", seconds)
		}
	}
}

// The library caches a successful answer, so the failure is tested first.
func TestAFunctionInTheCloudAsksTheMetadataServerForTheProject(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer machine.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(machine.URL, "http://"))
	cloud := env(map[string]string{"K_SERVICE": "ontaskcreate"})
	if _, err := Read(t.Context(), cloud); err == nil || !strings.Contains(err.Error(), "GOOGLE_CLOUD_PROJECT") {
		t.Errorf("without an answer: %v", err)
	}
	answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/computeMetadata/v1/project/project-id" && r.Header.Get("Metadata-Flavor") == "Google" {
			_, _ = w.Write([]byte("told"))
		}
	}
	if c, err := Read(t.Context(), cloud); err != nil || c.Project != "told" || c.FCMProject != "told" {
		t.Errorf("%+v, %v", c, err)
	}
}
