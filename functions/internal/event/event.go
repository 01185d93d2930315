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

// Type returns the CloudEvents type of a kind of change.
func Type(k store.EventKind) string { return "google.cloud.firestore.document.v1." + string(k) }

// Decode returns the change of a user's document in a CloudEvent of Firestore, whose data is protobuf or the equivalent
// JSON. Every error is an Invalid fault.
func Decode(e cloudevents.Event) (store.Event, error) {
	kind, known := kinds[e.Type()]
	if !known {
		return store.Event{}, fault.New(fault.Invalid, "the event must be of the type of a document's change, not %.100q",
			e.Type())
	}
	data, err := decodeData(e)
	if err != nil {
		return store.Event{}, err
	}
	out := store.Event{ID: e.ID(), At: e.Time(), Kind: kind}
	doc := data.GetValue()
	if kind == store.Deleted {
		doc = data.GetOldValue()
	}
	if out.Ref, err = parseName(doc.GetName()); err != nil {
		return store.Event{}, err
	}
	if out.At.IsZero() && doc.GetUpdateTime().IsValid() {
		out.At = doc.GetUpdateTime().AsTime()
	}
	// A document whose time is Go's zero time has none either.
	if out.At = out.At.UTC().Truncate(time.Microsecond); out.At.IsZero() {
		return store.Event{}, fault.New(fault.Invalid, "the event must have a time")
	}
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

// decodeData decodes the data by its content type. Eventarc sends protobuf.
func decodeData(e cloudevents.Event) (*firestoredata.DocumentEventData, error) {
	data := &firestoredata.DocumentEventData{}
	kind, _, err := mime.ParseMediaType(e.DataContentType())
	switch {
	case e.DataContentType() == "" || (err == nil && kind == "application/protobuf"):
		err = proto.Unmarshal(e.Data(), data)
	case err == nil && kind == "application/json":
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(e.Data(), data)
	default:
		return nil, fault.New(fault.Invalid, "the data must be of the type application/protobuf, not %.100q",
			e.DataContentType())
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the data must be the change of a document")
	}
	return data, nil
}

// parseName parses the full name of a user's document: projects/P/databases/D/documents/users/U/collection/id.
func parseName(name string) (store.Ref, error) {
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
