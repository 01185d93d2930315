package config

import (
	"strings"
	"testing"
)

func TestTheContactOfPushServicesIsTheOperator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ contact, url, want string }{
		{"mailto:me@example.org", "https://parley.example", "mailto:me@example.org"},
		{"https://me.example", "", "https://me.example"},
		{"", "https://parley.example", "https://parley.example"},
		{"", "http://127.0.0.1:3001", ""},
		{"me@example.org", "", "refused"},
		{"mailto:me", "", "refused"},
		{"http://me.example", "", "refused"},
	} {
		got := Config{Contact: c.contact, PublicURL: c.url}
		err := got.checkContact()
		if c.want == "refused" {
			if err == nil || !strings.Contains(err.Error(), "--push-contact") {
				t.Errorf("%q: %v", c.contact, err)
			}
		} else if err != nil || got.Contact != c.want {
			t.Errorf("%q with %q: %q, %v", c.contact, c.url, got.Contact, err)
		}
	}
}
