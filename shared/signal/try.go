package signal

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

// TestResult is the outcome of a test push.
type TestResult string

// The outcomes of a test push.
const (
	TestSent    TestResult = "sent"    // the service of the device accepted it
	TestFailed  TestResult = "failed"  // another try may succeed
	TestRefused TestResult = "refused" // another try cannot succeed until the device or the server is changed
	TestRemoved TestResult = "removed" // the service knows the device no longer, so it is none of the person's now
)

// TestOutput is the output of test_device.
type TestOutput struct {
	DeviceID string     `json:"deviceId"`
	Result   TestResult `json:"result" jsonschema:"sent: its service accepted the push; failed: try again later; refused: why is in reason; removed: it exists no longer"`
	Reason   string     `json:"reason,omitempty" jsonschema:"why the push was not sent"`
}

// The test pushes that a user may send in any minute, to all devices together, and the document that counts them.
const (
	testsPerMinute = 5
	tests          = "tests"
)

// testFor is the time for which a test push waits for a device that is off.
const testFor = 10 * time.Minute

const (
	testKind  = "test"
	testTitle = "Parley rings here"
	testBody  = "This is the test that you asked for."
)

// Test sends one push to one device at once, whatever rings and in quiet hours too, and returns the answer of its
// service. A device that does not exist is NotFound; more than testsPerMinute tests in a minute are Exhausted.
func (s *Service) Test(ctx context.Context, c identity.Caller, in DeviceIDInput) (TestOutput, error) {
	now := s.Now()
	d, a, err := s.beginTest(ctx, c.User, in.DeviceID, now)
	if err != nil {
		return TestOutput{}, err
	}
	out := TestOutput{DeviceID: in.DeviceID, Result: TestFailed}
	if a.HeldUntil.After(now) {
		out.Reason = "its service did not take a push before, and is left in peace for another " +
			a.HeldUntil.Sub(now).Round(time.Second).String()
		return out, nil
	}
	n := push.Notice{Channel: push.Alerts, Title: testTitle, Body: testBody, Type: testKind, Priority: push.Normal}
	s.compose(&n, pushID(s.NewID()), 0, testFor)
	if s.PublicURL != "" {
		n.URL = s.PublicURL + "/settings"
	}
	one := s.sendTest(ctx, n, d, a)
	out.Reason = one.Reason
	switch one.Result {
	case push.Sent:
		out.Result, out.Reason = TestSent, ""
	case push.Refused:
		out.Result = TestRefused
	case push.Dead:
		out.Result, out.Reason = TestRemoved, "its service knows it no longer; register it again"
		err = s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
			remove(tx, in.DeviceID)
			return nil
		})
		s.repliesChanged()
	case push.Failed:
		if one.Wait > 0 {
			err = s.hold(ctx, c.User, map[string]time.Time{in.DeviceID: now.Add(one.Wait)})
		}
	}
	return out, err
}

// beginTest counts a test against the limit, and returns the device and its address, if it has one.
func (s *Service) beginTest(ctx context.Context, user, id string, now time.Time) (d Device, a address, err error) {
	err = s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, a = Device{}, address{}
		var q quota
		device := devices.Fetch(id, &d)
		if err := store.Load(ctx, tx, device, addresses.Fetch(id, &a), quotas.Fetch(tests, &q)); err != nil {
			return err
		}
		if !device.Found {
			return fault.New(fault.NotFound, "no device with id %q", id)
		}
		q.Sent = slices.DeleteFunc(q.Sent, func(t time.Time) bool { return !t.After(now.Add(-time.Minute)) })
		if len(q.Sent) >= testsPerMinute {
			return fault.New(fault.Exhausted, "%d tests were sent in a minute, which is the limit; try again later",
				testsPerMinute).After(q.Sent[0].Add(time.Minute).Sub(now))
		}
		q.Sent = append(q.Sent, now)
		quotas.Put(tx, tests, q)
		return nil
	})
	return d, a, err
}

// sendTest sends a push to a device by the way of its platform.
func (s *Service) sendTest(ctx context.Context, n push.Notice, d Device, a address) push.Outcome {
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	if push.Platform(d.Platform).Direct() {
		if s.Direct == nil || a.URL == "" {
			return push.Outcome{Result: push.Refused, Reason: "this server sends no pushes to devices of its platform"}
		}
		return s.Direct.Send(ctx, n, []push.Target{{Address: a.Address}})[0]
	}
	if l, ok := s.Sender.(push.Log); ok && l.Then == nil {
		return push.Outcome{Result: push.Refused, Reason: "this server itself pushes nothing to apps: with the embedded store " +
			"it does where PARLEY_FCM_PROJECT is set, and in the cloud its functions do, which send no tests"}
	}
	results, err := s.Sender.Send(ctx, n, []string{d.Token})
	switch {
	case err != nil && fault.Of(err).Redeliver():
		return push.Outcome{Result: push.Failed, Reason: fault.From(err).Public()}
	case err != nil:
		return push.Outcome{Result: push.Refused, Reason: fault.From(err).Public()}
	case results[0] == push.Sent || results[0] == push.Dead:
		return push.Outcome{Result: results[0]}
	}
	return push.Outcome{Result: results[0], Reason: "the push service of the app does not take it now"}
}
