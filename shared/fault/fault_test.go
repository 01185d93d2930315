package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTheTableAnswersEveryKind(t *testing.T) {
	t.Parallel()
	want := map[Kind]struct {
		status    int
		redeliver bool
	}{
		Internal: {500, true}, Invalid: {400, false}, Unauthenticated: {401, false}, Forbidden: {403, false},
		NotFound: {404, false}, Exists: {409, false}, Precondition: {409, false}, Conflict: {409, true},
		Exhausted: {429, false}, Unavailable: {503, true}, Paused: {423, false},
		OutcomeUnknown: {503, true}, Quota: {429, false},
	}
	if len(want) != len(Kinds()) {
		t.Fatalf("%d kinds, %d in this table", len(Kinds()), len(want))
	}
	codes := map[string]Kind{}
	for _, k := range Kinds() {
		w, ok := want[k]
		if !ok {
			t.Fatalf("no expectation for %v", k)
		}
		if k.HTTP() != w.status || k.Redeliver() != w.redeliver {
			t.Errorf("%v: %d, redeliver %v; want %d, %v", k, k.HTTP(), k.Redeliver(), w.status, w.redeliver)
		}
		if other, dup := codes[k.Code()]; dup {
			t.Errorf("%d and %d share the code %s", k, other, k.Code())
		}
		codes[k.Code()] = k
	}
}

func TestACodeLeadsBackToItsKind(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds() {
		if got, ok := ParseCode(k.Code()); got != k || !ok {
			t.Errorf("%s: got %v, %v", k.Code(), got, ok)
		}
	}
	for _, code := range []string{"", "METHOD_NOT_ALLOWED", "not_found"} {
		if got, ok := ParseCode(code); got != Internal || ok {
			t.Errorf("%q: got %v, %v; want Internal, and that no kind has it", code, got, ok)
		}
	}
}

func TestAnUnknownErrorIsInternalAndHidden(t *testing.T) {
	t.Parallel()
	e := From(errors.New("disk /secret is full"))
	if e.Kind != Internal || strings.Contains(e.Public(), "secret") {
		t.Fatalf("got %v, public %q", e.Kind, e.Public())
	}
	if e := New(Internal, "secret"); e.Public() == "secret" {
		t.Fatal("an internal fault shows its message")
	}
}

func TestAFaultKeepsItsKindThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("claim: %w", New(NotFound, "no task"))
	if Of(err) != NotFound || !Is(err, NotFound) {
		t.Fatalf("kind %v", Of(err))
	}
	if Of(context.DeadlineExceeded) != Unavailable {
		t.Fatal("a deadline is not Unavailable")
	}
	if Is(nil, Internal) || From(nil) != nil {
		t.Fatal("nil is a fault")
	}
	cause := errors.New("cause")
	if !errors.Is(Wrap(Conflict, cause, "busy"), cause) {
		t.Fatal("the cause is lost")
	}
}

func TestProblemsNameEveryField(t *testing.T) {
	t.Parallel()
	e := Problems(Problem{"limit", "must be at least 1"}, Problem{"", "must be an object"})
	if e.Kind != Invalid || e.Message != "limit: must be at least 1; must be an object" {
		t.Fatalf("got %q", e.Message)
	}
	many := Problems(slices.Repeat([]Problem{{"p", "is wrong"}}, 21)...)
	if len(many.Problems) != 21 || strings.Contains(many.Message, "more problems") {
		t.Errorf("of 21: %d, %q", len(many.Problems), many.Message)
	}
	many = Problems(slices.Repeat([]Problem{{"p", "is wrong"}}, 100)...)
	if len(many.Problems) != 21 || !strings.HasSuffix(many.Message, "; and 80 more problems") {
		t.Errorf("of 100: %d, %q", len(many.Problems), many.Message)
	}
	if Kind(99).HTTP() != 500 || Kind(-1).Code() != "INTERNAL" {
		t.Fatal("a kind outside the table is not Internal")
	}
}
