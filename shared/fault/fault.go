package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind says what went wrong, as far as a caller may act on it.
type Kind int

// The kinds. The zero value is Internal, so that an error nobody thought of is
// never mistaken for the caller's fault.
const (
	Internal        Kind = iota
	Invalid              // the input breaks a rule that is published with the operation
	Unauthenticated      // no key, or one that is not good
	Forbidden            // a good key that may not do this
	NotFound             // no such thing for this user
	Exists               // the thing to create is there already
	Precondition         // the thing is in a state that forbids this
	Conflict             // contention; the same call may succeed when repeated
	Exhausted            // a rate or a size limit of the caller's
	Unavailable          // the service cannot answer now
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
}

// Kinds lists every kind, in the order of their declaration.
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

// Code is the kind's name on the wire.
func (k Kind) Code() string { return k.row().code }

// ParseCode returns the kind with a name on the wire, and false where no kind has it.
func ParseCode(code string) (Kind, bool) {
	for k, r := range table {
		if r.code == code {
			return Kind(k), true
		}
	}
	return Internal, false
}

// HTTP is the status that answers a fault of this kind.
func (k Kind) HTTP() int { return k.row().status }

// Redeliver says whether an event that met a fault of this kind should come again.
func (k Kind) Redeliver() bool { return k.row().redeliver }

// String is the kind's name on the wire.
func (k Kind) String() string { return k.Code() }

// Problem is one thing wrong with an input.
type Problem struct {
	// Path names the field, as in "stories[2].wave"; empty for the input itself.
	Path string `json:"path"`
	// Message says what is allowed there.
	Message string `json:"message"`
}

// Error is a fault. Build one with [New], [Wrap] or [Problems].
type Error struct {
	Kind     Kind
	Message  string
	Problems []Problem
	// RetryAfter is how long to wait before the same call; zero says nothing.
	RetryAfter time.Duration

	cause error
}

// Error is the message, and the cause behind it where there is one.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.cause }

// After sets how long to wait before the same call.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// New is a fault of the kind, with a message for the caller.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// Wrap is a fault with a cause. The cause is for the log alone.
func Wrap(k Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Problems is the Invalid fault of an input with everything that is wrong with
// it; its message names every field.
func Problems(problems ...Problem) *Error {
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

// Field is the Invalid fault of one field.
func Field(path, format string, args ...any) *Error {
	return Problems(Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// From is the fault in err: itself where it is one, Unavailable for a context
// that ended, and otherwise Internal with a message that tells nothing.
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

// Public is the message a caller may read: a fault's own, and for Internal
// nothing but that it happened.
func (e *Error) Public() string {
	if e.Kind == Internal {
		return "internal error"
	}
	return e.Message
}

// Of is the kind of err.
func Of(err error) Kind {
	if err == nil {
		return Internal
	}
	return From(err).Kind
}

// Is says whether err is a fault of the kind.
func Is(err error, k Kind) bool { return err != nil && Of(err) == k }
