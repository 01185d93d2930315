package firestore

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"parley.internal/shared/store"
)

// An index over all users on a field that rises, such as the time at which a sweep handles a document, takes 500 writes a
// second, whatever the number of users. The driver therefore adds a field to the documents of collections with such
// indexes, with one of a few values, begins the indexes with it, and asks for all values in one query. See
// https://firebase.google.com/docs/firestore/solutions/shard-timestamp.

// shardField has the shard of a document, and shards is their number: 16 times as many writes a second. A query may have
// 30 alternatives.
const (
	shardField = store.ShardField
	shards     = 16
)

// sharded reports whether the documents of a collection have a shard.
func sharded(def *store.Def) bool {
	if def == nil {
		return false
	}
	for _, x := range def.Indexes {
		if x.Group {
			return true
		}
	}
	return false
}

// shardOf returns the shard of the document with the full name, which never changes.
func shardOf(name string) int64 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, name) // it never fails
	return int64(h.Sum32() % shards)
}

func shardValue(name string) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_IntegerValue{IntegerValue: shardOf(name)}}
}

// inAnyShard is the condition of queries over all users.
func inAnyShard() store.Cond {
	all := make([]any, shards)
	for i := range all {
		all[i] = int64(i)
	}
	return store.Cond{Field: shardField, Test: store.IsIn, Any: all}
}

// shardsName is the document that has, for each collection, the name of the last document that was given a shard, or
// allSharded once all that were written before have one.
const (
	shardsName = "/system/shards"
	allSharded = "*"
)

// giveShards gives a shard to the documents of a collection that a version without shards has written. It goes on where
// the last call ended; an end of ctx is an error, after which the next call goes on.
func (d *Driver) giveShards(ctx context.Context, def *store.Def) error {
	d.mu.Lock()
	known := d.haveShards[def.ID()]
	d.mu.Unlock()
	if known {
		return nil
	}
	after, err := d.progress(ctx, shardsName)
	if err != nil {
		return err
	}
	for last := after[def.ID()]; last != allSharded; {
		names, lacking, err := d.shardPage(ctx, def.ID(), last)
		if err != nil {
			return err
		}
		if len(lacking) > 0 {
			if err := d.retryRead(ctx, func() error { return d.writeShards(ctx, lacking) }); err != nil {
				return err
			}
		}
		last = allSharded
		if len(names) == userDataPage {
			last = names[len(names)-1]
		}
		if err := d.retryRead(ctx, func() error { return d.setProgress(ctx, shardsName, def.ID(), last) }); err != nil {
			return err
		}
		after[def.ID()] = last
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, last := range after {
		d.haveShards[id] = d.haveShards[id] || last == allSharded
	}
	return nil
}

// progress returns the state of all collections in a document of the system, by their ids.
func (d *Driver) progress(ctx context.Context, name string) (after map[string]string, err error) {
	err = d.retryRead(ctx, func() error {
		after = map[string]string{}
		call, cancel := d.call(ctx)
		defer cancel()
		doc, err := d.client.GetDocument(call, &firestorepb.GetDocumentRequest{Name: d.documents() + name})
		if grpcstatus.Code(err) == codes.NotFound && !strings.HasPrefix(grpcstatus.Convert(err).Message(), "The database") {
			return nil
		}
		for id, v := range doc.GetFields() {
			after[id] = v.GetStringValue()
		}
		return err
	})
	return after, err
}

func (d *Driver) setProgress(ctx context.Context, name, id, last string) error {
	call, cancel := d.call(ctx)
	defer cancel()
	_, err := d.client.Commit(call, &firestorepb.CommitRequest{Database: d.root, Writes: []*firestorepb.Write{{
		Operation: &firestorepb.Write_Update{Update: &firestorepb.Document{Name: d.documents() + name,
			Fields: map[string]*firestorepb.Value{id: {ValueType: &firestorepb.Value_StringValue{StringValue: last}}}}},
		UpdateMask: &firestorepb.DocumentMask{FieldPaths: []string{fieldPath(id)}},
	}}})
	return err
}

// shardPage returns the names of the next documents of a collection, of all users, and of those among them without a
// shard.
func (d *Driver) shardPage(ctx context.Context, id, after string) (names, lacking []string, err error) {
	q := &firestorepb.StructuredQuery{
		Select:  &firestorepb.StructuredQuery_Projection{Fields: []*firestorepb.StructuredQuery_FieldReference{field(shardField)}},
		From:    []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: id, AllDescendants: true}},
		OrderBy: orders(nil),
		Limit:   wrapperspb.Int32(userDataPage),
	}
	if after != "" {
		q.StartAt = &firestorepb.Cursor{Values: []*firestorepb.Value{reference(after)}}
	}
	err = d.retryRead(ctx, func() error {
		names, lacking = nil, nil
		call, cancel := d.call(ctx)
		defer cancel()
		stream, err := d.client.RunQuery(call, runQueryRequest(d.documents(), q))
		for err == nil {
			var res *firestorepb.RunQueryResponse
			if res, err = stream.Recv(); err != nil || res.GetDocument() == nil {
				continue
			}
			name := res.GetDocument().GetName()
			names = append(names, name)
			if _, has := res.GetDocument().GetFields()[shardField]; !has {
				lacking = append(lacking, name)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	return names, lacking, err
}

// writeShards gives documents their shards. It leaves their changedAt as it is, since nothing changes for a reader, and
// passes over a document that was deleted meanwhile.
func (d *Driver) writeShards(ctx context.Context, names []string) error {
	req := &firestorepb.BatchWriteRequest{Database: d.root}
	for _, name := range names {
		req.Writes = append(req.Writes, &firestorepb.Write{
			Operation: &firestorepb.Write_Update{Update: &firestorepb.Document{Name: name,
				Fields: map[string]*firestorepb.Value{shardField: shardValue(name)}}},
			UpdateMask:      &firestorepb.DocumentMask{FieldPaths: []string{shardField}},
			CurrentDocument: exists(true),
		})
	}
	call, cancel := d.call(ctx)
	defer cancel()
	res, err := d.client.BatchWrite(call, req)
	if err != nil {
		return err
	}
	for _, s := range res.GetStatus() {
		if refused(s) {
			return grpcstatus.ErrorProto(s)
		}
	}
	return nil
}

// refused reports whether a write failed, other than because there is no such document any more.
func refused(s *status.Status) bool {
	switch codes.Code(s.GetCode()) {
	case codes.OK, codes.NotFound, codes.FailedPrecondition:
		return false
	}
	return true
}
