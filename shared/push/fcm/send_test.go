package fcm_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/push/fcm"
	"parley.internal/shared/push/fcm/fcmtest"
)

func TestOneCallNotifies500DevicesOnceEach(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	list := tokens("phone", push.MaxTokens)
	results, err := sender(t, server.Endpoint()).Send(t.Context(), question(), list)
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, m := range server.Messages() {
		sent = append(sent, m.Token)
	}
	slices.Sort(sent)
	if !slices.Equal(sent, list) || !slices.Equal(results, make([]push.Result, len(list))) {
		t.Errorf("%d sent, results %v", len(sent), results)
	}
}

func TestNoDeviceIsNotifiedForNoTokensOrTooMany(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	s := sender(t, server.Endpoint())
	if results, err := s.Send(t.Context(), push.Notice{Key: "no key"}, nil); err != nil || len(results) != 0 {
		t.Errorf("no token: %v, %v", results, err)
	}
	if _, err := s.Send(t.Context(), question(), tokens("phone", push.MaxTokens+1)); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "not 501") {
		t.Errorf("too many: %v", err)
	}
	if n := len(server.Messages()); n != 0 {
		t.Errorf("%d messages went", n)
	}
}

func TestEachTokenHasItsOwnResult(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	var list []string
	var want []push.Result
	for _, c := range []struct {
		token  string
		status int
		code   string
		want   push.Result
	}{
		{"first", 200, "", push.Sent},
		{"gone", 404, "UNREGISTERED", push.Dead},
		{"foreign", 403, "SENDER_ID_MISMATCH", push.Dead},
		{"malformed", 400, "INVALID_ARGUMENT", push.Dead},
		{"certificate", 401, "THIRD_PARTY_AUTH_ERROR", push.Failed},
		{"", 200, "", push.Dead},
		{"often", 429, "QUOTA_EXCEEDED", push.Failed},
		{"often-too", 429, "", push.Failed},
		{"broken", 500, "INTERNAL", push.Failed},
		{"unheard-of", 418, "TEAPOT", push.Failed},
		{"refused", 403, "", push.Failed},
		{"no-project", 404, "", push.Failed},
		{"last", 200, "", push.Sent},
	} {
		if c.status != 200 {
			server.Answer(c.token, c.status, c.code)
		}
		list, want = append(list, c.token), append(want, c.want)
	}
	results, err := sender(t, server.Endpoint()).Send(t.Context(), question(), list)
	if err != nil || !slices.Equal(results, want) {
		t.Errorf("%v, %v; want %v", results, err, want)
	}
}

