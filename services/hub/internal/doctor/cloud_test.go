package doctor_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2/google"
	functions "google.golang.org/api/cloudfunctions/v2"
	projects "google.golang.org/api/cloudresourcemanager/v3"
	scheduler "google.golang.org/api/cloudscheduler/v1"
	admin "google.golang.org/api/firestore/v1"

	"parley.internal/services/hub/internal/doctor"
)

// ample is more than any check takes that is answered.
const ample = time.Minute

// standing is what may be the matter with a database and a clock.
var standing = []struct {
	name   string
	change func(*project)
	want   map[string]string // by check: a state, and words of its line with & between them
}{
	{"a deployment as Terraform leaves it is well", func(*project) {}, map[string]string{
		"credentials": "ok " + person + " & authorized_user", "database": "ok europe-west1 & native mode",
		"clock": "ok to within", "store": "ok a read from Firestore in my-project takes 0s",
		"indexes": "ok composite indexes are built", "fields": "ok over all users", "ttl": "ok policies are active",
		"triggers": "ok 3 functions", "sweeps": "ok 4 functions", "push": "ok " + ringer}},

	{"no database is told once", func(p *project) { p.database = nil }, map[string]string{
		"database": "fail there is no database (default) & make deploy PROJECT=my-project REGION=REGION",
		"indexes":  "skip", "fields": "skip", "ttl": "skip"}},
	{"Datastore mode is a failure", func(p *project) {
		p.database.Type = "DATASTORE_MODE"
	}, map[string]string{"database": "fail DATASTORE_MODE & native mode"}},
	{"no realtime updates are a failure", func(p *project) {
		p.database.RealtimeUpdatesMode = "REALTIME_UPDATES_MODE_DISABLED"
	}, map[string]string{"database": "fail realtime"}},
	{"no delete protection is a warning", func(p *project) {
		p.database.DeleteProtectionState = "DELETE_PROTECTION_DISABLED"
	},
		map[string]string{"database": "warn europe-west1 & delete protection is off"}},
	{"no point-in-time recovery is a warning", func(p *project) {
		p.database.PointInTimeRecoveryEnablement = ""
	}, map[string]string{"database": "warn point-in-time recovery is off"}},

	{"a missing index is named", func(p *project) {
		p.indexes = p.indexes[1:]
	}, map[string]string{"indexes": "fail councils(status, created_at desc) is missing & deploy again"}},
	{"an index that is being built is a failure for now", func(p *project) {
		p.indexes[2].State = "CREATING"
	}, map[string]string{"indexes": "fail is being built & wait"}},
	{"a broken index is a failure", func(p *project) {
		p.indexes[2].State = "NEEDS_REPAIR"
	}, map[string]string{"indexes": "fail NEEDS_REPAIR"}},
	{"an index that ends another way is another", func(p *project) {
		f := p.indexes[0].Fields
		f[len(f)-1].Order = "ASCENDING"
	}, map[string]string{"indexes": "fail councils(status, created_at desc) is missing"}},
	{"an index of another scope is another", func(p *project) {
		p.indexes[0].QueryScope = "COLLECTION_GROUP"
	}, map[string]string{"indexes": "fail is missing"}},
	{"of many missing indexes some are named", func(p *project) {
		p.indexes = nil
	}, map[string]string{"indexes": "fail councils(status, created_at desc) is missing & more"}},
	{"further indexes do no harm", func(p *project) {
		p.indexes = append(p.indexes,
			&admin.GoogleFirestoreAdminV1Index{
				Name: "projects/my-project/databases/(default)/collectionGroups/others/indexes/x", State: "CREATING"})
	}, nil},

	{"an index over all users that is missing stops a sweep", func(p *project) {
		x := p.field("relay", "sweepAt").IndexConfig
		x.Indexes = slices.DeleteFunc(x.Indexes, func(x *admin.GoogleFirestoreAdminV1Index) bool {
			return x.QueryScope == "COLLECTION_GROUP"
		})
	}, map[string]string{"fields": "fail relay.sweepAt over all users is missing"}},
	{"a field without its override is missing an index", func(p *project) {
		p.field("relay", "sweepAt").IndexConfig = nil
	}, map[string]string{"fields": "fail relay.sweepAt over all users is missing"}},
	{"a field that is indexed for nobody is a warning", func(p *project) {
		p.field("tasks",
			"instructions").IndexConfig = &admin.GoogleFirestoreAdminV1IndexConfig{UsesAncestorConfig: true}
	}, map[string]string{"fields": "warn 1 field is indexed & tasks.instructions"}},

	{"a TTL that is missing is a failure", func(p *project) {
		p.field("sessions", "purgeAt").TtlConfig = nil
	}, map[string]string{"ttl": "fail sessions.purgeAt has no TTL policy"}},
	{"a TTL that comes is a warning", func(p *project) {
		p.field("sessions", "purgeAt").TtlConfig.State = "CREATING"
	}, map[string]string{"ttl": "warn sessions.purgeAt"}},
	{"a broken TTL is a failure", func(p *project) { p.field("tasks", "purgeAt").TtlConfig.State = "NEEDS_REPAIR" },
		map[string]string{
			"ttl": "fail NEEDS_REPAIR & gcloud firestore fields ttls update purgeAt --collection-group=tasks"}},

	{"a clock that is off by little is a warning", func(p *project) {
		p.date = now.Add(-8 * time.Second)
	}, map[string]string{"clock": "warn 8s ahead of Google's & timedatectl"}},
	{"a clock that is off by more is a failure", func(p *project) {
		p.date = now.Add(2 * time.Minute)
	}, map[string]string{"clock": "fail 2m & behind Google's"}},
	{"a clock that is off by what cannot be told is well", func(p *project) { p.date = now.Add(5 * time.Second) }, nil},
}

