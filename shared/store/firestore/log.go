package firestore

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const (
	// maxSeen is the maximum number of commits that a place remembers.
	maxSeen = 256
	// logAhead is the time by which a place may be ahead of the local clock: more than that clock can be wrong by, since
	// Google refuses the tokens of a machine whose clock is further off.
	logAhead = time.Hour
)

// logPlace is a place in the log. A commit becomes visible up to some seconds after its time, so a reader reads the
// commits since From again, and skips the commits that it has Seen. If more commits than maxSeen follow From, From is
// moved.
type logPlace struct {
	From int64    `json:"t"` // microseconds
	Seen []string `json:"s,omitempty"`
}

// logged is a commit of the log with its times: when the server received it, and when it was made.
type logged struct {
	store.LogCommit
	made time.Time
}

// newLogID returns the id of a commit's document in the log.
func newLogID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// logWrite returns the write that adds the entries of a commit to the log; ok is false if there are none. The document is
// written under an id that does not change when the commit is repeated.
func (d *Driver) logWrite(id string, writes []store.Write) (w store.Write, ok bool, err error) {
	entries := store.EntriesOf(writes)
	if len(entries) == 0 {
		return w, false, nil
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return w, false, err
	}
	return store.Write{Action: store.Put, Ref: store.Ref{User: writes[0].Ref.User, Coll: store.LogName, ID: id},
		Fields: store.Fields{"entries": string(text), store.PurgeField: microseconds(d.now().Add(store.LogKept))}}, true, nil
}

// Log implements store.Driver. The order of commits is that of their times, which is the order of those that wrote the
// same document.
func (d *Driver) Log(ctx context.Context, user string, from json.RawMessage) (page store.DriverPage, err error) {
	now, at := d.now(), logPlace{}
	if from == nil {
		at.From = now.Add(-margin).UnixMicro()
	} else if err := json.Unmarshal(from, &at); err != nil || at.From <= 0 || len(at.Seen) > maxSeen {
		return page, fault.Field("cursor", "is not one of this log; leave it out to begin with what happens now")
	}
	// No page of this log leads into the future: the entries that a reader with such a place has missed are not known.
	if kept := now.Add(-store.LogKept).UnixMicro(); at.From < kept || at.From > now.Add(logAhead).UnixMicro() {
		page.Truncated, at = true, logPlace{From: kept}
	}
	read, full, err := d.unseen(ctx, user, at, from == nil)
	if err != nil {
		return page, err
	}
	page.More = full
	if from != nil {
		fresh := slices.DeleteFunc(slices.Clone(read), func(l logged) bool { return slices.Contains(at.Seen, l.ID) })
		slices.SortStableFunc(fresh, func(a, b logged) int { return a.made.Compare(b.made) })
		for _, l := range fresh {
			page.Commits = append(page.Commits, l.LogCommit)
		}
	}
	page.Next, err = json.Marshal(at.after(read))
	return page, err
}

// unseen reads the commits from a place on, page by page, until a page has one that was not seen, or to the end. It
// returns all that it read; full reports that there are more.
func (d *Driver) unseen(ctx context.Context, user string, at logPlace, toEnd bool) (read []logged, full bool, err error) {
	for {
		var page []logged
		var last *logged
		if len(read) > 0 {
			last = &read[len(read)-1]
		}
		err := d.retryRead(ctx, func() (err error) {
			page, err = d.logPage(ctx, user, at.From, last)
			return err
		})
		if err != nil {
			return nil, false, d.toFault(ctx, err)
		}
		read = append(read, page...)
		full = len(page) == store.MaxLogPage
		found := slices.ContainsFunc(page, func(l logged) bool { return !slices.Contains(at.Seen, l.ID) })
		if !full || found && !toEnd {
			return read, full, nil
		}
	}
}

// logPage reads one page of the log, the commits from a time on that follow last.
func (d *Driver) logPage(ctx context.Context, user string, from int64, last *logged) (page []logged, err error) {
	name, id := d.parent(user, store.LogName)
	order := []store.Field{{Path: changedField}}
	where, err := filters([]store.Cond{{Field: changedField, Test: store.IsAtLeast, Value: time.UnixMicro(from).UTC()}})
	if err != nil {
		return nil, err
	}
	q := &firestorepb.StructuredQuery{
		From:  []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: id}},
		Where: where, OrderBy: orders(order), Limit: wrapperspb.Int32(store.MaxLogPage),
	}
	if last != nil {
		ref := store.Ref{User: user, Coll: store.LogName, ID: last.ID}
		q.StartAt = &firestorepb.Cursor{Values: []*firestorepb.Value{
			{ValueType: &firestorepb.Value_TimestampValue{TimestampValue: timestamppb.New(last.At)}}, reference(d.name(ref))}}
	}
	ctx, cancel := d.call(ctx)
	defer cancel()
	stream, err := d.client.RunQuery(ctx, runQueryRequest(name, q))
	if err != nil {
		return nil, err
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return page, nil
		}
		if err != nil {
			return nil, err
		}
		if doc := res.GetDocument(); doc != nil {
			l := logged{made: doc.GetUpdateTime().AsTime()}
			l.ID = doc.GetName()[strings.LastIndexByte(doc.GetName(), '/')+1:]
			l.At = doc.GetFields()[changedField].GetTimestampValue().AsTime()
			if err := json.Unmarshal([]byte(doc.GetFields()["entries"].GetStringValue()), &l.Entries); err != nil {
				return nil, err
			}
			page = append(page, l)
		}
	}
}

// after returns the place after all commits that were read from at on.
func (at logPlace) after(read []logged) logPlace {
	if len(read) == 0 {
		return at
	}
	from := max(at.From, read[len(read)-1].At.Add(-margin).UnixMicro())
	if n := len(read) - maxSeen; n > 0 {
		from = max(from, read[n].At.UnixMicro())
	}
	next := logPlace{From: from}
	for _, l := range slices.Backward(read) {
		if l.At.UnixMicro() < from || len(next.Seen) == maxSeen {
			break
		}
		next.Seen = append(next.Seen, l.ID)
	}
	return next
}
