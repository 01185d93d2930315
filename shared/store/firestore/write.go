package firestore

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

func (d *Driver) commitRequest(writes []store.Write, tx []byte) (*firestorepb.CommitRequest, error) {
	req := &firestorepb.CommitRequest{Database: d.root, Transaction: tx, Writes: make([]*firestorepb.Write, len(writes))}
	for i, w := range writes {
		var err error
		if req.Writes[i], err = d.write(w); err != nil {
			return nil, err
		}
	}
	return req, nil
}

func (d *Driver) write(w store.Write) (*firestorepb.Write, error) {
	if w.Action == store.Delete {
		return &firestorepb.Write{Operation: &firestorepb.Write_Delete{Delete: d.name(w.Ref)}}, nil
	}
	doc := &firestorepb.Document{Name: d.name(w.Ref)}
	out := &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: doc}}
	var err error
	switch w.Action {
	case store.Create:
		out.CurrentDocument = exists(false)
		doc.Fields, err = encodeFields(w.Fields)
	case store.Put:
		doc.Fields, err = encodeFields(w.Fields)
	case store.Patch:
		out.CurrentDocument = exists(true)
		err = patch(out, doc, w.Edits)
	default:
		err = fault.New(fault.Internal, "firestore: no such action: %d", w.Action)
	}
	out.UpdateTransforms = append(out.UpdateTransforms, &firestorepb.DocumentTransform_FieldTransform{
		FieldPath: changedField,
		TransformType: &firestorepb.DocumentTransform_FieldTransform_SetToServerValue{
			SetToServerValue: firestorepb.DocumentTransform_FieldTransform_REQUEST_TIME,
		},
	})
	return out, err
}

func exists(yes bool) *firestorepb.Precondition {
	return &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: yes}}
}

// patch adds the edits to a write. The server takes what is set and unset first
// and what is added after; so that the edits hold in their own order, a set
// forgets what was added to the field before it.
func patch(out *firestorepb.Write, doc *firestorepb.Document, edits []store.Edit) error {
	// A mask that is there and empty changes no field; one that is missing
	// would replace the document.
	out.UpdateMask = &firestorepb.DocumentMask{}
	doc.Fields = map[string]*firestorepb.Value{}
	added := map[string]int64{}
	for _, e := range edits {
		if e.IsAdd {
			added[e.Field] += e.Add
			continue
		}
		delete(added, e.Field)
		delete(doc.Fields, e.Field)
		if path := fieldPath(e.Field); !slices.Contains(out.UpdateMask.FieldPaths, path) {
			out.UpdateMask.FieldPaths = append(out.UpdateMask.FieldPaths, path)
		}
		if e.Unset {
			continue
		}
		v, err := encodeValue(e.Value)
		if err != nil {
			return err
		}
		doc.Fields[e.Field] = v
	}
	for _, e := range edits {
		n, waits := added[e.Field]
		if !waits {
			continue
		}
		delete(added, e.Field)
		by, err := encodeValue(n)
		if err != nil {
			return err
		}
		out.UpdateTransforms = append(out.UpdateTransforms, &firestorepb.DocumentTransform_FieldTransform{
			FieldPath:     fieldPath(e.Field),
			TransformType: &firestorepb.DocumentTransform_FieldTransform_Increment{Increment: by},
		})
	}
	return nil
}

// repeatable says that writes may be applied twice and mean the same.
func repeatable(writes []store.Write) bool {
	return !slices.ContainsFunc(writes, func(w store.Write) bool {
		return w.Action == store.Create || slices.ContainsFunc(w.Edits, func(e store.Edit) bool { return e.IsAdd })
	})
}

// refusal is the fault of a commit that a precondition or the size of a document
// refused, nil for any other error. The port cannot know how large a patch leaves
// a document.
func refusal(err error, writes []store.Write) error {
	message := status.Convert(err).Message()
	switch status.Code(err) {
	case codes.AlreadyExists:
		if w := blamed(message, writes, store.Create); w != nil {
			return fault.New(fault.Exists, "%s %q exists already", w.Def.ID(), w.Ref.ID)
		}
	case codes.NotFound:
		// A database that is missing is not found either.
		if w := blamed(message, writes, store.Patch); w != nil && !strings.HasPrefix(message, "The database") {
			return fault.New(fault.NotFound, "no %s with id %q", w.Def.ID(), w.Ref.ID)
		}
	case codes.InvalidArgument:
		if strings.Contains(message, "maximum") && strings.Contains(message, "size") {
			return fault.Wrap(fault.Invalid, err, "the document would be too large; at most %d bytes", store.MaxDocument)
		}
	}
	return nil
}

// blamed is the write of the action that the message names, the first of them
// where it names none, and nil where there is no such write. One name may begin
// another, so the longest counts.
func blamed(message string, writes []store.Write, action store.Action) *store.Write {
	var first, named *store.Write
	for i := range writes {
		w := &writes[i]
		if w.Action != action {
			continue
		}
		if first == nil {
			first = w
		}
		if mentions(message, w.Ref) && (named == nil || len(w.Ref.ID) > len(named.Ref.ID)) {
			named = w
		}
	}
	if named != nil {
		return named
	}
	return first
}

// mentions says whether a message names a document: by its path, or, as the
// emulator does at times, by a list of its segments.
func mentions(message string, r store.Ref) bool {
	return strings.Contains(message, "/users/"+r.User+"/"+r.Coll+"/"+r.ID) || strings.Contains(message, fmt.Sprintf("name: %q", r.ID))
}
