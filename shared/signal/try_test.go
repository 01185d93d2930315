package signal

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/push"
)

func (d *fixture) try(id string) TestOutput {
	d.t.Helper()
	return domaintest.Must(d.Test(d.t.Context(), person, DeviceIDInput{DeviceID: id}))(d.t)
}

func TestATestRingsOneDeviceWhateverRings(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		all := d.bells()
		d.set(SettingsInput{Off: []About{Alerts}, PerHour: new(0), Quiet: &QuietHours{From: "00:00", To: "23:59"}})
		ids := map[string]string{}
		for name, b := range all {
			ids[name] = d.register(person, b.in)
		}
		for name := range all {
			if got := d.try(ids[name]); got != (TestOutput{DeviceID: ids[name], Result: TestSent}) {
				t.Errorf("%s: %+v", name, got)
			}
			for other, b := range all {
				got := b.rung()
				if other != name && len(got) != 0 {
					t.Errorf("a test of %s rang %s: %+v", name, other, got)
				}
				if other == name && (len(got) != 1 || got[0].title != testTitle || got[0].body != testBody ||
					got[0].answer.Token != "") {
					t.Errorf("%s: %+v", name, got)
				}
			}
		}
		if got := d.try(d.device("phone", "android")); got.Result != TestSent {
			t.Errorf("the app: %+v", got)
		}
		if got := d.sender.sent(); len(got) != 1 || len(got[0].tokens) != 1 || got[0].tokens[0] != "phone" ||
			got[0].URL != "https://parley.example/settings" {
			t.Errorf("the app: %+v", got)
		}
	})
}

func TestATestSaysWhatTheServiceAnswered(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for name, b := range d.bells() {
			id := d.register(person, b.in)
			for _, c := range []struct {
				status int
				result TestResult
				reason string
			}{
				{http.StatusForbidden, TestRefused, "status 403"},
				{http.StatusTooManyRequests, TestFailed, "status 429"},
				{0, TestFailed, "in peace for another 2m0s"}, // of the answer before
			} {
				if c.status != 0 {
					b.refuse(c.status)
				}
				if got := d.try(id); got.Result != c.result || !strings.Contains(got.Reason, c.reason) {
					t.Errorf("%s, %d: %+v", name, c.status, got)
				}
			}
			d.Pass(2 * time.Minute)
			b.refuse(http.StatusGone)
			if got := d.try(id); got.Result != TestRemoved || len(d.devices()) != 0 {
				t.Errorf("%s, gone: %+v, left are %v", name, got, d.devices())
			}
			if got := b.rung(); len(got) != 0 {
				t.Errorf("%s was rung: %+v", name, got)
			}
			d.Pass(time.Minute)
		}
	})
}

func TestATestOfAnAppSaysWhyItDidNotRing(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.device("phone", "android")
		for _, c := range []struct {
			err    error
			answer push.Result
			result TestResult
			reason string
		}{
			{fault.New(fault.Unavailable, "did not answer"), 0, TestFailed, "did not answer"},
			{fault.New(fault.Forbidden, "may not send"), 0, TestRefused, "may not send"},
			{nil, push.Failed, TestFailed, "does not take it now"},
			{nil, push.Dead, TestRemoved, "register it again"},
		} {
			d.sender.err, d.sender.answer = c.err, func(string) push.Result { return c.answer }
			if got := d.try(id); got.Result != c.result || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%+v: %+v", c, got)
			}
		}
		if left := d.devices(); len(left) != 0 {
			t.Errorf("left are %v", left)
		}
		d.Pass(time.Minute)
		d.Service.Sender = push.Log{}
		if got := d.try(d.device("phone", "android")); got.Result != TestRefused || !strings.Contains(got.Reason, "PARLEY_FCM_PROJECT") {
			t.Errorf("a server that only logs: %+v", got)
		}
	})
}

func TestAttackTestsOfDevicesAreFewInAMinute(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		b := d.bells()["webhook"]
		id := d.register(person, b.in)
		var all sync.WaitGroup
		refused := make(chan error, 100)
		for range domaintest.Crowd(t, 12, 8) {
			all.Go(func() {
				if _, err := d.Test(t.Context(), person, DeviceIDInput{DeviceID: id}); err != nil {
					refused <- err
				}
			})
		}
		all.Wait()
		close(refused)
		for err := range refused {
			domaintest.Refused(t, "one too many", err, fault.Exhausted, "5 tests")
			if wait := fault.From(err).RetryAfter; wait != time.Minute {
				t.Errorf("after %v", wait)
			}
		}
		if got := b.rung(); len(got) != testsPerMinute {
			t.Errorf("%d were sent", len(got))
		}
		d.Pass(time.Minute)
		d.try(id)
		if got := b.rung(); len(got) != 1 {
			t.Errorf("a minute later %d were sent", len(got))
		}
		_, err := d.Test(context.Background(), domaintest.Human("v"), DeviceIDInput{DeviceID: id})
		domaintest.Refused(t, "another user's", err, fault.NotFound)
	})
}
