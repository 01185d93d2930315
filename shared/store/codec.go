package store

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Both drivers share one codec, based on json tags. It differs from encoding/json in three ways: times stay times (in
// UTC, truncated to the microsecond as in Firestore), a nil slice becomes an empty array, and json.RawMessage is kept
// as text, because a document cannot hold every JSON value (an array in an array).

type fieldPlan struct {
	name                string
	index               []int
	omitEmpty, omitZero bool
}

type structPlan struct{ fields []fieldPlan }

var plans sync.Map // reflect.Type → *structPlan

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func planOf(t reflect.Type) *structPlan {
	if p, ok := plans.Load(t); ok {
		return p.(*structPlan)
	}
	p := &structPlan{}
	if t.Kind() != reflect.Struct {
		return p
	}
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || (f.Anonymous && name == "") {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p.fields = append(p.fields, fieldPlan{name, f.Index,
			strings.Contains(opts, "omitempty"), strings.Contains(opts, "omitzero")})
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*structPlan)
}

func encode(v any) (Fields, error) {
	rv := reflect.Indirect(reflect.ValueOf(v))
	if rv.Kind() != reflect.Struct {
		return nil, fmt.Errorf("store: a document must be a struct, not %v", rv.Kind())
	}
	return encodeStruct(rv)
}

// fewFields is the largest initial capacity of a document. Most documents omit most of their fields.
const fewFields = 16

func encodeStruct(rv reflect.Value) (Fields, error) {
	plan := planOf(rv.Type())
	d := make(Fields, min(len(plan.fields), fewFields))
	for _, f := range plan.fields {
		fv, err := rv.FieldByIndexErr(f.index)
		if err != nil || (f.omitEmpty && isEmpty(fv)) || (f.omitZero && isZero(fv)) {
			continue
		}
		v, err := encodeValue(fv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		d[f.name] = v
	}
	return d, nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func isZero(v reflect.Value) bool {
	if v.Type() == timeType {
		return v.Interface().(time.Time).IsZero()
	}
	return v.IsZero()
}

func normalTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func encodeValue(v reflect.Value) (any, error) {
	switch v.Type() {
	case timeType:
		return normalTime(v.Interface().(time.Time)), nil
	case rawType:
		return string(v.Bytes()), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return encodeValue(v.Elem())
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, fmt.Errorf("store: a number must be finite, not %v", v.Float())
	case reflect.String:
		return v.String(), nil
	case reflect.Struct:
		return encodeStruct(v)
	case reflect.Slice, reflect.Array:
		return encodeSlice(v)
	case reflect.Map:
		return encodeMap(v)
	}
	return nil, fmt.Errorf("store: cannot encode a %v", v.Type())
}

func encodeSlice(v reflect.Value) (any, error) {
	list := make([]any, v.Len())
	for i := range list {
		e, err := encodeValue(v.Index(i))
		if err != nil {
			return nil, err
		}
		if _, nested := e.([]any); nested {
			return nil, fmt.Errorf("store: an array must not hold an array; use json.RawMessage")
		}
		list[i] = e
	}
	return list, nil
}

func encodeMap(v reflect.Value) (any, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("store: the keys of a map must be strings, not %v", v.Type().Key())
	}
	d := make(Fields, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		e, err := encodeValue(iter.Value())
		if err != nil {
			return nil, err
		}
		d[iter.Key().String()] = e
	}
	return d, nil
}

func encodeEdits(edits []Edit) ([]Edit, error) {
	out := make([]Edit, len(edits))
	for i, e := range edits {
		out[i] = e
		if e.Value == nil {
			continue
		}
		v, err := encodeValue(reflect.ValueOf(e.Value))
		if err != nil {
			return nil, err
		}
		out[i].Value = v
	}
	return out, nil
}

// Set returns the edit that sets a field to a value.
func Set(field string, v any) Edit { return Edit{Field: field, Value: v} }

// Add returns the edit that adds n to a number. A missing field counts as zero. The effect on a field that is not a
// number depends on the driver.
func Add(field string, n int64) Edit { return Edit{Field: field, Add: n, IsAdd: true} }

// Unset returns the edit that removes a field.
func Unset(field string) Edit { return Edit{Field: field, Unset: true} }

// Apply applies a patch to d. It fails if Add meets a value that is not a number, and may then have applied earlier
// edits.
func Apply(d Fields, edits []Edit) error {
	for _, e := range edits {
		switch {
		case e.Unset:
			delete(d, e.Field)
		case e.IsAdd:
			switch old := d[e.Field].(type) {
			case nil:
				d[e.Field] = e.Add
			case int64:
				d[e.Field] = old + e.Add
			case float64:
				d[e.Field] = old + float64(e.Add)
			default:
				return fmt.Errorf("store: %s is not a number", e.Field)
			}
		default:
			d[e.Field] = e.Value
		}
	}
	return nil
}
