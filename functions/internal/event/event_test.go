package event

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/googleapis/google-cloudevents-go/cloud/firestoredata"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const name = "projects/p/databases/(default)/documents/users/u/tasks/t"

var at = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func text(s string) *firestoredata.Value {
	return &firestoredata.Value{ValueType: &firestoredata.Value_StringValue{StringValue: s}}
}

func doc(name, title string) *firestoredata.Document {
	return &firestoredata.Document{Name: name, UpdateTime: timestamppb.New(at),
		Fields: map[string]*firestoredata.Value{"title": text(title), "changedAt": text("the driver's")}}
}

// given returns an event as Eventarc sends it.
func given(t testing.TB, kind store.EventKind, before, after *firestoredata.Document) cloudevents.Event {
	t.Helper()
	body, err := proto.Marshal(&firestoredata.DocumentEventData{Value: after, OldValue: before})
	if err != nil {
		t.Fatal(err)
	}
	e := cloudevents.NewEvent()
	e.SetID("e1")
	e.SetSource("//firestore.googleapis.com/projects/p/databases/(default)")
	e.SetType(Type(kind))
	e.SetTime(at)
	if err := e.SetData("application/protobuf", body); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAChangeIsDecodedByItsKind(t *testing.T) {
	t.Parallel()
	ref, was, is := store.Ref{User: "u", Coll: "tasks", ID: "t"}, store.Fields{"title": "was"},
		store.Fields{"title": "is"}
	for kind, want := range map[store.EventKind]store.Event{
		store.Created: {After: is},
		store.Updated: {Before: was, After: is},
		store.Deleted: {Before: was},
	} {
		var before, after *firestoredata.Document
		if want.Before != nil {
			before = doc(name, "was")
		}
		if want.After != nil {
			after = doc(name, "is")
		}
		want.ID, want.At, want.Kind, want.Ref = "e1", at.Truncate(time.Microsecond), kind, ref
		if got, err := Decode(given(t, kind, before, after)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

func TestEveryTypeOfValueIsConverted(t *testing.T) {
	t.Parallel()
	d := doc(name, "all")
	for field, v := range map[string]*firestoredata.Value{
		"null":   {ValueType: &firestoredata.Value_NullValue{}},
		"unset":  {},
		"bool":   {ValueType: &firestoredata.Value_BooleanValue{BooleanValue: true}},
		"int":    {ValueType: &firestoredata.Value_IntegerValue{IntegerValue: math.MaxInt64}},
		"double": {ValueType: &firestoredata.Value_DoubleValue{DoubleValue: 0.5}},
		"time":   {ValueType: &firestoredata.Value_TimestampValue{TimestampValue: timestamppb.New(at)}},
		"bytes":  {ValueType: &firestoredata.Value_BytesValue{BytesValue: []byte("abc")}},
		"ref":    {ValueType: &firestoredata.Value_ReferenceValue{ReferenceValue: name}},
		"geo": {ValueType: &firestoredata.Value_GeoPointValue{GeoPointValue: &latlng.LatLng{Latitude: 1,
			Longitude: 2}}},
		"list": {ValueType: &firestoredata.Value_ArrayValue{
			ArrayValue: &firestoredata.ArrayValue{Values: []*firestoredata.Value{text("a"), {}}}}},
		"map": {ValueType: &firestoredata.Value_MapValue{
			MapValue: &firestoredata.MapValue{Fields: map[string]*firestoredata.Value{"changedAt": text("mine")}}}},
	} {
		d.Fields[field] = v
	}
	want := store.Fields{"title": "all", "null": nil, "unset": nil, "bool": true, "int": int64(math.MaxInt64),
		"double": 0.5,
		"time":   at.Truncate(time.Microsecond), "bytes": "YWJj", "ref": name,
		"geo":  store.Fields{"latitude": 1.0, "longitude": 2.0},
		"list": []any{"a", nil}, "map": store.Fields{"changedAt": "mine"}}
	if got, err := Decode(given(t, store.Created, nil, d)); err != nil || !reflect.DeepEqual(got.After, want) {
		t.Errorf("%#v, %v", got.After, err)
	}
}

func TestTheNameInTheDataIdentifiesTheDocument(t *testing.T) {
	t.Parallel()
	const root = "projects/p/databases/(default)/documents/"
	for path, want := range map[string]store.Ref{
		"users/u/tasks/t":            {User: "u", Coll: "tasks", ID: "t"},
		"users/u ä/tasks/t%2F.1?":    {User: "u ä", Coll: "tasks", ID: "t%2F.1?"},
		"users/u/fires/f/messages/m": {User: "u", Coll: "fires/f/messages", ID: "m"},
		"users/u":                    {},
		"users/u/tasks":              {},
		"users/u/fires/f/messages":   {},
		"people/u/tasks/t":           {},
		"users//tasks/t":             {},
		"users/../tasks/t":           {},
		"users/u/tasks/\x00":         {},
		"users/u/tasks/":             {},
		"users/u/tasks/t/":           {},
		"users/" + strings.Repeat("x", 1501) + "/tasks/t": {},
	} {
		e := given(t, store.Created, nil, doc(root+path, "x"))
		e.SetSubject("documents/users/another/tasks/other")
		got, err := Decode(e)
		if got.Ref != want || (err == nil) != (want != store.Ref{}) || (err != nil && !fault.Is(err, fault.Invalid)) {
			t.Errorf("%.40q: %+v, %v", path, got.Ref, err)
		}
	}
}

func TestJSONDataIsAccepted(t *testing.T) {
	t.Parallel()
	e := given(t, store.Created, nil, nil)
	body, err := protojson.Marshal(&firestoredata.DocumentEventData{Value: doc(name, "in JSON")})
	if err != nil {
		t.Fatal(err)
	}
	body = append([]byte(`{"new":1,`), body[1:]...)
	if err := e.SetData("application/json; charset=utf-8", body); err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(e); err != nil || got.After["title"] != "in JSON" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnEventWithoutATimeHasTheTimeOfItsDocument(t *testing.T) {
	t.Parallel()
	e := given(t, store.Created, nil, doc(name, "x"))
	e.SetTime(time.Time{})
	if got, err := Decode(e); err != nil || !got.At.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("%v, %v", got.At, err)
	}
	timeless := given(t, store.Created, nil, &firestoredata.Document{Name: name})
	timeless.SetTime(time.Time{})
	if _, err := Decode(timeless); !fault.Is(err, fault.Invalid) {
		t.Errorf("without any time: %v", err)
	}
	for _, nanos := range []int{0, 999} {
		e := given(t, store.Created, nil, beginning(nanos))
		e.SetTime(time.Time{})
		if got, err := Decode(e); !fault.Is(err, fault.Invalid) {
			t.Errorf("with Go's zero time and %d ns: %+v, %v", nanos, got, err)
		}
	}
}

// beginning returns a document that was changed so many nanoseconds after Go's zero time, with a field without a name.
func beginning(nanos int) *firestoredata.Document {
	return &firestoredata.Document{Name: name, UpdateTime: timestamppb.New(time.Time{}.Add(time.Duration(nanos))),
		Fields: map[string]*firestoredata.Value{"": text("x")}}
}

func TestAMalformedEventIsInvalid(t *testing.T) {
	t.Parallel()
	change := func(f func(*cloudevents.Event)) cloudevents.Event {
		e := given(t, store.Updated, doc(name, "was"), doc(name, "is"))
		f(&e)
		return e
	}
	never := doc(name, "x")
	never.Fields["at"] = &firestoredata.Value{ValueType: &firestoredata.Value_TimestampValue{
		TimestampValue: &timestamppb.Timestamp{Nanos: -1}}}
	for what, e := range map[string]cloudevents.Event{
		"no bytes of the format": change(func(e *cloudevents.Event) { e.DataEncoded = []byte("\xff\xff") }),
		"nothing":                change(func(e *cloudevents.Event) { e.DataEncoded = nil }),
		"text":                   change(func(e *cloudevents.Event) { e.SetDataContentType("text/plain") }),
		"no media type":          change(func(e *cloudevents.Event) { e.SetDataContentType("/;") }),
		"protobuf called JSON":   change(func(e *cloudevents.Event) { e.SetDataContentType("application/json") }),
		"another service's type": change(func(e *cloudevents.Event) {
			e.SetType("google.cloud.storage.object.v1.finalized")
		}),
		"no document before": given(t, store.Updated, nil, doc(name, "is")),
		"no document after":  given(t, store.Updated, doc(name, "was"), nil),
		"no time":            given(t, store.Created, nil, never),
	} {
		if got, err := Decode(e); !fault.Is(err, fault.Invalid) || !reflect.DeepEqual(got, store.Event{}) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// stores describes the first value in v that a store does not support, empty for none.
func stores(v any) error {
	switch x := v.(type) {
	case nil, bool, int64, float64, string:
		return nil
	case time.Time:
		if x.Location() != time.UTC || x.Nanosecond()%1000 != 0 {
			return fmt.Errorf("the time %v", x)
		}
		return nil
	case []any:
		for _, e := range x {
			if err := stores(e); err != nil {
				return err
			}
		}
		return nil
	case store.Fields:
		for _, e := range x {
			if err := stores(e); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a %T", v)
}

func FuzzDecode(f *testing.F) {
	for _, d := range []*firestoredata.Document{nil, doc(name, "x"), doc("users/u", "x"), beginning(0), beginning(999)} {
		e := given(f, store.Updated, d, d)
		f.Add("updated", "application/protobuf", e.Data())
		body, err := protojson.Marshal(&firestoredata.DocumentEventData{Value: d})
		if err != nil {
			f.Fatal(err)
		}
		f.Add("created", "application/json", body)
	}
	f.Add("", "text/plain", []byte{})
	f.Fuzz(func(t *testing.T, kind, contentType string, body []byte) {
		e := cloudevents.NewEvent()
		e.SetID("e")
		e.SetType(Type(store.EventKind(kind)))
		e.SetDataContentType(contentType)
		e.DataEncoded = body
		got, err := Decode(e)
		if err != nil {
			if !fault.Is(err, fault.Invalid) || fault.Of(err).Redeliver() {
				t.Errorf("%v would come again", err)
			}
			return
		}
		if got.Ref.User == "" || got.Ref.Coll == "" || got.Ref.ID == "" || got.At.IsZero() {
			t.Errorf("%+v", got)
		}
		for _, f := range []store.Fields{got.Before, got.After} {
			if err := stores(f); err != nil {
				t.Error(err)
			}
		}
	})
}
