package passkeys_test

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/passkeys"
)

func TestPasskeysHaveAPlaceAtANameOverHTTPSOrOnLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]passkeys.Place{
		"https://parley.example.org":      {RPID: "parley.example.org", Origin: "https://parley.example.org"},
		"https://Parley.Example.org:443/": {RPID: "parley.example.org", Origin: "https://parley.example.org"},
		"https://parley.example.org:8443": {RPID: "parley.example.org", Origin: "https://parley.example.org:8443"},
		"http://127.0.0.1:8787":           {RPID: "localhost", Origin: "http://localhost:8787"},
		"http://[::1]:8787":               {RPID: "localhost", Origin: "http://localhost:8787"},
		"http://localhost:8787":           {RPID: "localhost", Origin: "http://localhost:8787"},
		"http://localhost":                {RPID: "localhost", Origin: "http://localhost"},
	} {
		if got, err := passkeys.At(address); got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", address, got, err, want)
		}
	}
	for address, words := range map[string]string{
		"":                          "--public-url",
		"http://parley.example.org": "HTTPS",
		"https://192.0.2.1":         "an IP address",
		"https://[2001:db8::1]:443": "an IP address",
		"http://192.168.1.5:8787":   "an IP address",
		"://":                       "--public-url",
	} {
		if got, err := passkeys.At(address); !fault.Is(err, fault.Precondition) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %+v, %v; want Precondition with %q", address, got, err, words)
		}
	}
}