func TestTheLogHasReasonsAndNoTokens(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	server.Answer("secret-1", 401, "THIRD_PARTY_AUTH_ERROR")
	server.Answer("secret-2", 404, "UNREGISTERED")
	var log bytes.Buffer
	s := sender(t, server.Endpoint(), func(o *fcm.Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	if _, err := s.Send(t.Context(), question(), []string{"secret-1", "secret-2", "secret-3"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `"failed":1,"devices":3,"codes":{"THIRD_PARTY_AUTH_ERROR":1}`) ||
		strings.Contains(log.String(), "secret") {
		t.Error(log.String())
	}
}

func TestATokenIsDeadOnlyIfFCMRefusesAnEmptyMessageToo(t *testing.T) {
	t.Parallel()
	violation := func(field string) string {
		return fmt.Sprintf(
			`{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT","details":[
			{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},
			{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":%q}]}]}}`,
			field,
		)
	}
	blamed := fcmtest.Reply{Status: 400, Code: "INVALID_ARGUMENT"}
	named := fcmtest.Reply{Status: 400, Body: violation("message.token")}
	for name, c := range map[string]struct {
		ring, dry fcmtest.Reply
		asked     int
		want      push.Result
	}{
		"blamed twice in words":     {blamed, blamed, 2, push.Dead},
		"blamed twice by the field": {named, named, 2, push.Dead},
		"gone at the second look":   {blamed, fcmtest.Reply{Status: 404, Code: "UNREGISTERED"}, 2, push.Dead},
		"good when nothing is said": {blamed, fcmtest.Reply{}, 2, push.Failed},
		"unknown when FCM breaks":   {named, fcmtest.Reply{Status: 500}, 2, push.Failed},
		"unknown when the dry run is amiss": {named, fcmtest.Reply{Status: 400, Body: violation("message.android")}, 2,
			push.Failed},
		"not to blame for the data": {fcmtest.Reply{Status: 400, Body: violation("message.data[0].value")},
			blamed, 1, push.Failed},
		"not to blame for the size": {fcmtest.Reply{Status: 400, Code: "INVALID_ARGUMENT",
			Message: "Android message is too big"}, blamed, 1, push.Failed},
		"not to blame for a broken request":  {fcmtest.Reply{Status: 400}, blamed, 1, push.Failed},
		"not to blame for what nobody knows": {fcmtest.Reply{Status: 400, Body: "<html>"}, blamed, 1, push.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint, asked := scripted(t, func(m fcmtest.Message) fcmtest.Reply {
				switch {
				case m.Token == "good":
					return fcmtest.Reply{}
				case m.ValidateOnly:
					return c.dry
				}
				return c.ring
			})
			results, err := sender(t, endpoint).Send(t.Context(), question(), []string{"good", "suspect"})
			if err != nil || results[0] != push.Sent || results[1] != c.want {
				t.Errorf("%v, %v", results, err)
			}
			n := 0
			for _, m := range asked() {
				if m.Token == "suspect" {
					n++
					if m.ValidateOnly && (m.Title != "" || m.Data != nil || m.Android != nil || m.APNS != nil ||
						m.Webpush != nil) {
						t.Errorf("the dry run says something: %+v", m)
					}
				}
			}
			if n != c.asked {
				t.Errorf("FCM was asked %d times about it", n)
			}
		})
	}
}

func TestARefusedMessageReportsNoTokenAsDead(t *testing.T) {
	t.Parallel()
	endpoint, _ := scripted(t, func(m fcmtest.Message) fcmtest.Reply {
		if m.ValidateOnly {
			return fcmtest.Reply{}
		}
		return fcmtest.Reply{Status: 400, Code: "INVALID_ARGUMENT"}
	})
	if results, err := sender(t, endpoint).Send(t.Context(), question(), tokens("phone", 5)); !fault.Is(err,
		fault.Invalid) || results != nil {
		t.Errorf("%v, %v", results, err)
	}
}

func TestAFaultHasTheRightKindAndNamesTheRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		kind   fault.Kind
		says   string
	}{
		"no credentials": {401, fault.Forbidden, "roles/firebasecloudmessaging.admin"},
		"not allowed":    {403, fault.Forbidden, `enable fcm.googleapis.com in the project "demo-parley"`},
		"no project":     {404, fault.Precondition, `"demo-parley"`},
		"a bad message":  {400, fault.Invalid, "refuses the message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fcmtest.New(t)
			server.Answer("", c.status, "")
			results, err := sender(t, server.Endpoint()).Send(t.Context(), question(), []string{"a", "", "b"})
			if results != nil || !fault.Is(err, c.kind) || !strings.Contains(fault.From(err).Public(), c.says) {
				t.Errorf("%v, %v", results, err)
			}
		})
	}
}

func TestARefusalOfTheOnlyDeviceIsNoFault(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		status int
		want   push.Result
	}{
		"THIRD_PARTY_AUTH_ERROR": {401, push.Failed},
		"QUOTA_EXCEEDED":         {429, push.Failed},
		"INTERNAL":               {500, push.Failed},
		"UNREGISTERED":           {404, push.Dead},
		"SENDER_ID_MISMATCH":     {403, push.Dead},
		"INVALID_ARGUMENT":       {400, push.Dead},
	} {
		server := fcmtest.New(t)
		server.Answer("a", c.status, code)
		if results, err := sender(t, server.Endpoint()).Send(t.Context(), question(), []string{"a"}); err != nil ||
			!slices.Equal(results, []push.Result{c.want}) {
			t.Errorf("%s: %v, %v", code, results, err)
		}
	}
}

// A server that was configured with a wrong project must not remove everyone's devices.
func TestForeignTokensAloneAreAPreconditionFault(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	server.Answer("a", 403, "SENDER_ID_MISMATCH")
	server.Answer("b", 403, "SENDER_ID_MISMATCH")
	s := sender(t, server.Endpoint())
	if results, err := s.Send(t.Context(), question(), []string{"a", "b"}); results != nil ||
		!fault.Is(err, fault.Precondition) || !strings.Contains(err.Error(), `"demo-parley"`) {
		t.Errorf("all of them: %v, %v", results, err)
	}
	if results, err := s.Send(t.Context(), question(), []string{"a", "b", "c"}); err != nil ||
		!slices.Equal(results, []push.Result{push.Dead, push.Dead, push.Sent}) {
		t.Errorf("all but one: %v, %v", results, err)
	}
}

func TestNoAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	server.Hold()
	s := sender(t, server.Endpoint(), func(o *fcm.Options) { o.Timeout = 50 * time.Millisecond })
	patient := within(t)
	if results, err := s.Send(patient, question(), []string{"a", "b"}); results != nil ||
		!fault.Is(err, fault.Unavailable) || patient.Err() != nil {
		t.Errorf("the call's own bound: %v, %v, %v", results, err, patient.Err())
	}
	before := len(server.Messages())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if results, err := s.Send(ctx, question(), []string{"a", "b"}); results != nil ||
		!fault.Is(err, fault.Unavailable) {
		t.Errorf("the caller's: %v, %v", results, err)
	}
	if n := len(server.Messages()); n != before {
		t.Errorf("%d messages went after the end", n-before)
	}
}

func TestACancelledCallReturnsTheKnownResults(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	sent, waiting := tokens("sent", 10), tokens("waiting", 50)
	server.Hold(waiting...)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var results []push.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		results, err = sender(t, server.Endpoint()).Send(ctx, question(), slices.Concat(sent, waiting))
	}()
	// The client has 50 requests under way: when 50 are held, it has read the answers to the others.
	if _, err := server.Wait(within(t), 60); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	want := slices.Concat(slices.Repeat([]push.Result{push.Sent}, 10), slices.Repeat([]push.Result{push.Failed}, 50))
	if err != nil || !slices.Equal(results, want) {
		t.Errorf("%v, %v", results, err)
	}
}

func TestAPermanentFaultIsReturnedBeforeATemporaryOne(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	waiting := tokens("waiting", 50)
	server.Hold(waiting...)
	server.Answer("refused", 403, "")
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := sender(t, server.Endpoint()).Send(ctx, question(), slices.Insert(waiting, 1, "refused"))
		done <- err
	}()
	if _, err := server.Wait(within(t), 51); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !fault.Is(err, fault.Forbidden) {
		t.Error(err)
	}
}

func TestAnUnavailableFCMIsTriedAgainUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	unavailable := fcmtest.Reply{Status: 503, Code: "UNAVAILABLE"}
	times := 0
	endpoint, _ := scripted(t, func(fcmtest.Message) fcmtest.Reply {
		if times++; times == 1 {
			return unavailable
		}
		return fcmtest.Reply{}
	})
	if results, err := sender(t, endpoint).Send(t.Context(), question(), []string{"a"}); err != nil ||
		results[0] != push.Sent {
		t.Errorf("back at once: %v, %v", results, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	endpoint, asked := scripted(t, func(fcmtest.Message) fcmtest.Reply {
		if tries++; tries == 2 {
			cancel()
		}
		return unavailable
	})
	if results, err := sender(t, endpoint).Send(ctx, question(), []string{"a"}); results != nil ||
		!fault.Is(err, fault.Unavailable) {
		t.Errorf("away for good: %v, %v", results, err)
	}
	if n := len(asked()); n != 2 {
		t.Errorf("tried %d times", n)
	}
}

func TestConcurrentCallsDoNotMixTheirResults(t *testing.T) {
	t.Parallel()
	server := fcmtest.New(t)
	s := sender(t, server.Endpoint())
	var all sync.WaitGroup
	for call := range 8 {
		list := tokens(fmt.Sprintf("call-%d", call), 40)
		want := make([]push.Result, len(list))
		for i := call; i < len(list); i += call + 2 {
			server.Answer(list[i], 404, "UNREGISTERED")
			want[i] = push.Dead
		}
		all.Go(func() {
			if results, err := s.Send(t.Context(), question(), list); err != nil || !slices.Equal(results, want) {
				t.Errorf("call %d: %v, %v", call, results, err)
			}
		})
	}
	all.Wait()
}

func TestNewNamesTheMissingSetting(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none.json")
	if _, err := fcm.New(t.Context(), fcm.Options{}); !fault.Is(err, fault.Precondition) ||
		!strings.Contains(err.Error(), "name the Firebase project") {
		t.Errorf("no project: %v", err)
	}
	_, err := fcm.New(t.Context(), fcm.Options{Project: "demo-parley"})
	if !fault.Is(err, fault.Precondition) || !strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("no credentials: %v", err)
	}
	if _, err := fcm.New(t.Context(), fcm.Options{Project: "demo-parley",
		Endpoint: "http://127.0.0.1:9/v1"}); err != nil {
		t.Errorf("a stand-in wants no credentials: %v", err)
	}
}
