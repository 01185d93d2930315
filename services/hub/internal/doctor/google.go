//go:build !laptop

package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	userinfo "google.golang.org/api/oauth2/v2"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"
)

// session is an HTTP client with the credentials of the person or account that runs the doctor.
type session struct {
	account string // empty if unknown
	kind    string
	client  *http.Client
}

// String returns the name of the account, or a text that says that it is unknown.
func (s *session) String() string { return cmp.Or(s.account, "an unknown account") }

// scopes include the one that shows the name of the account.
var scopes = []string{"https://www.googleapis.com/auth/cloud-platform",
	"https://www.googleapis.com/auth/userinfo.email"}

// signIn returns the session that all checks share.
func (c *Cloud) signIn(ctx context.Context) (*session, error) {
	// The session outlives the first check that asks for it.
	c.once.Do(func() { c.session, c.failed = c.begin(context.WithoutCancel(ctx)) })
	return c.session, c.failed
}

func (c *Cloud) transport() http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	return http.DefaultTransport
}

func (c *Cloud) begin(ctx context.Context) (*session, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: c.transport(), Timeout: Patience})
	find := c.Find
	if find == nil {
		find = google.FindDefaultCredentials
	}
	creds, err := find(ctx, scopes...)
	if err != nil {
		return nil, err
	}
	if _, err := creds.TokenSource.Token(); err != nil {
		return nil, err
	}
	var file struct {
		Type          string `json:"type"`
		Email         string `json:"client_email"`
		Impersonation string `json:"service_account_impersonation_url"`
		Quota         string `json:"quota_project_id"`
	}
	if len(creds.JSON) > 0 {
		if err := json.Unmarshal(creds.JSON, &file); err != nil {
			return nil, fmt.Errorf("the credentials cannot be read: %w", err)
		}
	}
	opts := []option.ClientOption{option.WithCredentials(creds), option.WithTelemetryDisabled()}
	if file.Type == string(google.AuthorizedUser) && file.Quota == "" {
		// Google refuses calls of a person that count against the quota of no project.
		opts = append(opts, option.WithQuotaProject(c.Project))
	}
	transport, err := htransport.NewTransport(ctx, c.transport(), opts...)
	if err != nil {
		return nil, err
	}
	s := &session{client: &http.Client{Transport: transport}, account: file.Email,
		kind: cmp.Or(file.Type, "the machine's own")}
	if m := impersonated.FindStringSubmatch(file.Impersonation); m != nil {
		s.account = m[1]
	}
	if s.account == "" {
		s.account = whoIs(ctx, s.client)
	}
	return s, nil
}

var impersonated = regexp.MustCompile(`/serviceAccounts/([^/:]+):`)

// whoIs returns the account of the credentials, empty if Google does not name it.
func whoIs(ctx context.Context, client *http.Client) string {
	ctx, cancel := context.WithTimeout(ctx, Patience/2)
	defer cancel()
	service, err := userinfo.NewService(ctx, option.WithHTTPClient(client))
	if err != nil {
		return ""
	}
	info, err := service.Userinfo.Get().Context(ctx).Do()
	if err != nil {
		return ""
	}
	return info.Email
}

const login = "gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a service account's file"

func (c *Cloud) credentials(ctx context.Context) Result {
	s, err := c.signIn(ctx)
	var refused *oauth2.RetrieveError
	var unreachable *url.Error
	switch {
	case err == nil:
		return ok("application default credentials of %v (%s)", s, s.kind)
	case errors.As(err, &refused):
		why := cmp.Or(refused.ErrorDescription, refused.ErrorCode, "no reason given")
		return fail("Google grants no token for the application default credentials: "+why,
			"sign in again: "+login+"; a wrong clock is another possible reason")
	case errors.As(err, &unreachable):
		return unreached(err)
	}
	return fail("no usable credentials: "+err.Error(), login)
}

// signedIn returns a check that runs look with the session, and is skipped without credentials.
func (c *Cloud) signedIn(look func(context.Context, *session) Result) func(context.Context) Result {
	return func(ctx context.Context) Result {
		s, err := c.signIn(ctx)
		if err != nil {
			return skip("not checked: there are no credentials")
		}
		return look(ctx, s)
	}
}

// right is a permission, and the smallest predefined role with it that allows no changes.
type right struct{ permission, role string }

// refusal returns the result of a call that failed with err and needs a right.
func (c *Cloud) refusal(s *session, err error, needs right) Result {
	var e *googleapi.Error
	if !errors.As(err, &e) {
		return unreached(err)
	}
	reason, api := reasonOf(e)
	switch {
	case reason == "SERVICE_DISABLED":
		return fail(api+" is not enabled in "+c.Project,
			fmt.Sprintf("gcloud services enable %s --project %s", api, c.Project))
	case reason == "BILLING_DISABLED":
		return fail(c.Project+" has no billing", "link a billing account to the project")
	case reason == "USER_PROJECT_DENIED":
		return warn(fmt.Sprintf("cannot be read: %v may not use the quota of the project", s),
			"give it roles/serviceusage.serviceUsageConsumer, or "+
				"gcloud auth application-default set-quota-project "+c.Project)
	case e.Code == http.StatusForbidden:
		return warn(fmt.Sprintf("cannot be read: %v has no %s in %s", s, needs.permission, c.Project),
			fmt.Sprintf("give it %s, or ask an account that has it", needs.role))
	case e.Code == http.StatusUnauthorized:
		return fail("Google refuses the credentials: "+e.Message, "sign in again: "+login)
	}
	return fail(fmt.Sprintf("Google answers with %d: %s", e.Code, cmp.Or(e.Message, http.StatusText(e.Code))),
		"run it again in a minute")
}

const network = "check the network, DNS and HTTPS_PROXY"

func unreached(err error) Result {
	var certificate x509.CertificateInvalidError
	if errors.As(err, &certificate) && certificate.Reason == x509.Expired {
		return fail("Google's certificate is not valid at this machine's time", setClock)
	}
	return fail("Google cannot be reached: "+err.Error(), network)
}

func reasonOf(e *googleapi.Error) (reason, api string) {
	for _, d := range e.Details {
		if detail, is := d.(map[string]any); is && detail["reason"] != nil {
			reason, _ = detail["reason"].(string)
			about, _ := detail["metadata"].(map[string]any)
			api, _ = about["service"].(string)
			return reason, cmp.Or(api, "the API")
		}
	}
	return "", ""
}

// missing reports whether Google answered that the resource does not exist.
func missing(err error) bool {
	var e *googleapi.Error
	return errors.As(err, &e) && e.Code == http.StatusNotFound
}
