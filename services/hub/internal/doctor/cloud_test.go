//go:build !laptop

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

// ample is longer than any answered check takes.
const ample = time.Minute

// databaseCases are changes of a database and a clock.
var databaseCases = []struct {
	name   string
	change func(*project)
	want   map[string]string // by check: the state, and words of the line separated by &
}{
	{"a new deployment is healthy", func(*project) {}, map[string]string{
		"credentials": "ok " + person + " & authorized_user", "database": "ok europe-west1 & native mode",
		"clock": "ok to within", "store": "ok a read from Firestore in my-project takes 0s",
		"indexes": "ok composite indexes are built", "fields": "ok fields without an index are as declared", "ttl": "ok policies are active",
		"triggers": "ok 3 functions", "sweeps": "ok 4 scheduled functions", "push": "ok " + sender}},

	{"a missing database fails one check", func(p *project) { p.database = nil }, map[string]string{
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
	}, map[string]string{"indexes": "fail apiKeys(ancestors[], createdAt desc) is missing & deploy again"}},
	{"an index that is being built is a failure", func(p *project) {
		p.indexes[2].State = "CREATING"
	}, map[string]string{"indexes": "fail is being built & wait"}},
	{"a broken index is a failure", func(p *project) {
		p.indexes[2].State = "NEEDS_REPAIR"
	}, map[string]string{"indexes": "fail NEEDS_REPAIR"}},
	{"an index with another order at its end is another index", func(p *project) {
		f := p.indexes[0].Fields
		f[len(f)-1].Order = "ASCENDING"
	}, map[string]string{"indexes": "fail apiKeys(ancestors[], createdAt desc) is missing"}},
	{"an index of another scope is another index", func(p *project) {
		p.indexes[0].QueryScope = "COLLECTION_GROUP"
	}, map[string]string{"indexes": "fail is missing"}},
	{"of many missing indexes the first are named", func(p *project) {
		p.indexes = nil
	}, map[string]string{"indexes": "fail councils(status, created_at desc) is missing & more"}},
	{"further indexes are ignored", func(p *project) {
		p.indexes = append(p.indexes,
			&admin.GoogleFirestoreAdminV1Index{
				Name: "projects/my-project/databases/(default)/collectionGroups/others/indexes/x", State: "CREATING"})
	}, nil},

	{"a missing index over all users is a failure", func(p *project) {
		p.indexes = slices.DeleteFunc(p.indexes, func(x *admin.GoogleFirestoreAdminV1Index) bool {
			return strings.Contains(x.Name, "/relay/") && x.QueryScope == "COLLECTION_GROUP"
		})
	}, map[string]string{"indexes": "fail relay(sweepShard, sweepAt) over all users is missing"}},
	{"an index that no query needs is a warning", func(p *project) {
		p.field("tasks",
			"instructions").IndexConfig = &admin.GoogleFirestoreAdminV1IndexConfig{UsesAncestorConfig: true}
	}, map[string]string{"fields": "warn 1 field is indexed & tasks.instructions"}},

	{"a missing TTL is a failure", func(p *project) {
		p.field("sessions", "purgeAt").TtlConfig = nil
	}, map[string]string{"ttl": "fail sessions.purgeAt has no TTL policy"}},
	{"a TTL that is being activated is a warning", func(p *project) {
		p.field("sessions", "purgeAt").TtlConfig.State = "CREATING"
	}, map[string]string{"ttl": "warn sessions.purgeAt"}},
	{"a broken TTL is a failure", func(p *project) { p.field("tasks", "purgeAt").TtlConfig.State = "NEEDS_REPAIR" },
		map[string]string{
			"ttl": "fail NEEDS_REPAIR & gcloud firestore fields ttls update purgeAt --collection-group=tasks"}},

	{"a clock that is off by seconds is a warning", func(p *project) {
		p.date = now.Add(-8 * time.Second)
	}, map[string]string{"clock": "warn 8s ahead of Google's & timedatectl"}},
	{"a clock that is off by minutes is a failure", func(p *project) {
		p.date = now.Add(2 * time.Minute)
	}, map[string]string{"clock": "fail 2m & behind Google's"}},
	{"a clock that is off by less than the measurement error is right", func(p *project) {
		p.date = now.Add(5 * time.Second)
	}, nil},
}

