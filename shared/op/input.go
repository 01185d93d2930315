package op

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"

	"github.com/go-viper/mapstructure/v2"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Input is the input of one call, decoded once. A call uses it up: it is checked, mended and
// completed in place.
type Input struct {
	value any
	err   error
}

// Parse decodes the text of an input. A text that cannot be read becomes the fault of the call
// that it is given to, so that a caller who may not call is told that first.
func Parse(text []byte) Input {
	if len(bytes.TrimSpace(text)) == 0 {
		return Input{}
	}
	if err := CheckText(text); err != nil {
		return Input{err: err}
	}
	v, err := Decode(text)
	if err != nil {
		err = fault.Wrap(fault.Invalid, err, "the input is not one JSON value: %v", err)
	}
	return Input{v, err}
}

// Decoded is an input that [Decode] has read as part of a message. Nil is an empty object.
func Decoded(value any) Input { return Input{value: value} }

// Refused is an input that cannot be read, and the fault that says why.
func Refused(err error) Input { return Input{err: err} }

// fields is the input as an object.
func (in Input) fields() (map[string]any, error) {
	if in.err != nil {
		return nil, in.err
	}
	if in.value == nil {
		return map[string]any{}, nil
	}
	fields, ok := in.value.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "the input must be a JSON object")
	}
	return fields, nil
}

// Decode reads a text that is one JSON value and nothing else. Numbers stay as they are
// written. Of a field that stands twice the last counts.
func Decode(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return v, nil
}

// bind sets the fields of a struct from an input that was checked.
func bind(fields map[string]any, into any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: into, TagName: "json", Squash: true,
		MatchName: func(name, field string) bool { return name == field }, DecodeHook: keepText})
	if err != nil {
		return err
	}
	return d.Decode(fields)
}

// keepText gives a field that takes any object its text.
func keepText(_, to reflect.Type, v any) (any, error) {
	if to == reflect.TypeFor[json.RawMessage]() {
		return json.Marshal(v)
	}
	return v, nil
}

// Idempotency is embedded in the input of an operation that may be repeated
// safely: for 24 hours the same caller, operation and key get the first result again.
type Idempotency struct {
	IdempotencyKey string `json:"idempotencyKey,omitempty" allow:"max=100" jsonschema:"a repeat with the same key happens once, for 24 hours"`

	caller, operation, digest string
}

// Key is the idempotency key, empty for none.
func (i Idempotency) Key() string { return i.IdempotencyKey }

// Caller names whom the key belongs to: the program of the calling key, or the key itself where it is bound to none.
// It is empty without a key.
func (i Idempotency) Caller() string { return i.caller }

// Operation is the name of the operation that is called, empty without a key.
func (i Idempotency) Operation() string { return i.operation }

// Digest is the same for equal inputs but for the key, and another for others. It is empty
// without a key.
func (i Idempotency) Digest() string { return i.digest }

func (i *Idempotency) identify(caller, operation, digest string) {
	i.caller, i.operation, i.digest = caller, operation, digest
}

type idempotent interface {
	Key() string
	identify(caller, operation, digest string)
}

// identify tells an input that may be a repetition which call it belongs to. How long a call
// waits makes no other call of it.
func identify(in any, c identity.Caller, operation, wait string, fields map[string]any) error {
	repeatable, ok := in.(idempotent)
	if !ok || repeatable.Key() == "" {
		return nil
	}
	rest := maps.Clone(fields)
	delete(rest, "idempotencyKey")
	delete(rest, wait)
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	caller := "key:" + c.KeyID
	if c.Bound() {
		caller = "program:" + identity.Fold(c.Program)
	}
	repeatable.identify(caller, operation, hex.EncodeToString(sum[:]))
	return nil
}
