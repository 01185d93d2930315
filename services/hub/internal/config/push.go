package config

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// pushFlags declares the flags of notifications. The VAPID key is a secret, and so no flag.
func (c *Config) pushFlags(f *pflag.FlagSet, env func(string) string) {
	f.StringVar(&c.FCMProject, "fcm-project", env("PARLEY_FCM_PROJECT"),
		"project whose devices a server with the embedded store notifies, with the application default credentials "+
			"(PARLEY_FCM_PROJECT)")
	f.StringVar(&c.FCMEndpoint, "fcm-endpoint", env("PARLEY_FCM_ENDPOINT"),
		"URL that replaces Firebase Cloud Messaging in development, such as http://127.0.0.1:9100/v1 "+
			"(PARLEY_FCM_ENDPOINT)")
	c.VAPIDKey = env("PARLEY_VAPID_KEY")
	f.StringVar(&c.Contact, "push-contact", env("PARLEY_PUSH_CONTACT"),
		"URL of the operator that the push services of browsers are told, such as mailto:me@example.org; by default "+
			"--public-url if it is https (PARLEY_PUSH_CONTACT)")
}

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