func TestADeploymentIsToldAsItIs(t *testing.T) {
	t.Parallel()
	for _, c := range standing {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t)
			c.change(p)
			wanted(t, examine(t, p.cloud().Checks(), ample), c.want)
		})
	}
}

// working is what may be the matter with functions and jobs.
var working = []struct {
	name   string
	region string
	change func(*project)
	want   map[string]string
}{
	{"the region may be named", region, func(*project) {}, nil},
	{"a trigger that is missing is named", "", func(p *project) {
		p.drop("on-task-update")
	}, map[string]string{"triggers": "fail parley-on-task-update is missing & deploy again"}},
	{"another region has no functions", "us-east1", func(*project) {},
		map[string]string{"triggers": "fail parley-on-task-create is not in us-east1 & --region",
			"sweeps": "fail not in us-east1"}},
	{"what Google cannot see is no failure", "", func(p *project) {
		p.functions, p.gone = nil, []string{"europe-west1"}
	}, map[string]string{"triggers": "warn cannot see", "sweeps": "warn cannot see"}},
	{"a function that failed says why", "", func(p *project) {
		f := p.function("on-task-create")
		f.State, f.StateMessages = "FAILED",
			[]*functions.GoogleCloudFunctionsV2StateMessage{{Severity: "ERROR", Message: "the \x1b[31mbuild\nfailed"}}
	}, map[string]string{"triggers": "fail parley-on-task-create is FAILED: the [31mbuild failed"}},
	{"a function with a message is a warning", "", func(p *project) {
		p.function("on-task-create").StateMessages = []*functions.GoogleCloudFunctionsV2StateMessage{
			{Severity: "WARNING", Message: "its trigger is odd"}, {Severity: "INFO", Message: "never mind"}}
	}, map[string]string{"triggers": "warn its trigger is odd"}},
	{"a function that is being deployed is a warning", "", func(p *project) {
		p.function("cleanup-ledger").State = "DEPLOYING"
	}, map[string]string{"sweeps": "warn parley-cleanup-ledger is being deployed"}},
	{"a function in two regions is a warning", "", func(p *project) {
		twin := *p.function("on-task-create")
		twin.Name = "projects/my-project/locations/us-east1/functions/parley-on-task-create"
		p.functions = append(p.functions, &twin)
	}, map[string]string{"triggers": "warn is in 2 regions"}},
	{"a function without a trigger hears of nothing", "", func(p *project) {
		p.function("on-task-create").EventTrigger = nil
	}, map[string]string{"triggers": "fail has no trigger"}},
	{"a trigger that is gone is told", "", func(p *project) {
		p.function("on-task-create").EventTrigger.Trigger = ""
	}, map[string]string{"triggers": "fail has no trigger"}},
	{"a trigger of another event is a failure", "", func(p *project) {
		p.function("on-task-update").EventTrigger.EventType = "google.cloud.firestore.document.v1.created"
	}, map[string]string{"triggers": "fail not of google.cloud.firestore.document.v1.updated"}},
	{"a trigger of other documents is a failure", "", func(p *project) {
		p.function("on-task-update").EventTrigger.EventFilters[2].Value = "tasks/{id}"
	},
		map[string]string{"triggers": "fail not of users/{uid}/tasks/{id}"}},
	{"a trigger of another database is a failure", "", func(p *project) {
		p.function("on-task-update").EventTrigger.EventFilters[0].Value = "other"
	}, map[string]string{"triggers": "fail \"other\""}},
	{"a trigger without retries is a warning", "", func(p *project) {
		p.function("on-task-update").EventTrigger.RetryPolicy = ""
	}, map[string]string{"triggers": "warn not told again"}},

	{"a sweep that is missing is named", "", func(p *project) {
		p.drop("cleanup-ledger")
	}, map[string]string{"sweeps": "fail parley-cleanup-ledger is missing"}},
	{"a job that is missing is named", "", func(p *project) {
		delete(p.jobs, "parley-relay")
	}, map[string]string{"sweeps": "fail the job parley-relay is missing"}},
	{"a job that is paused is a failure", "", func(p *project) { p.jobs["parley-relay"].State = "PAUSED" },
		map[string]string{
			"sweeps": "fail the job parley-relay is PAUSED & gcloud scheduler jobs resume parley-relay --location " +
				"europe-west1 --project my-project"}},
	{"a run that failed is a failure", "", func(p *project) {
		p.jobs["parley-tasks"].Status = &scheduler.Status{Code: 7, Message: "no"}
	},
		map[string]string{
			"sweeps": "fail the last run of parley-tasks ended with PermissionDenied: no & gcloud functions logs read " +
				"parley-cleanup-orphaned-tasks"}},
	{"a job that has not run yet is a warning", "", func(p *project) {
		p.jobs["parley-ledger"] = &scheduler.Job{State: "ENABLED", Status: &scheduler.Status{Code: -1}}
	}, map[string]string{"sweeps": "warn parley-ledger has not run yet"}},
	{"a sweep that stopped is a failure", "", func(p *project) {
		p.jobs["parley-tasks"].LastAttemptTime = now.Add(-30 * time.Minute).Format(time.RFC3339)
	},
		map[string]string{"sweeps": "fail parley-tasks did not run for 30m0s"}},
	{"a sweep that was left out once is well", "", func(p *project) {
		p.jobs["parley-tasks"].LastAttemptTime = now.Add(-15 * time.Minute).Format(time.RFC3339)
	}, nil},
}

func TestFunctionsAndTheirJobsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range working {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t)
			c.change(p)
			cloud := p.cloud()
			cloud.Region = c.region
			wanted(t, examine(t, cloud.Checks(), ample), c.want)
		})
	}
}

func TestWhoMayRingIsTold(t *testing.T) {
	t.Parallel()
	forbidden := refusal{code: http.StatusForbidden, message: "no"}
	member := []string{"serviceAccount:" + ringer}
	for _, c := range []struct {
		name   string
		change func(*project)
		want   string
	}{
		{"an API that is off is a failure", func(p *project) {
			p.fcm = "DISABLED"
		}, "fail fcm.googleapis.com is not enabled & gcloud services enable fcm.googleapis.com --project my-project"},
		{"an account without a role is a failure", func(p *project) {
			p.bindings[1].Members = []string{"user:" + person}
		}, "fail " + ringer + " may not ring devices & --role roles/firebasecloudmessaging.admin"},
		{"an account that was deleted has none", func(p *project) {
			p.bindings[1].Members = []string{"deleted:serviceAccount:" + ringer + "?uid=1"}
		}, "fail may not ring"},
		{"a larger role does too", func(p *project) {
			p.bindings = []*projects.Binding{{Role: "roles/firebase.admin", Members: member}}
		}, "ok"},
		{"a role under a condition cannot be told", func(p *project) {
			p.bindings[1].Condition = &projects.Expr{Expression: "x"}
		}, "warn may or may not"},
		{"a role of the project's own cannot be told", func(p *project) {
			p.bindings = []*projects.Binding{{Role: "projects/my-project/roles/ring", Members: member}}
		}, "warn projects/my-project/roles/ring"},
		{"who may not see roles is told which role would", func(p *project) {
			p.refused["cloudresourcemanager.googleapis.com"] = forbidden
		},
			"warn " + person + " has no resourcemanager.projects.getIamPolicy & roles/browser"},
		{"who may not see APIs is told which role would", func(p *project) {
			p.refused["serviceusage.googleapis.com"] = forbidden
		}, "warn serviceusage.services.get & roles/serviceusage.serviceUsageViewer"},
		{"the account itself knows what it may", func(p *project) {
			p.account, p.own, p.bindings = ringer, []string{"cloudmessaging.messages.create"}, nil
		}, "ok"},
		{"the account itself knows what it may not", func(p *project) { p.account = ringer }, "fail may not ring"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t)
			c.change(p)
			wanted(t, examine(t, p.cloud().Checks(), ample), map[string]string{"push": c.want})
		})
	}
}

