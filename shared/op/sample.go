package op

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/fault"
)

// saved matches a reference to a value that a step of an example saved.
var saved = regexp.MustCompile(`\$[A-Za-z]+`)

// Sample returns the input of the first example that succeeds, for documents: a value that an earlier call would have
// given stands in it as its name in capitals, or as 1 where the input is a number. It is nil where the operation has
// no examples.
func (o *Op) Sample() In {
	if o.Cases == nil {
		return nil
	}
	for _, e := range o.Cases().Examples {
		if e.Fault != fault.Internal {
			continue
		}
		var in In
		text, err := json.Marshal(e.In)
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err != nil {
			panic("op " + o.Name + ": its first example: " + err.Error())
		}
		if in == nil {
			in = In{}
		}
		return sampled(in, o.schema.shape).(In)
	}
	return nil
}

func sampled(v any, s *jsonschema.Schema) any {
	switch x := v.(type) {
	case string:
		if s != nil && saved.FindString(x) == x && (s.Type == "integer" || s.Type == "number") {
			return 1
		}
		return saved.ReplaceAllStringFunc(x, func(ref string) string { return strings.ToUpper(ref[1:]) })
	case []any:
		for i, e := range x {
			var items *jsonschema.Schema
			if s != nil {
				items = s.Items
			}
			x[i] = sampled(e, items)
		}
	case In:
		for name, e := range x {
			var field *jsonschema.Schema
			if s != nil {
				field = s.Properties[name]
			}
			x[name] = sampled(e, field)
		}
	}
	return v
}
