package portowner_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/portowner"
)

func TestTheListenerIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"a Parley server": {`{"success":true,"data":{"status":"ok","version":"v1.2.3"}}`, "a Parley server of version v1.2.3"},
		"another server":  {`{"status":"ok"}`, ""},
		"no JSON":         {`<html>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, c.body)
			}))
			defer s.Close()
			want := c.want
			if want == "" {
				want = "another program"
				if runtime.GOOS == "linux" {
					want = "the process " + strconv.Itoa(os.Getpid()) + " ("
				}
			}
			if got := portowner.Describe(t.Context(), strings.TrimPrefix(s.URL, "http://")); !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestAnAddressWithoutAListenerHasNoName(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:1", "nonsense", "127.0.0.1:http", ""} {
		if got := portowner.Describe(t.Context(), addr); got != "another program" {
			t.Errorf("%q: got %q", addr, got)
		}
	}
}
