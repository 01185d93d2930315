//go:build !laptop

package doctor_test

import (
	"context"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"golang.org/x/oauth2/google"

	"parley.internal/services/hub/internal/doctor"
)

func TestARefusalOfOneServiceAffectsItsChecksAlone(t *testing.T) {
	t.Parallel()
	const datastore, cloudFunctions, sched = "firestore.googleapis.com", "cloudfunctions.googleapis.com",
		"cloudscheduler.googleapis.com"
	for _, c := range []struct {
		name string
		host string
		no   refusal
		want map[string]string
	}{
		{"no right to the database is a warning and names the role", datastore, refusal{code: 403, message: "no"},
			map[string]string{
				"database": "warn " + person +
					" has no datastore.databases.getMetadata in my-project & roles/datastore.viewer",
				"indexes": "warn datastore.indexes.list", "fields": "warn", "ttl": "warn"}},
		{"no right to functions is a warning and names the role", cloudFunctions, refusal{code: 403, message: "no"},
			map[string]string{"triggers": "warn roles/cloudfunctions.viewer", "sweeps": "warn"}},
		{"no right to jobs is a warning and names the role", sched, refusal{code: 403, message: "no"},
			map[string]string{"sweeps": "warn roles/cloudscheduler.viewer"}},
		{"an API that is off is a failure", sched, refusal{403, "off", "SERVICE_DISABLED", sched},
			map[string]string{
				"sweeps": "fail gcloud services enable cloudscheduler.googleapis.com --project my-project"}},
		{"no billing is a failure", cloudFunctions, refusal{403, "off", "BILLING_DISABLED", ""},
			map[string]string{"triggers": "fail no billing", "sweeps": "fail"}},
		{"no right to the quota is a warning", cloudFunctions, refusal{403, "off", "USER_PROJECT_DENIED", ""},
			map[string]string{"triggers": "warn serviceUsageConsumer", "sweeps": "warn"}},
		{"a refused token is a failure", cloudFunctions, refusal{code: 401, message: "who?"},
			map[string]string{"triggers": "fail who?", "sweeps": "fail login"}},
		{"an unavailable service is a failure", cloudFunctions, refusal{code: 503, message: "try\nlater"},
			map[string]string{"triggers": "fail 503: try later & again in a minute", "sweeps": "fail"}},
		{"without a token the other checks are skipped", "oauth2.googleapis.com",
			refusal{400, "Token has been revoked", "invalid_grant", ""}, map[string]string{
				"credentials": "fail Google grants no token & : Token has been revoked & a wrong clock & " +
					"gcloud auth application-default login", "clock": "ok",
				"database": "skip no credentials", "store": "skip", "indexes": "skip", "fields": "skip", "ttl": "skip",
				"triggers": "skip", "sweeps": "skip", "push": "skip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t)
			p.refused[c.host] = c.no
			wanted(t, examine(t, p.cloud().Checks(), ample), c.want)
		})
	}
}

var everything = []string{"credentials", "clock", "database", "store", "indexes", "fields", "ttl", "triggers", "sweeps",
	"push"}

// all returns the same expectation for every check, except for those in but.
func all(want string, but map[string]string) map[string]string {
	out := map[string]string{}
	for _, check := range everything {
		out[check] = want
		if w, other := but[check]; other {
			out[check] = w
		}
	}
	return out
}

func TestAllChecksEndInTimeWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.hung = make(chan struct{})
	wanted(t, examine(t, p.cloud().Checks(), 50*time.Millisecond), all("fail no answer within 50ms & HTTPS_PROXY", nil))
}

func TestAMissingNetworkIsReported(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.broken = errors.New("no such host")
	wanted(t, examine(t, p.cloud().Checks(), ample),
		all("skip",
			map[string]string{"credentials": "fail no such host & HTTPS_PROXY",
				"clock": "fail no such host & HTTPS_PROXY"}))
}

func TestAnExpiredCertificateReportsAWrongClock(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.broken = x509.CertificateInvalidError{Reason: x509.Expired}
	got := examine(t, p.cloud().Checks(), ample)
	wanted(t, map[string]doctor.Result{"clock": got["clock"]},
		map[string]string{"clock": "fail not valid at this machine's time & timedatectl"})
}

func TestMissingCredentialsAreReported(t *testing.T) {
	t.Parallel()
	cloud := deployed(t).cloud()
	cloud.Find = func(context.Context, ...string) (*google.Credentials, error) {
		return nil, errors.New("could not find default credentials")
	}
	wanted(t, examine(t, cloud.Checks(), ample),
		all("skip",
			map[string]string{"credentials": "fail could not find default credentials & GOOGLE_APPLICATION_CREDENTIALS",
				"clock": "ok"}))
}

func TestAHangingCheckDelaysNoOther(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang)
	checks := []doctor.Check{
		{Name: "hanging", Stuck: "wake it", Look: func(context.Context) doctor.Result {
			<-hang
			return doctor.Result{State: doctor.OK}
		}},
		{Name: "quick", Patience: ample, Look: func(ctx context.Context) doctor.Result {
			if end, _ := ctx.Deadline(); time.Until(end) < ample/2 {
				return doctor.Result{State: doctor.Fail, Fix: "the deadline is that of the others"}
			}
			return doctor.Result{State: doctor.OK, Said: "here"}
		}},
	}
	wanted(t, examine(t, checks, 10*time.Millisecond),
		map[string]string{"hanging": "fail no answer within 10ms & wake it", "quick": "ok here"})
}

func TestAnInterruptSkipsUnfinishedChecks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []doctor.Result
	failed := doctor.Run(ctx, []doctor.Check{{Name: "a", Look: func(ctx context.Context) doctor.Result {
		<-ctx.Done()
		return doctor.Result{State: doctor.Fail}
	}}}, ample, func(r doctor.Result) { got = append(got, r) })
	if failed != 0 || len(got) != 1 || got[0].State != doctor.Skip {
		t.Errorf("%d failed: %v", failed, got)
	}
}
