package op

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// schemas are the published schemas of an operation, and the compiled schema that checks its inputs.
type schemas struct {
	input, output, brief, terse json.RawMessage
	*compiled
}

// pair is the input and output type of an operation.
type pair struct{ in, out reflect.Type }

// made holds the schemas of each pair, because a process may build several catalogues, as tests do for each server.
// They are never modified.
var made sync.Map // of *schemas by pair

// schemasOf returns the schemas of the types of an operation. It fails if a type has no valid schema.
func schemasOf(in, out reflect.Type) (*schemas, error) {
	if s, ok := made.Load(pair{in, out}); ok {
		return s.(*schemas), nil
	}
	input, err := schemaFor(in, false)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	output, err := schemaFor(out, true)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	s := &schemas{}
	if s.input, err = json.Marshal(input); err != nil {
		return nil, err
	}
	if s.output, err = json.Marshal(output); err != nil {
		return nil, err
	}
	if s.compiled, err = compile(s.input, input); err != nil {
		return nil, err
	}
	brief := input.CloneSchemas()
	abridge(brief)
	if s.brief, err = json.Marshal(brief); err != nil {
		return nil, err
	}
	terse(brief, in)
	if s.terse, err = json.Marshal(brief); err != nil {
		return nil, err
	}
	made.Store(pair{in, out}, s)
	return s, nil
}
