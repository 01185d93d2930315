package op

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// In is the input of a [Step] or an [Example], or an object within one, as decoded JSON. The text "$name" stands for
// the value that an earlier step saved under that name, of any type; within a longer text it stands for the value as
// text.
type In = map[string]any

// Made is a value within an [In] that a client makes of one that a step saved, such as a signature. The suites that run
// the cases know the makers by their names.
type Made struct {
	By   string
	From string // the name of the saved value
	// Like is the value that documents show in its place.
	Like any
}

// MarshalJSON implements json.Marshaler.
func (m Made) MarshalJSON() ([]byte, error) { return json.Marshal(m.Like) }

// Role names the key that makes a call.
type Role string

// Alpha is the default role, a key bound to the program alpha. Human is a key of the kind
// human, Device that of a paired device for the console, Unbound an agent's key without a program. Any other role is a
// key bound to the program of that name.
const (
	Alpha   Role = ""
	Human   Role = "human"
	Device  Role = "device"
	Unbound Role = "unbound"
)

// Step is a call that prepares an example. It must succeed.
type Step struct {
	// Op is the name of an operation in the same catalogue.
	Op string
	As Role
	In In
	// Save keeps fields of the output: "taskId as task", or several with a comma between them.
	Save string
	// Times is the number of calls; zero means one. In the texts of the input, "$i" is the number of the call, from 0.
	Times int
	// Pass is the time that passes before the call.
	Pass time.Duration
}

// After returns the steps followed by more.
func After(steps []Step, more ...Step) []Step { return slices.Concat(steps, more) }

// Example is a call of the operation whose cases hold it.
type Example struct {
	// Name is unique among the examples of the operation ("with an idempotency key"). The simplest example has none.
	Name  string
	Given []Step
	As    Role
	In    In
	// Pass is the time that passes before the call.
	Pass time.Duration
	// Fault is the kind of fault that the call returns. The zero value means success: no example returns an internal
	// fault.
	Fault fault.Kind
	// RPCs is the number of round trips to Firestore that the call may make, with warm caches and without contention.
	// Zero stands for the budget of the operation, [NoRPCs] for none. A number above the budget needs a reason in Over.
	RPCs int
	Over string
}

// NoRPCs is the budget of a call that reaches no store.
const NoRPCs = -1

// Refusal is an input that is Invalid, and the reason that the fault gives.
type Refusal struct {
	Name  string
	Given []Step
	As    Role
	// In is the input as text, which may be invalid JSON or UTF-8. In it, "$name" stands for the value that a step
	// saved under that name. A field that ends the path must not be empty, because no route ends with an empty segment.
	In string
	// Path is the field that the fault names, and Words a part of its message.
	Path, Words string
}

// Right is the outcome of a call that another caller than its owner makes.
type Right string

// The rights.
const (
	// May means that the call succeeds for this caller too.
	May Right = "may"
	// MayNot means that the call is Forbidden and changes nothing.
	MayNot Right = "may not"
	// OwnOnly means that the call is about the caller's own objects: it shows and changes nothing of the owner's.
	OwnOnly Right = "own only"
)

// Rights are the rights of the other callers of a user: of a key bound to another program, of a key that is bound to
// none and did not make the object of the call, and of a person.
type Rights struct{ Program, Unbound, Human Right }

// Cases is the description of an operation for the test suites that run over the whole catalogue. They call it over
// both transports and in both protocol eras, as its owner and as another user, and count its round trips.
type Cases struct {
	// Examples must contain a success, and a failure where the operation can fail for a reason other than its input.
	Examples []Example
	// Refused must contain at least one input.
	Refused []Refusal
	// Owned are the inputs that hold the id of a document. The id of another user's document is NotFound, like one that
	// does not exist.
	Owned []string
	// Named are the inputs that hold a name chosen by the caller. Names of different users do not collide.
	Named []string
	// Shared are the inputs that name an object which belongs to no user yet, or that are a right of their own, such as
	// a code that is shown to a person: a call with them is the same for every user.
	Shared []string
	// Rights are the outcomes of the first example that succeeds if another caller of the same user makes it.
	Rights Rights
	// RPCs is the budget of the examples; zero stands for [DefaultRPCs], [NoRPCs] for none.
	RPCs int
}

// DefaultRPCs is the number of round trips to Firestore that a call may make by default.
const DefaultRPCs = 3

// Budget returns the number of round trips to Firestore that an example may make.
func (c Cases) Budget(e Example) int {
	if n := cmp.Or(e.RPCs, c.RPCs, DefaultRPCs); n != NoRPCs {
		return n
	}
	return 0
}

// Check returns an error that lists everything that the cases of an operation lack, or nil.
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
	for _, name := range slices.Concat(c.Owned, c.Named, c.Shared) {
		if o.schema.shape.Properties[name] == nil {
			say("%s is not an input; the inputs are %s", name, strings.Join(fields, ", "))
		}
	}
	for _, name := range o.PathParams() {
		if !slices.Contains(slices.Concat(c.Owned, c.Named, c.Shared), name) {
			say("%s stands in the path and is neither owned nor named nor shared", name)
		}
		for _, r := range c.Refused {
			if strings.HasSuffix(o.Route, "/{"+name+"}") && empty(r.In, name) {
				say("refused %q: %s is the end of the path and must not be empty: REST would answer 404", r.Name, name)
			}
		}
	}
	for _, r := range []Right{c.Rights.Program, c.Rights.Unbound, c.Rights.Human} {
		if r != May && r != MayNot && r != OwnOnly {
			say("Rights must have an outcome for another program, an unbound key and a human")
			break
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("op %s: its cases: %s", o.Name, strings.Join(missing, "; "))
	}
	return nil
}

// empty reports whether a field of an input, given as text, is missing, null or "". It is false if the text is invalid.
func empty(in, field string) bool {
	var fields map[string]any
	if err := json.Unmarshal([]byte(in), &fields); err != nil {
		return false
	}
	v := fields[field]
	return v == nil || v == ""
}