func TestChecksOfADatabase(t *testing.T) {
	t.Parallel()
	for _, c := range databaseCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t)
			c.change(p)
			wanted(t, examine(t, p.cloud().Checks(), ample), c.want)
		})
	}
}

// functionCases are changes of functions and jobs.
var functionCases = []struct {
	name   string
	region string
	change func(*project)
	want   map[string]string
}{
	{"the region may be named", region, func(*project) {}, nil},
	{"a missing trigger is named", "", func(p *project) {
		p.drop("on-task-update")
	}, map[string]string{"triggers": "fail parley-on-task-update is missing & deploy again"}},
	{"another region has no functions", "us-east1", func(*project) {},
		map[string]string{"triggers": "fail parley-on-task-create is not in us-east1 & --region",
			"sweeps": "fail not in us-east1"}},
	{"an unreachable region is a warning", "", func(p *project) {
		p.functions, p.gone = nil, []string{"europe-west1"}
	}, map[string]string{"triggers": "warn cannot list", "sweeps": "warn cannot list"}},
	{"a failed function has its message", "", func(p *project) {
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
	{"a function without a trigger is a failure", "", func(p *project) {
		p.function("on-task-create").EventTrigger = nil
	}, map[string]string{"triggers": "fail has no trigger"}},
	{"a deleted trigger is a failure", "", func(p *project) {
		p.function("on-task-create").EventTrigger.Trigger = ""
	}, map[string]string{"triggers": "fail has no trigger"}},
	{"a trigger of another event is a failure", "", func(p *project) {
		p.function("on-task-update").EventTrigger.EventType = "google.cloud.firestore.document.v1.created"
	}, map[string]string{"triggers": "fail not google.cloud.firestore.document.v1.updated"}},
	{"a trigger of other documents is a failure", "", func(p *project) {
		p.function("on-task-update").EventTrigger.EventFilters[2].Value = "tasks/{id}"
	},
		map[string]string{"triggers": "fail not users/{uid}/tasks/{id}"}},
	{"a trigger of another database is a failure", "", func(p *project) {
		p.function("on-task-update").EventTrigger.EventFilters[0].Value = "other"
	}, map[string]string{"triggers": "fail \"other\""}},
	{"a trigger without retries is a warning", "", func(p *project) {
		p.function("on-task-update").EventTrigger.RetryPolicy = ""
	}, map[string]string{"triggers": "warn does not retry"}},

	{"a missing sweep is named", "", func(p *project) {
		p.drop("cleanup-ledger")
	}, map[string]string{"sweeps": "fail parley-cleanup-ledger is missing"}},
	{"a missing job is named", "", func(p *project) {
		delete(p.jobs, "parley-relay")
	}, map[string]string{"sweeps": "fail the job parley-relay is missing"}},
	{"a paused job is a failure", "", func(p *project) { p.jobs["parley-relay"].State = "PAUSED" },
		map[string]string{
			"sweeps": "fail the job parley-relay is PAUSED & gcloud scheduler jobs resume parley-relay --location " +
				"europe-west1 --project my-project"}},
	{"a failed run is a failure", "", func(p *project) {
		p.jobs["parley-tasks"].Status = &scheduler.Status{Code: 7, Message: "no"}
	},
		map[string]string{
			"sweeps": "fail the last run of parley-tasks ended with PermissionDenied: no & " +
				"gcloud functions logs read parley-cleanup-orphaned-tasks"}},
	{"a job that has not run yet is a warning", "", func(p *project) {
		p.jobs["parley-ledger"] = &scheduler.Job{State: "ENABLED", Status: &scheduler.Status{Code: -1}}
	}, map[string]string{"sweeps": "warn parley-ledger has not run yet"}},
	{"a sweep that stopped is a failure", "", func(p *project) {
		p.jobs["parley-tasks"].LastAttemptTime = now.Add(-30 * time.Minute).Format(time.RFC3339)
	},
		map[string]string{"sweeps": "fail parley-tasks did not run for 30m0s"}},
	{"one missed run is tolerated", "", func(p *project) {
		p.jobs["parley-tasks"].LastAttemptTime = now.Add(-15 * time.Minute).Format(time.RFC3339)
	}, nil},
}

func TestChecksOfFunctionsAndJobs(t *testing.T) {
	t.Parallel()
	for _, c := range functionCases {
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

func TestChecksOfThePushSender(t *testing.T) {
	t.Parallel()
	forbidden := refusal{code: http.StatusForbidden, message: "no"}
	member := []string{"serviceAccount:" + sender}
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
		}, "fail " + sender + " may not send push messages & --role roles/firebasecloudmessaging.admin"},
		{"a deleted account has no role", func(p *project) {
			p.bindings[1].Members = []string{"deleted:serviceAccount:" + sender + "?uid=1"}
		}, "fail may not send"},
		{"a larger role suffices", func(p *project) {
			p.bindings = []*projects.Binding{{Role: "roles/firebase.admin", Members: member}}
		}, "ok"},
		{"a role under a condition is a warning", func(p *project) {
			p.bindings[1].Condition = &projects.Expr{Expression: "x"}
		}, "warn may or may not"},
		{"a custom role is a warning", func(p *project) {
			p.bindings = []*projects.Binding{{Role: "projects/my-project/roles/ring", Members: member}}
		}, "warn projects/my-project/roles/ring"},
		{"a refused policy names the missing role", func(p *project) {
			p.refused["cloudresourcemanager.googleapis.com"] = forbidden
		},
			"warn " + person + " has no resourcemanager.projects.getIamPolicy & roles/browser"},
		{"a refused API list names the missing role", func(p *project) {
			p.refused["serviceusage.googleapis.com"] = forbidden
		}, "warn serviceusage.services.get & roles/serviceusage.serviceUsageViewer"},
		{"the sender may test its own permission", func(p *project) {
			p.account, p.own, p.bindings = sender, []string{"cloudmessaging.messages.create"}, nil
		}, "ok"},
		{"the sender finds its own permission missing", func(p *project) { p.account = sender }, "fail may not send"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t)
			c.change(p)
			wanted(t, examine(t, p.cloud().Checks(), ample), map[string]string{"push": c.want})
		})
	}
}

