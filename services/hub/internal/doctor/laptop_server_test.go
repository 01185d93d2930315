package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestChecksOfAServer(t *testing.T) {
	t.Parallel()
	const gone = "http://127.0.0.1:1"
	for _, c := range []struct {
		name string
		code int
		body string
		want string
	}{
		{"a healthy server", 200, `{"success":true,"data":{"status":"ok","version":"v1.2.3"}}`,
			"ok Parley v1.2.3 serves at http://127.0.0.1:"},
		{"an unhealthy server", 503, `{"success":true}`, "warn not a healthy Parley (503)"},
		{"a refused call", 200, `{"success":false}`, "warn not a healthy Parley (200)"},
		{"another program", 200, `<html>`, "warn another program"},
		{"no server", 0, "", "skip no server answers at " + gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDataDir(t)
			d.Server = gone
			if c.code != 0 {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/v1/health" || r.Header.Get("Authorization") != "" {
						t.Errorf("called at %s with %v", r.URL, r.Header)
					}
					w.WriteHeader(c.code)
					_, _ = w.Write([]byte(c.body))
				}))
				defer server.Close()
				d.Server = server.URL
			}
			wanted(t, examine(t, d.Checks(), ample), map[string]string{"server": c.want, "human": "skip"})
		})
	}
}
