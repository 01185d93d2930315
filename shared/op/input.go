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
	published "github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/jsonscan"
)

// Input is the input of one call. The call coerces it and adds defaults in place, so it cannot be used again. The zero
// Input is an empty object.
type Input struct {
	// text is the JSON of the input until it is read. It is valid.
	text  []byte
	value any
	err   error
	// problems are those of the parts that were too long to be decoded.
	problems []fault.Problem
	size     int
}

// Parse checks the text of an input, which is decoded only when the operation is known whose schema bounds it. An error
// is kept in the Input and returned by the call, so that authorisation is checked before the input.
func Parse(text []byte) Input {
	if len(bytes.TrimSpace(text)) == 0 {
		return Input{}
	}
	if err := CheckText(text); err != nil {
		return Input{err: err}
	}
	if err := jsonscan.Check(text); err != nil {
		return Input{err: fault.Wrap(fault.Invalid, err, "the input is not one JSON value: %v", err)}
	}
	return Input{text: text, size: len(text)}
}

// Refused returns an input whose call fails with err.
func Refused(err error) Input { return Input{err: err} }

// Fields decodes the input for an operation and returns its fields, to which a transport may add others. It is Invalid
// where the input is no object or could not be parsed. Of a list that is longer than its schema allows no member is
// decoded; the call reports it.
func (in *Input) Fields(o *Op) (map[string]any, error) { return in.fields(o.schema.shape) }

func (in *Input) fields(shape *published.Schema) (map[string]any, error) {
	if in.text != nil && in.err == nil {
		var text []byte
		text, in.problems = reduce(in.text, shape)
		if in.value, in.err = Decode(text); in.err != nil {
			in.err = fault.Wrap(fault.Invalid, in.err, "the input is not one JSON value: %v", in.err)
		}
		in.text = nil
	}
	if in.err != nil {
		return nil, in.err
	}
	if in.value == nil {
		in.value = map[string]any{}
	}
	fields, ok := in.value.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "the input must be a JSON object")
	}
	return fields, nil
}

// Decode reads a text that must be exactly one JSON value. Numbers become json.Number; the last of several fields with
// one name counts.
func Decode(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the value")
	}
	return v, nil
}

// bind sets the fields of a struct from a checked input.
func bind(fields map[string]any, into any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: into, TagName: "json", Squash: true,
		MatchName: func(name, field string) bool { return name == field }, DecodeHook: keepText})
	if err != nil {
		return err
	}
	return d.Decode(fields)
}

// keepText sets a json.RawMessage to the JSON of the value.
func keepText(_, to reflect.Type, v any) (any, error) {
	if to == reflect.TypeFor[json.RawMessage]() {
		return json.Marshal(v)
	}
	return v, nil
}

// Idempotency is embedded in the input of an operation whose calls may be repeated: for 24 hours, a call with the same
// caller, operation and key returns the first result.
type Idempotency struct {
	IdempotencyKey string `json:"idempotencyKey,omitempty" allow:"max=100,rare" jsonschema:"for 24 hours a repeat has no effect"`

	caller, operation, digest string
}

// Key returns the idempotency key, empty if there is none.
func (i Idempotency) Key() string { return i.IdempotencyKey }

// Caller names the caller that the key belongs to: the program of an agent's bound key, or else the calling key. It is
// empty without an idempotency key.
func (i Idempotency) Caller() string { return i.caller }

// Operation returns the name of the called operation, empty without a key.
func (i Idempotency) Operation() string { return i.operation }

// Digest returns a hash of the input without its key and its wait. It is empty without a key.
func (i Idempotency) Digest() string { return i.digest }

func (i *Idempotency) identify(caller, operation, digest string) {
	i.caller, i.operation, i.digest = caller, operation, digest
}

type idempotent interface {
	Key() string
	identify(caller, operation, digest string)
}

// identify sets the caller, the operation and the digest of an input that has an idempotency key. The wait is left out of
// the digest, so that a repeated call may wait for a different time.
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
	if c.Bound() && !c.IsHuman() {
		caller = "program:" + identity.Fold(c.Program)
	}
	repeatable.identify(caller, operation, hex.EncodeToString(sum[:]))
	return nil
}
