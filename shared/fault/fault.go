package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Kind is the class of an error, by which a caller decides how to react.
type Kind int

// The kinds. The zero value is Internal, so that an unexpected error is never blamed on the caller.
const (
	Internal        Kind = iota
	Invalid              // the input breaks a rule that is published with the operation
	Unauthenticated      // the key is missing or not valid
	Forbidden            // the key is valid and may not make this call
	NotFound             // this user has no such document
	Exists               // the document to create exists already
	Precondition         // the state of the document does not allow the call
	Conflict             // contention; the same call may succeed when repeated
	Exhausted            // a rate or size limit of the caller is reached
	Unavailable          // nothing was done, because the service cannot answer now; the call may be repeated
	Paused               // a person has paused the caller
	OutcomeUnknown       // a write may have been made or not; its caller must look
	Quota                // the user's storage is full; reading, deleting and reporting on held work still succeed
)

type row struct {
	code      string
	status    int
	redeliver bool
}

var table = [...]row{
	Internal:        {"INTERNAL", http.StatusInternalServerError, true},
	Invalid:         {"INVALID_ARGUMENT", http.StatusBadRequest, false},
	Unauthenticated: {"UNAUTHENTICATED", http.StatusUnauthorized, false},
	Forbidden:       {"FORBIDDEN", http.StatusForbidden, false},
	NotFound:        {"NOT_FOUND", http.StatusNotFound, false},
	Exists:          {"ALREADY_EXISTS", http.StatusConflict, false},
	Precondition:    {"FAILED_PRECONDITION", http.StatusConflict, false},
	Conflict:        {"CONFLICT", http.StatusConflict, true},
	Exhausted:       {"RESOURCE_EXHAUSTED", http.StatusTooManyRequests, false},
	Unavailable:     {"UNAVAILABLE", http.StatusServiceUnavailable, true},
	Paused:          {"PAUSED", http.StatusLocked, false},
	OutcomeUnknown:  {"OUTCOME_UNKNOWN", http.StatusServiceUnavailable, true},
	Quota:           {"QUOTA", http.StatusTooManyRequests, false},
}

// Kinds returns every kind, in the order of declaration.
func Kinds() []Kind {
	kinds := make([]Kind, len(table))
	for i := range table {
		kinds[i] = Kind(i)
	}
	return kinds
}

func (k Kind) row() row {
	if k < 0 || int(k) >= len(table) {
		return table[Internal]
	}
	return table[k]
}

// Code returns the name of the kind on the wire, such as "NOT_FOUND".
func (k Kind) Code() string { return k.row().code }

// ParseCode returns the kind with the given name on the wire, and false if there is none.
func ParseCode(code string) (Kind, bool) {
	for k, r := range table {
		if r.code == code {
			return Kind(k), true
		}
	}
	return Internal, false
}

// HTTP returns the HTTP status for a fault of this kind.
func (k Kind) HTTP() int { return k.row().status }

// Redeliver reports whether an event whose handling failed with a fault of this kind should be delivered again.
func (k Kind) Redeliver() bool { return k.row().redeliver }

// String returns [Kind.Code].
func (k Kind) String() string { return k.Code() }

// Problem is one thing wrong with an input.
type Problem struct {
	// Path names the field, as in "stories[2].wave". It is empty for the input itself.
	Path string `json:"path"`
	// Message gives the allowed values.
	Message string `json:"message"`
}

// Error is a fault. Build one with [New], [Wrap] or [Problems].
type Error struct {
	Kind     Kind
	Message  string
	Problems []Problem
	// RetryAfter is the time to wait before the call is repeated; zero means unknown.
	RetryAfter time.Duration

	cause error
}

// Error returns the message, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// After sets RetryAfter and returns e.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// New returns a fault of the kind, with a message for the caller.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns a fault with a cause, which is logged and never sent to the caller.
func Wrap(k Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), cause: cause}
}

// maxProblems is the number of problems that a fault tells. Further ones are counted.
const maxProblems = 20

// Problems returns an Invalid fault with the problems of an input. Its message names their fields. Of more than
// maxProblems and one it tells maxProblems, and how many there are beside them.
func Problems(problems ...Problem) *Error {
	if more := len(problems) - maxProblems; more > 1 {
		problems = append(slices.Clone(problems[:maxProblems]), Problem{Message: fmt.Sprintf("and %d more problems", more)})
	}
	e := &Error{Kind: Invalid, Problems: problems}
	for i, p := range problems {
		if i > 0 {
			e.Message += "; "
		}
		if p.Path != "" {
			e.Message += p.Path + ": "
		}
		e.Message += p.Message
	}
	return e
}

// Field returns the Invalid fault of one field.
func Field(path, format string, args ...any) *Error {
	return Problems(Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// From returns the fault that err is or wraps. For a context that ended it returns an Unavailable fault, for nil nil,
// and for any other error an Internal fault with a neutral message.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Wrap(Unavailable, err, "the call was ended before it was done; it may be repeated")
	}
	return Wrap(Internal, err, "internal error")
}

// Public returns the message for the caller, which for Internal is always "internal error".
func (e *Error) Public() string {
	if e.Kind == Internal {
		return "internal error"
	}
	return e.Message
}

// Of returns the kind of err, Internal for nil.
func Of(err error) Kind {
	if err == nil {
		return Internal
	}
	return From(err).Kind
}

// Is reports whether err is a fault of the kind, as [From] returns it. It is false for nil.
func Is(err error, k Kind) bool { return err != nil && Of(err) == k }
