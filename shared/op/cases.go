package op

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// In is the input of a [Step], an [Example] or a part of one, as its JSON would decode.
// The text "$name" stands for the value that an earlier step saved under that name, of
// whatever type; within a longer text it stands for that value as text.
type In = map[string]any

// Role says whose key makes a call: a program of the user's, or the user.
type Role string

// Alpha is the default role, a key bound to the program alpha. Human is a key of the kind
// human, Unbound an agent's key without a program. Any other role is a key bound to the
// program of that name.
const (
	Alpha   Role = ""
	Human   Role = "human"
	Unbound Role = "unbound"
)

// Step is a call that comes before an example and prepares it. It must succeed.
type Step struct {
	// Op is the name of an operation in the same catalogue.
	Op string
	As Role
	In In
	// Save keeps a field of the output: "taskId as task".
	Save string
	// Times repeats the step; zero is once. In the texts of its input, "$i" counts from 0.
	Times int
	// Pass is how much time goes by before the call.
	Pass time.Duration
}

// After is the steps, followed by more.
func After(steps []Step, more ...Step) []Step { return slices.Concat(steps, more) }

// Example is a call of the operation whose cases hold it.
type Example struct {
	// Name tells the example from the others of its operation, "with an idempotency key";
	// the plainest has none.
	Name  string
	Given []Step
	As    Role
	In    In
	// Pass is how much time goes by before the call.
	Pass time.Duration
	// Fault is the kind of fault that the call ends with. The zero value stands for a success:
	// no example ends with an internal fault.
	Fault fault.Kind
	// RPCs is how many round trips to Firestore the call may make at most, with warm caches
	// and without contention; zero is the budget of the operation, [NoRPCs] none. A number
	// past that budget needs a reason in Over.
	RPCs int
	Over string
}

// NoRPCs is the budget of a call that reaches no store.
const NoRPCs = -1

// Refusal is an input that is Invalid, and the reason that the caller is told.
type Refusal struct {
	Name  string
	Given []Step
	As    Role
	// In is the text of the input, so that it can hold texts that are not valid. In it, "$name"
	// stands for the value that a step saved under that name.
	In string
	// Path is the field that is told to be wrong, and Words a part of the reason.
	Path, Words string
}

// Cases is all that the suites over the whole catalogue need to know of an operation: they
// call it over both transports and in both protocol eras, as its owner and as another user,
// and count its round trips.
type Cases struct {
	// Examples has at least one success. Operations that can fail for another reason than
	// their input have an example of that too.
	Examples []Example
	// Refused has at least one input.
	Refused []Refusal
	// Owned are the inputs that hold the id of a document. The id of another user's document
	// is NotFound, as one that exists nowhere.
	Owned []string
	// Named are the inputs that hold a name which the caller makes up. A name that another
	// user has taken is free.
	Named []string
	// RPCs is the budget of its examples; zero is [DefaultRPCs], [NoRPCs] none.
	RPCs int
}

// DefaultRPCs is how many round trips to Firestore a call may make unless its operation
// says otherwise.
const DefaultRPCs = 3

// Budget is how many round trips to Firestore an example may make.
func (c Cases) Budget(e Example) int {
	if n := cmp.Or(e.RPCs, c.RPCs, DefaultRPCs); n != NoRPCs {
		return n
	}
	return 0
}

// Check returns an error that names everything the cases of an operation lack, or nil.
func (c Cases) Check(o *Op) error {
	var missing []string
	say := func(format string, args ...any) { missing = append(missing, fmt.Sprintf(format, args...)) }
	works, names := false, map[string]bool{}
	for _, e := range c.Examples {
		works = works || e.Fault == fault.Internal
		if names[e.Name] {
			say("two examples have the name %q", e.Name)
		}
		names[e.Name] = true
		if c.Budget(e) > max(c.RPCs, DefaultRPCs) && e.Over == "" {
			say("example %q passes the budget without a reason", e.Name)
		}
	}
	if !works {
		say("no example succeeds")
	}
	if len(c.Refused) == 0 {
		say("no input is refused")
	}
	fields := fieldsAt(o.schema.shape, nil)
	for _, name := range slices.Concat(c.Owned, c.Named) {
		if o.schema.shape.Properties[name] == nil {
			say("%s is not an input; the inputs are %s", name, strings.Join(fields, ", "))
		}
	}
	for _, name := range o.PathParams() {
		if !slices.Contains(c.Owned, name) && !slices.Contains(c.Named, name) {
			say("%s stands in the path and is neither owned nor named", name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("op %s: its cases: %s", o.Name, strings.Join(missing, "; "))
	}
	return nil
}