func TestAServiceAccountIsNamedFromItsFile(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	p.account = "nobody"
	cloud := p.cloud()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(
		map[string]string{"type": "service_account", "client_email": sender,
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
		map[string]string{"credentials": "ok " + sender + " (service_account)"})
}

func TestAReadOfTheStoreIsMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		took time.Duration
		want string
	}{
		{"near", nil, 20 * time.Millisecond, "ok takes 20ms"},
		{"far", nil, 1500 * time.Millisecond, "warn takes 1.5s & where the database is"},
		{"refused", errors.New("PermissionDenied"), 0,
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

func TestChecksChangeNothingInTheCloud(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	examine(t, p.cloud().Checks(), ample)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, call := range p.calls {
		reads := strings.HasPrefix(call, "GET ") || strings.HasPrefix(call, "HEAD ") ||
			call == "POST oauth2.googleapis.com/token" || strings.HasSuffix(call, ":getIamPolicy")
		if !reads {
			t.Errorf("%s is called", call)
		}
	}
	if len(p.calls) < len(everything) {
		t.Errorf("only %d calls came: %q", len(p.calls), p.calls)
	}
}

func TestAnEmulatorChecksTheStoreAlone(t *testing.T) {
	t.Parallel()
	checks := doctor.Emulator("127.0.0.1:1", stored(func(context.Context) error {
		return nil
	}), func() time.Time { return now })
	wanted(t, examine(t, checks, ample), all("skip", map[string]string{"store": "ok the emulator at 127.0.0.1:1"}))
}