func TestWhatGoogleRefusesIsToldAndEndsNoOtherCheck(t *testing.T) {
	t.Parallel()
	const fire, func2, sched = "firestore.googleapis.com", "cloudfunctions.googleapis.com",
		"cloudscheduler.googleapis.com"
	for _, c := range []struct {
		name string
		host string
		no   refusal
		want map[string]string
	}{
		{"no right to the database is a warning and names the role", fire, refusal{code: 403, message: "no"},
			map[string]string{
				"database": "warn " + person +
					" has no datastore.databases.getMetadata in my-project & roles/datastore.viewer",
				"indexes": "warn datastore.indexes.list", "fields": "warn", "ttl": "warn"}},
		{"no right to functions is a warning and names the role", func2, refusal{code: 403, message: "no"},
			map[string]string{"triggers": "warn roles/cloudfunctions.viewer", "sweeps": "warn"}},
		{"no right to jobs is a warning and names the role", sched, refusal{code: 403, message: "no"},
			map[string]string{"sweeps": "warn roles/cloudscheduler.viewer"}},
		{"an API that is off is a failure", sched, refusal{403, "off", "SERVICE_DISABLED", sched},
			map[string]string{
				"sweeps": "fail gcloud services enable cloudscheduler.googleapis.com --project my-project"}},
		{"no billing is a failure", func2, refusal{403, "off", "BILLING_DISABLED", ""},
			map[string]string{"triggers": "fail no billing", "sweeps": "fail"}},
		{"no right to the quota is a warning", func2, refusal{403, "off", "USER_PROJECT_DENIED", ""},
			map[string]string{"triggers": "warn serviceUsageConsumer", "sweeps": "warn"}},
		{"a token that is not taken is a failure", func2, refusal{code: 401, message: "who?"},
			map[string]string{"triggers": "fail who?", "sweeps": "fail login"}},
		{"a service that is ill is a failure", func2, refusal{code: 503, message: "try\nlater"},
			map[string]string{"triggers": "fail 503: try later & again in a minute", "sweeps": "fail"}},
		{"no token is a failure, and there is nothing to ask with", "oauth2.googleapis.com",
			refusal{400, "Token has been revoked", "invalid_grant", ""}, map[string]string{
				"credentials": "fail Google gives no token & : Token has been revoked & a clock that is off & gcloud " +
					"auth " +
					"application-default login", "clock": "ok",
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

func TestANetworkThatIsDeadEndsAllChecksInTime(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.hung = make(chan struct{})
	wanted(t, examine(t, p.cloud().Checks(), 50*time.Millisecond), all("fail no answer within 50ms & HTTPS_PROXY", nil))
}

func TestANetworkThatIsNotThereIsTold(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.broken = errors.New("no such host")
	wanted(t, examine(t, p.cloud().Checks(), ample),
		all("skip",
			map[string]string{"credentials": "fail no such host & HTTPS_PROXY",
				"clock": "fail no such host & HTTPS_PROXY"}))
}

func TestAClockThatIsOffByYearsIsToldByTheCertificate(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.broken = x509.CertificateInvalidError{Reason: x509.Expired}
	got := examine(t, p.cloud().Checks(), ample)
	wanted(t, map[string]doctor.Result{"clock": got["clock"]},
		map[string]string{"clock": "fail not valid at this machine's time & timedatectl"})
}

func TestNoCredentialsAreTold(t *testing.T) {
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

func TestAServiceAccountIsNamedByItsFile(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.account = "nobody"
	cloud := p.cloud()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(
		map[string]string{"type": "service_account", "client_email": ringer,
			"token_uri": "https://oauth2.googleapis.com/token", "quota_project_id": name,
			"private_key": string(
				pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))})
	if err != nil {
		t.Fatal(err)
	}
	cloud.Find = func(ctx context.Context, scopes ...string) (*google.Credentials, error) {
		return google.CredentialsFromJSONWithType(ctx, file, google.ServiceAccount, scopes...)
	}
	p.own = []string{"cloudmessaging.messages.create"}
	wanted(t, examine(t, cloud.Checks(), ample),
		map[string]string{"credentials": "ok " + ringer + " (service_account)"})
}

func TestTheStoreIsReadAndItsDistanceTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		took time.Duration
		want string
	}{
		{"near", nil, 20 * time.Millisecond, "ok takes 20ms"},
		{"far", nil, 1500 * time.Millisecond, "warn takes 1.5s & where the database is"},
		{"not at all", errors.New("PermissionDenied"), 0,
			"fail cannot read from Firestore in my-project: PermissionDenied & roles/datastore.viewer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var clock atomic.Int64
			cloud := deployed(t).cloud()
			cloud.Now = func() time.Time { return now.Add(time.Duration(clock.Load())) }
			cloud.Store = stored(func(context.Context) error { clock.Add(int64(c.took)); return c.err })
			checks := slices.DeleteFunc(cloud.Checks(), func(c doctor.Check) bool { return c.Name != "store" })
			wanted(t, examine(t, checks, ample), map[string]string{"store": c.want})
		})
	}
}

func TestNothingInTheCloudIsChanged(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	examine(t, p.cloud().Checks(), ample)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, call := range p.calls {
		asks := strings.HasPrefix(call, "GET ") || strings.HasPrefix(call, "HEAD ") ||
			call == "POST oauth2.googleapis.com/token" || strings.HasSuffix(call, ":getIamPolicy")
		if !asks {
			t.Errorf("%s is called", call)
		}
	}
	if len(p.calls) < len(everything) {
		t.Errorf("only %d calls came: %q", len(p.calls), p.calls)
	}
}

func TestOneThatHangsKeepsNoOtherFromAnswering(t *testing.T) {
	t.Parallel()
	deaf := make(chan struct{})
	defer close(deaf)
	checks := []doctor.Check{
		{Name: "deaf", Stuck: "wake it", Look: func(context.Context) doctor.Result {
			<-deaf
			return doctor.Result{State: doctor.OK}
		}},
		{Name: "quick", Patience: ample, Look: func(ctx context.Context) doctor.Result {
			if end, _ := ctx.Deadline(); time.Until(end) < ample/2 {
				return doctor.Result{State: doctor.Fail, Fix: "it has the time of the others"}
			}
			return doctor.Result{State: doctor.OK, Said: "here"}
		}},
	}
	wanted(t, examine(t, checks, 10*time.Millisecond),
		map[string]string{"deaf": "fail no answer within 10ms & wake it", "quick": "ok here"})
}

func TestWhoInterruptsIsToldWhatWasNotLookedAt(t *testing.T) {
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

func TestAnEmulatorHasAStoreAlone(t *testing.T) {
	t.Parallel()
	checks := doctor.Emulator("127.0.0.1:1", stored(func(context.Context) error {
		return nil
	}), func() time.Time { return now })
	wanted(t, examine(t, checks, ample), all("skip", map[string]string{"store": "ok the emulator at 127.0.0.1:1"}))
}
