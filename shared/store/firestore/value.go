package firestore

import (
	"encoding/base64"
	"fmt"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// changedField is set to the server's time by every write, for listeners.
const changedField = store.ChangedField

func encodeValue(v any) (*firestorepb.Value, error) {
	switch x := v.(type) {
	case nil:
		return &firestorepb.Value{ValueType: &firestorepb.Value_NullValue{NullValue: structpb.NullValue_NULL_VALUE}}, nil
	case bool:
		return &firestorepb.Value{ValueType: &firestorepb.Value_BooleanValue{BooleanValue: x}}, nil
	case int64:
		return &firestorepb.Value{ValueType: &firestorepb.Value_IntegerValue{IntegerValue: x}}, nil
	case float64:
		return &firestorepb.Value{ValueType: &firestorepb.Value_DoubleValue{DoubleValue: x}}, nil
	case string:
		return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: x}}, nil
	case time.Time:
		return &firestorepb.Value{ValueType: &firestorepb.Value_TimestampValue{TimestampValue: timestamppb.New(x)}}, nil
	case []any:
		list := &firestorepb.ArrayValue{Values: make([]*firestorepb.Value, len(x))}
		for i, e := range x {
			var err error
			if list.Values[i], err = encodeValue(e); err != nil {
				return nil, err
			}
		}
		return &firestorepb.Value{ValueType: &firestorepb.Value_ArrayValue{ArrayValue: list}}, nil
	case store.Fields:
		m, err := encodeFields(x)
		return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: m}}}, err
	}
	return nil, fault.New(fault.Internal, "firestore: cannot encode a %T", v)
}

func encodeFields(d store.Fields) (map[string]*firestorepb.Value, error) {
	m := make(map[string]*firestorepb.Value, len(d))
	for k, v := range d {
		e, err := encodeValue(v)
		if err != nil {
			return nil, err
		}
		m[k] = e
	}
	return m, nil
}

// decodeValue converts a value, possibly written by another program (the app, the console). Types that the store lacks
// become the nearest one that it has.
func decodeValue(v *firestorepb.Value) any {
	switch x := v.GetValueType().(type) {
	case *firestorepb.Value_BooleanValue:
		return x.BooleanValue
	case *firestorepb.Value_IntegerValue:
		return x.IntegerValue
	case *firestorepb.Value_DoubleValue:
		return x.DoubleValue
	case *firestorepb.Value_StringValue:
		return x.StringValue
	case *firestorepb.Value_TimestampValue:
		return microseconds(x.TimestampValue.AsTime())
	case *firestorepb.Value_ArrayValue:
		list := make([]any, len(x.ArrayValue.GetValues()))
		for i, e := range x.ArrayValue.GetValues() {
			list[i] = decodeValue(e)
		}
		return list
	case *firestorepb.Value_MapValue:
		return decodeFields(x.MapValue.GetFields())
	case *firestorepb.Value_ReferenceValue:
		return x.ReferenceValue
	case *firestorepb.Value_BytesValue:
		return base64.StdEncoding.EncodeToString(x.BytesValue)
	case *firestorepb.Value_GeoPointValue:
		return point(x.GeoPointValue)
	}
	return nil
}

func microseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

type geoPoint interface {
	GetLatitude() float64
	GetLongitude() float64
}

func point(p geoPoint) store.Fields {
	return store.Fields{"latitude": p.GetLatitude(), "longitude": p.GetLongitude()}
}

func decodeFields(m map[string]*firestorepb.Value) store.Fields {
	d := make(store.Fields, len(m))
	for k, v := range m {
		d[k] = decodeValue(v)
	}
	return d
}

func (d *Driver) decode(doc *firestorepb.Document) (store.Raw, error) {
	ref, ok := d.ref(doc.GetName())
	if !ok {
		err := fmt.Errorf("the document %s belongs to no user", doc.GetName())
		return store.Raw{}, fault.Wrap(fault.Internal, err, "firestore")
	}
	fields := decodeFields(doc.GetFields())
	delete(fields, changedField)
	delete(fields, shardField)
	return store.Raw{Ref: ref, Fields: fields}, nil
}
