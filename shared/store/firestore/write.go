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
	if err == nil && sharded(w.Def) {
		doc.Fields[shardField] = shardValue(doc.GetName())
		if out.UpdateMask != nil {
			out.UpdateMask.FieldPaths = append(out.UpdateMask.FieldPaths, shardField)
		}
	}
	out.UpdateTransforms = append(out.UpdateTransforms, stamp())
	return out, err
}

// stamp sets the time of the last change, by which listeners find it.
func stamp() *firestorepb.DocumentTransform_FieldTransform {
	return &firestorepb.DocumentTransform_FieldTransform{
		FieldPath: changedField,
		TransformType: &firestorepb.DocumentTransform_FieldTransform_SetToServerValue{
			SetToServerValue: firestorepb.DocumentTransform_FieldTransform_REQUEST_TIME,
		},
	}
}

func exists(yes bool) *firestorepb.Precondition {
	return &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: yes}}
}

// patch adds edits to a write. The server applies sets and removals first and additions last, so a set discards the
// earlier additions to its field to keep the order of the edits.
func patch(out *firestorepb.Write, doc *firestorepb.Document, edits []store.Edit) error {
	// An empty mask changes no field; a missing one would replace the document.
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

// repeatable reports whether applying the writes twice has the same effect as once.
func repeatable(writes []store.Write) bool {
	return !slices.ContainsFunc(writes, func(w store.Write) bool {
		return w.Action == store.Create || slices.ContainsFunc(w.Edits, func(e store.Edit) bool { return e.IsAdd })
	})
}

// refusal returns the fault of a commit that failed on a precondition or on the size of a document, nil for any other
// error. The port checks sizes too, but not that of a patched document.
func refusal(err error, writes []store.Write) error {
	message := status.Convert(err).Message()
	switch status.Code(err) {
	case codes.AlreadyExists:
		if w := refusedWrite(message, writes, store.Create); w != nil {
			return fault.New(fault.Exists, "%s %q already exists", w.Def.ID(), w.Ref.ID)
		}
	case codes.NotFound:
		// A missing database has the same status.
		if w := refusedWrite(message, writes, store.Patch); w != nil && !strings.HasPrefix(message, "The database") {
			return fault.New(fault.NotFound, "no %s with id %q", w.Def.ID(), w.Ref.ID)
		}
	case codes.InvalidArgument:
		if strings.Contains(message, "maximum") && strings.Contains(message, "size") {
			return fault.Wrap(fault.Invalid, err,
				"the document would be too large; it must have at most %d bytes", store.MaxDocument)
		}
	}
	return nil
}

// refusedWrite returns the write of the action that the message names, the first one if it names none, and nil if there
// is no such write. If the name of one document begins with that of another, the longer match counts.
func refusedWrite(message string, writes []store.Write, action store.Action) *store.Write {
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

// mentions reports whether a message names a document: by its path or, as the emulator sometimes does, by a list of its
// segments.
func mentions(message string, r store.Ref) bool {
	return strings.Contains(message, "/users/"+r.User+"/"+r.Coll+"/"+r.ID) ||
		strings.Contains(message, fmt.Sprintf("name: %q", r.ID))
}
