package event

import (
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/googleapis/google-cloudevents-go/cloud/firestoredata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

var kinds = map[string]store.EventKind{
	"google.cloud.firestore.document.v1.created": store.Created,
	"google.cloud.firestore.document.v1.updated": store.Updated,
	"google.cloud.firestore.document.v1.deleted": store.Deleted,
}

// Type is the CloudEvents type of a kind of change.
func Type(k store.EventKind) string { return "google.cloud.firestore.document.v1." + string(k) }

// Decode is the change that a CloudEvent of Firestore's tells of a user's document. Its data is protobuf, or the same
// as JSON. The error is an Invalid fault.
func Decode(e cloudevents.Event) (store.Event, error) {
	kind, known := kinds[e.Type()]
	if !known {
		return store.Event{}, fault.New(fault.Invalid, "an event of the type %.100q is none of a document", e.Type())
	}
	data, err := parse(e)
	if err != nil {
		return store.Event{}, err
	}
	out := store.Event{ID: e.ID(), At: e.Time(), Kind: kind}
	doc := data.GetValue()
	if kind == store.Deleted {
		doc = data.GetOldValue()
	}
	if out.Ref, err = refOf(doc.GetName()); err != nil {
		return store.Event{}, err
	}
	if out.At.IsZero() {
		if !doc.GetUpdateTime().IsValid() {
			return store.Event{}, fault.New(fault.Invalid, "the event does not say when it happened")
		}
		out.At = doc.GetUpdateTime().AsTime()
	}
	out.At = out.At.UTC().Truncate(time.Microsecond)
	if kind != store.Created {
		if out.Before, err = document(data.GetOldValue()); err != nil {
			return store.Event{}, err
		}
	}
	if kind != store.Deleted {
		if out.After, err = document(data.GetValue()); err != nil {
			return store.Event{}, err
		}
	}
	return out, nil
}

// parse reads the data as what it says it is; protobuf is what Eventarc sends.
func parse(e cloudevents.Event) (*firestoredata.DocumentEventData, error) {
	data := &firestoredata.DocumentEventData{}
	kind, _, err := mime.ParseMediaType(e.DataContentType())
	switch {
	case e.DataContentType() == "" || (err == nil && kind == "application/protobuf"):
		err = proto.Unmarshal(e.Data(), data)
	case err == nil && kind == "application/json":
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(e.Data(), data)
	default:
		return nil, fault.New(fault.Invalid, "data of the type %.100q is not read; it is application/protobuf",
			e.DataContentType())
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the data is no change of a document")
	}
	return data, nil
}

// refOf is the user's document that has a full name, projects/P/databases/D/documents/users/U/collection/id.
func refOf(name string) (store.Ref, error) {
	parts := strings.Split(name, "/")
	if len(parts) < 9 || len(parts)%2 != 1 || parts[0] != "projects" || parts[2] != "databases" ||
		parts[4] != "documents" || parts[5] != "users" {
		return store.Ref{}, fault.New(fault.Invalid, "%.200q is not the name of a user's document", name)
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || len(p) > store.MaxID || !utf8.ValidString(p) ||
			strings.ContainsRune(p, 0) {
			return store.Ref{}, fault.New(fault.Invalid, "%.200q is not the name of a user's document", name)
		}
	}
	last := len(parts) - 1
	return store.Ref{User: parts[6], Coll: strings.Join(parts[7:last], "/"), ID: parts[last]}, nil
}
