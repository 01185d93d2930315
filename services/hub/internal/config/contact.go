package config

import (
	"fmt"
	"net/url"
	"strings"
)

// checkContact checks the contact for push services, and sets its default.
func (c *Config) checkContact() error {
	if c.Contact == "" && strings.HasPrefix(c.PublicURL, "https://") {
		c.Contact = c.PublicURL
	}
	if c.Contact == "" {
		return nil
	}
	u, err := url.Parse(c.Contact)
	if err == nil && (u.Scheme == "https" && u.Host != "" || u.Scheme == "mailto" && strings.Contains(u.Opaque, "@")) {
		return nil
	}
	return fmt.Errorf("--push-contact must be a URL such as mailto:me@example.org or https://example.org, not %q", c.Contact)
}
