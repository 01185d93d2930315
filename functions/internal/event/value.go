package event

import (
	"encoding/base64"
	"time"

	"github.com/googleapis/google-cloudevents-go/cloud/firestoredata"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// document converts the fields of a document, without the field that the store's driver adds.
func document(d *firestoredata.Document) (store.Fields, error) {
	if d == nil {
		return nil, fault.New(fault.Invalid, "the event must have the documents of its type")
	}
	f, err := fields(d.GetFields())
	delete(f, store.ChangedField)
	delete(f, store.ShardField)
	return f, err
}

func fields(m map[string]*firestoredata.Value) (store.Fields, error) {
	f := make(store.Fields, len(m))
	for k, v := range m {
		var err error
		if f[k], err = value(v); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func value(v *firestoredata.Value) (any, error) {
	switch x := v.GetValueType().(type) {
	case *firestoredata.Value_BooleanValue:
		return x.BooleanValue, nil
	case *firestoredata.Value_IntegerValue:
		return x.IntegerValue, nil
	case *firestoredata.Value_DoubleValue:
		return x.DoubleValue, nil
	case *firestoredata.Value_StringValue:
		return x.StringValue, nil
	case *firestoredata.Value_TimestampValue:
		if err := x.TimestampValue.CheckValid(); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the data has an invalid time")
		}
		return x.TimestampValue.AsTime().Truncate(time.Microsecond), nil
	case *firestoredata.Value_ArrayValue:
		list := make([]any, len(x.ArrayValue.GetValues()))
		for i, e := range x.ArrayValue.GetValues() {
			var err error
			if list[i], err = value(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *firestoredata.Value_MapValue:
		return fields(x.MapValue.GetFields())
	case *firestoredata.Value_ReferenceValue:
		return x.ReferenceValue, nil
	case *firestoredata.Value_BytesValue:
		return base64.StdEncoding.EncodeToString(x.BytesValue), nil
	case *firestoredata.Value_GeoPointValue:
		return store.Fields{"latitude": x.GeoPointValue.GetLatitude(), "longitude": x.GeoPointValue.GetLongitude()}, nil
	}
	return nil, nil
}
