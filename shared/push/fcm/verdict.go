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

// verdict is the meaning of FCM's answer for one token.
type verdict struct {
	result push.Result
	// callFault is the fault of the whole call if the answer is not about the device, else nil.
	callFault *fault.Error
	// suspect reports that FCM blames the token, although the message may be at fault.
	suspect bool
	// foreign reports that the token belongs to another project.
	foreign bool
	// code and said are FCM's error code and message, for the log.
	code, said string
}

// refusal is the body of FCM's error responses.
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

// code returns the most specific code of the error.
func (r refusal) code() string {
	for _, d := range r.Error.Details {
		if d.ErrorCode != "" {
			return d.ErrorCode
		}
	}
	return r.Error.Status
}

// blamesToken reports whether the refusal is about the token alone. FCM names the field in some answers and only
// mentions the token in the text of others.
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

// judge returns the verdict for an error of the client; nil means that FCM accepted the push.
func (s *Sender) judge(err error) verdict {
	if err == nil {
		return verdict{result: push.Sent}
	}
	v := verdict{result: push.Failed, said: err.Error()}
	resp := errorutils.HTTPResponse(err)
	if resp == nil {
		v.code = "no answer"
		v.callFault = fault.Wrap(fault.Unavailable, err,
			"Firebase Cloud Messaging did not answer; try the push again")
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
		// FCM sends it with the status 401, but it is about the app's credentials with Apple or the browser's push
		// service, not about this server's.
	case resp.StatusCode == http.StatusBadRequest:
		v.suspect = messaging.IsInvalidArgument(err) && r.blamesToken()
		v.callFault = fault.Wrap(fault.Invalid, err, "Firebase Cloud Messaging refuses the message: %s", r.Error.Message)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		v.callFault = fault.Wrap(fault.Forbidden, err,
			"this server may not send pushes: enable fcm.googleapis.com in the project %q, and grant the server's "+
				"service account roles/firebasecloudmessaging.admin there", s.project)
	case resp.StatusCode == http.StatusNotFound:
		v.callFault = fault.Wrap(fault.Precondition, err,
			"Firebase Cloud Messaging does not know the project %q: name the one that the apps are registered in",
			s.project)
	}
	return v
}

// allForeign reports whether there are several tokens and all belong to another project. Then the server's project is
// wrong, and no token may be reported as dead.
func allForeign(verdicts []verdict) bool {
	return len(verdicts) > 1 && !slices.ContainsFunc(verdicts, func(v verdict) bool { return !v.foreign })
}

// callFault returns the fault of a call in which no answer was about a device: the first fault that another try cannot
// resolve, or else the first. It returns nil for any other call.
func callFault(verdicts []verdict) error {
	var first *fault.Error
	for _, v := range verdicts {
		switch {
		case v.callFault == nil || v.result == push.Dead:
			return nil
		case first == nil, first.Kind == fault.Unavailable && v.callFault.Kind != fault.Unavailable:
			first = v.callFault
		}
	}
	if first == nil {
		return nil
	}
	return first
}
