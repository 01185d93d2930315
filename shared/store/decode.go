package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// decode decodes d into the struct that v points to. Fields that the struct lacks are ignored, so that an older program
// can read a newer document.
func decode(d Fields, v any) error {
	return decodeStruct(d, reflect.ValueOf(v).Elem())
}

func decodeStruct(d Fields, rv reflect.Value) error {
	for _, f := range planOf(rv.Type()).fields {
		v, ok := d[f.name]
		if !ok || v == nil {
			continue
		}
		if err := decodeValue(v, rv.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

func decodeValue(v any, rv reflect.Value) error {
	if rv.Kind() == reflect.Pointer {
		if v == nil {
			return nil
		}
		rv.Set(reflect.New(rv.Type().Elem()))
		return decodeValue(v, rv.Elem())
	}
	switch x := v.(type) {
	case nil:
		return nil
	case time.Time:
		if rv.Type() == timeType {
			rv.Set(reflect.ValueOf(x))
			return nil
		}
	case bool:
		if rv.Kind() == reflect.Bool {
			rv.SetBool(x)
			return nil
		}
	case string:
		if rv.Type() == rawType {
			rv.SetBytes(json.RawMessage(x))
			return nil
		}
		if rv.Kind() == reflect.String {
			rv.SetString(x)
			return nil
		}
	case int64:
		return decodeNumber(float64(x), x, rv)
	case float64:
		return decodeNumber(x, int64(x), rv)
	case []any:
		return decodeSlice(x, rv)
	case Fields:
		return decodeMap(x, rv)
	}
	if rv.Kind() == reflect.Interface && rv.NumMethod() == 0 {
		rv.Set(reflect.ValueOf(v))
		return nil
	}
	return fmt.Errorf("store: a %T does not fit a %v", v, rv.Type())
}

func decodeNumber(f float64, i int64, rv reflect.Value) error {
	switch {
	case rv.CanInt() && float64(i) == f:
		rv.SetInt(i)
	case rv.CanFloat():
		rv.SetFloat(f)
	case rv.Kind() == reflect.Interface && rv.NumMethod() == 0:
		rv.Set(reflect.ValueOf(f))
	default:
		return fmt.Errorf("store: %v does not fit a %v", f, rv.Type())
	}
	return nil
}

func decodeSlice(list []any, rv reflect.Value) error {
	switch rv.Kind() {
	case reflect.Slice:
		out := reflect.MakeSlice(rv.Type(), len(list), len(list))
		for i, e := range list {
			if err := decodeValue(e, out.Index(i)); err != nil {
				return err
			}
		}
		rv.Set(out)
		return nil
	case reflect.Interface:
		out := make([]any, len(list))
		for i, e := range list {
			if err := decodeValue(e, reflect.ValueOf(&out[i]).Elem()); err != nil {
				return err
			}
		}
		rv.Set(reflect.ValueOf(out))
		return nil
	}
	return fmt.Errorf("store: an array does not fit a %v", rv.Type())
}

func decodeMap(d Fields, rv reflect.Value) error {
	switch rv.Kind() {
	case reflect.Struct:
		return decodeStruct(d, rv)
	case reflect.Map:
		out := reflect.MakeMapWithSize(rv.Type(), len(d))
		for k, e := range d {
			ev := reflect.New(rv.Type().Elem()).Elem()
			if err := decodeValue(e, ev); err != nil {
				return err
			}
			out.SetMapIndex(reflect.ValueOf(k).Convert(rv.Type().Key()), ev)
		}
		rv.Set(out)
		return nil
	case reflect.Interface:
		out := make(map[string]any, len(d))
		for k, e := range d {
			var ev any
			if err := decodeValue(e, reflect.ValueOf(&ev).Elem()); err != nil {
				return err
			}
			out[k] = ev
		}
		rv.Set(reflect.ValueOf(out))
		return nil
	}
	return fmt.Errorf("store: an object does not fit a %v", rv.Type())
}
