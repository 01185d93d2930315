package fcm

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"firebase.google.com/go/v4/errorutils"
	"firebase.google.com/go/v4/messaging"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
)

// verdict is what one answer of FCM says.
type verdict struct {
	result push.Result
	// whole is the fault where the answer is not about the device; nil where it is.
	whole *fault.Error
	// suspect says that FCM blames the token, which the message may be to blame for.
	suspect bool
	// foreign says that the token belongs to another project.
	foreign bool
	// code and said are FCM's words, for the log.
	code, said string
}

// refusal is the body of an error of FCM.
type refusal struct {
	Error struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []struct {
			ErrorCode       string `json:"errorCode"`
			FieldViolations []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
		} `json:"details"`
	} `json:"error"`
}

// code is the most exact of FCM's names for the error.
func (r refusal) code() string {
	for _, d := range r.Error.Details {
		if d.ErrorCode != "" {
			return d.ErrorCode
		}
	}
	return r.Error.Status
}

// blamesToken says whether the refusal is about the token and nothing else. FCM names the field in some answers, and
// only says so in others.
func (r refusal) blamesToken() bool {
	fields := 0
	for _, d := range r.Error.Details {
		for _, v := range d.FieldViolations {
			if v.Field != "message.token" {
				return false
			}
			fields++
		}
	}
	return fields > 0 || strings.Contains(strings.ToLower(r.Error.Message), "registration token")
}

// judge reads the client's error; nil is a push that FCM has taken.
func (s *Sender) judge(err error) verdict {
	if err == nil {
		return verdict{result: push.Sent}
	}
	v := verdict{result: push.Failed, said: err.Error()}
	resp := errorutils.HTTPResponse(err)
	if resp == nil {
		v.code = "no answer"
		v.whole = fault.Wrap(fault.Unavailable, err,
			"Firebase Cloud Messaging did not answer; the push may be repeated")
		return v
	}
	var r refusal
	_ = json.NewDecoder(resp.Body).Decode(&r)
	if v.code = r.code(); v.code == "" {
		v.code = resp.Status
	}
	switch {
	case messaging.IsUnregistered(err):
		v.result = push.Dead
	case messaging.IsSenderIDMismatch(err):
		v.result, v.foreign = push.Dead, true
	case messaging.IsThirdPartyAuthError(err):
		// It comes with a 401, and is about the app's credentials at Apple or in the browser, not about ours.
	case resp.StatusCode == http.StatusBadRequest:
		v.suspect = messaging.IsInvalidArgument(err) && r.blamesToken()
		v.whole = fault.Wrap(fault.Invalid, err, "Firebase Cloud Messaging refuses the message: %s", r.Error.Message)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		v.whole = fault.Wrap(fault.Forbidden, err,
			"this server may not send pushes: enable fcm.googleapis.com in the project %q, and grant the server's "+
				"service account roles/firebasecloudmessaging.admin there", s.project)
	case resp.StatusCode == http.StatusNotFound:
		v.whole = fault.Wrap(fault.Precondition, err,
			"Firebase Cloud Messaging does not know the project %q: name the one that the apps are registered in",
			s.project)
	}
	return v
}

// strangers says whether every one of several devices belongs to another project: then it is the server's project that
// is wrong, and none of them is off the list for it.
func strangers(verdicts []verdict) bool {
	return len(verdicts) > 1 && !slices.ContainsFunc(verdicts, func(v verdict) bool { return !v.foreign })
}

// whole is the fault of a call in which no answer was about a device: the first that trying again cannot mend, or else
// the first.
func whole(verdicts []verdict) error {
	var first *fault.Error
	for _, v := range verdicts {
		switch {
		case v.whole == nil || v.result == push.Dead:
			return nil
		case first == nil, first.Kind == fault.Unavailable && v.whole.Kind != fault.Unavailable:
			first = v.whole
		}
	}
	if first == nil {
		return nil
	}
	return first
}
