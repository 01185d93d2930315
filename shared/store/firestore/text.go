package firestore

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/words"
)

// The text of a document is a document of its own, in the collection texts of its user, written in the same commit. It
// lists the document's words and some of their beginnings. Firestore finds documents by one element of a list, so a
// search asks for the one that is likely the rarest, and the driver compares the rest with the words of the documents
// that it gets.

// spanWords is the number of words of a text in which its first [store.TextWords] different ones must be.
const spanWords = 2000

// prefixes are the lengths of the beginnings of words that are listed, and beginning the mark before them.
var prefixes = []int{5, 3, 2}

const beginning = "^"

// textPage is the number of documents of the index that are compared at once.
const textPage = 100

// The fields of a document of the index.
const (
	textColl, textID, textKind, textAt, textWords  = "c", "d", "kind", "at", "words"
	textTitle, textBody, textPrograms, textReaders = "title", "body", "programs", "readers"
)

// textRef returns the document of the index that belongs to a document.
func textRef(ref store.Ref) store.Ref {
	sum := sha256.Sum256([]byte(ref.Coll + "/" + ref.ID))
	id := strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
	return store.Ref{User: ref.User, Coll: store.TextName, ID: id}
}

// textWrites returns the writes of the index that belong to writes of documents.
func textWrites(writes []store.Write) []store.Write {
	var out []store.Write
	for _, w := range writes {
		switch {
		case !w.NewText:
		case w.Text == nil:
			out = append(out, store.Write{Action: store.Delete, Ref: textRef(w.Ref)})
		default:
			out = append(out, store.Write{Action: store.Put, Ref: textRef(w.Ref), Fields: textFields(w.Ref, w.Fields, w.Text)})
		}
	}
	return out
}

// textFields returns the fields of a document of the index.
func textFields(ref store.Ref, fields store.Fields, t *store.Text) store.Fields {
	title, body := t.Words()
	listed := map[string]bool{}
	take := func(forms []string, most int) []string {
		for i, w := range forms {
			if i == most || len(listed) == store.TextWords && !listed[w] {
				return forms[:i]
			}
			listed[w] = true
		}
		return forms
	}
	title = take(title, spanWords)
	body = take(body, spanWords-len(title))
	out := store.Fields{
		textColl: ref.Coll, textID: ref.ID, textKind: t.Kind, textAt: microseconds(t.At),
		textTitle: strings.Join(title, " "), textBody: strings.Join(body, " "), textWords: elements(listed),
		textPrograms: folded(t.Programs), textReaders: folded(t.Readers),
	}
	if at, ok := fields[store.PurgeField]; ok {
		out[store.PurgeField] = at
	}
	return out
}

// elements returns the elements that list words: the words, and their beginnings.
func elements(listed map[string]bool) []any {
	all := map[string]bool{}
	for w := range listed {
		all[w] = true
		for _, n := range prefixes {
			if b, ok := begin(w, n); ok {
				all[b] = true
			}
		}
	}
	out := make([]any, 0, len(all))
	for w := range all {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return out
}

// begin returns the element of the first n characters of a word; ok is false for a shorter one.
func begin(word string, n int) (element string, ok bool) {
	if utf8.RuneCountInString(word) < n {
		return "", false
	}
	return beginning + string([]rune(word)[:n]), true
}

func folded(names []string) []any {
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
		if n != store.Everybody {
			out[i] = words.Fold(n)
		}
	}
	return out
}

// rarest returns the element by which a search asks for documents, the longest one. exact reports that the documents
// which list it are those that the terms find.
func rarest(terms []words.Term) (element string, exact bool) {
	for _, t := range terms {
		for i, w := range t.Words {
			exact = len(terms) == 1 && len(t.Words) == 1
			if t.Prefix && i == len(t.Words)-1 {
				for _, n := range prefixes {
					if b, ok := begin(w, n); ok {
						exact = exact && utf8.RuneCountInString(w) == n
						w = b
						break
					}
				}
			}
			if utf8.RuneCountInString(w) > utf8.RuneCountInString(element) {
				element = w
			}
		}
	}
	return element, exact
}

// textPlace is the place of a document of the index: its time, in microseconds, and its id.
type textPlace struct {
	At int64  `json:"t"`
	ID string `json:"d"`
}

// found is a document of the index.
type found struct {
	textPlace
	fields store.Fields
}

// Search implements store.Driver with one query.
func (d *Driver) Search(ctx context.Context, p store.TextPlan) (page store.TextPage, err error) {
	var after *textPlace
	if p.After != nil {
		if err := json.Unmarshal(p.After, &after); err != nil || after == nil || after.ID == "" || strings.Contains(after.ID, "/") {
			return page, store.ErrTextCursor()
		}
	}
	element, exact := rarest(p.Terms)
	limit := textPage
	if exact && p.Program == "" && p.Reader == "" {
		limit = p.Limit
	}
	var docs []found
	err = d.retryRead(ctx, func() (err error) {
		docs, err = d.textDocs(ctx, p, element, after, limit)
		return err
	})
	if err != nil {
		return page, d.toFault(ctx, err)
	}
	for i, f := range docs {
		place, err := json.Marshal(f.textPlace)
		if err != nil {
			return page, err
		}
		if matches(p, f.fields) {
			coll, _ := f.fields[textColl].(string)
			id, _ := f.fields[textID].(string)
			page.Hits = append(page.Hits, store.TextHit{Ref: store.Ref{User: p.User, Coll: coll, ID: id}, Place: place})
		}
		if full := len(page.Hits) == p.Limit; full && i < len(docs)-1 || len(docs) == limit && (full || i == limit-1) {
			page.Next = place
			break
		}
	}
	return page, nil
}

// matches reports whether the terms, the program and the reader of a search find a document of the index.
func matches(p store.TextPlan, f store.Fields) bool {
	text := func(field string) []string { s, _ := f[field].(string); return strings.Fields(s) }
	has := func(field string, names ...any) bool {
		list, _ := f[field].([]any)
		return slices.ContainsFunc(list, func(v any) bool { return slices.Contains(names, v) })
	}
	return (p.Program == "" || has(textPrograms, words.Fold(p.Program))) &&
		(p.Reader == "" || has(textReaders, any(words.Fold(p.Reader)), any(store.Everybody))) &&
		words.All(p.Terms, text(textTitle), text(textBody))
}

// textDocs reads documents of the index that list an element, newest first, after a place.
func (d *Driver) textDocs(ctx context.Context, p store.TextPlan, element string, after *textPlace, limit int) ([]found, error) {
	name, id := d.parent(p.User, store.TextName)
	conds := []store.Cond{store.Contains(textWords, element)}
	if p.Kind != "" {
		conds = append(conds, store.Eq(textKind, p.Kind))
	}
	if !p.From.IsZero() {
		conds = append(conds, store.Ge(textAt, p.From))
	}
	if !p.To.IsZero() {
		conds = append(conds, store.Le(textAt, p.To))
	}
	where, err := filters(conds)
	if err != nil {
		return nil, err
	}
	q := &firestorepb.StructuredQuery{
		Select: &firestorepb.StructuredQuery_Projection{},
		From:   []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: id}},
		Where:  where, OrderBy: orders([]store.Field{{Path: textAt, Desc: true}}), Limit: wrapperspb.Int32(int32(limit)),
	}
	for _, f := range []string{textColl, textID, textAt, textTitle, textBody, textPrograms, textReaders} {
		q.Select.Fields = append(q.Select.Fields, field(f))
	}
	if after != nil {
		q.StartAt = &firestorepb.Cursor{Values: []*firestorepb.Value{
			{ValueType: &firestorepb.Value_TimestampValue{TimestampValue: timestamppb.New(time.UnixMicro(after.At))}},
			reference(d.name(store.Ref{User: p.User, Coll: store.TextName, ID: after.ID}))}}
	}
	raws, _, err := d.runQuery(ctx, runQueryRequest(name, q), view{})
	out := make([]found, len(raws))
	for i, raw := range raws {
		at, _ := raw.Fields[textAt].(time.Time)
		out[i] = found{textPlace{at.UnixMicro(), raw.Ref.ID}, raw.Fields}
	}
	return out, err
}

// textsName is the document that has, for each collection, the name of the last document whose text was added to the
// index, or allSharded once all that were written before the index was kept are in it.
const textsName = "/system/texts"

// IndexTexts adds the texts of documents to the index that were written before it was kept, at most about limit, and
// returns their number. It goes on where the last call ended.
func (d *Driver) IndexTexts(ctx context.Context, defs []*store.Def, limit int) (n int, err error) {
	d.mu.Lock()
	known := d.haveTexts
	d.mu.Unlock()
	if known || len(defs) == 0 {
		return 0, nil
	}
	after, err := d.progress(ctx, textsName)
	if err != nil {
		return 0, d.toFault(ctx, err)
	}
	for _, def := range defs {
		key := fmt.Sprintf("%s_%d", def.ID(), def.Searched.Version)
		for last := after[key]; last != allSharded; {
			if n >= limit {
				return n, nil
			}
			raws, err := d.groupPage(ctx, def.ID(), last)
			added := 0
			if err == nil {
				err = d.retryRead(ctx, func() error {
					more, err := d.addTexts(ctx, def, raws) // a repeat adds the texts that are missing
					added += more
					return err
				})
			}
			if n += added; err != nil {
				return n, d.toFault(ctx, err)
			}
			last = allSharded
			if len(raws) == userDataPage {
				last = d.name(raws[len(raws)-1].Ref)
			}
			if err := d.retryRead(ctx, func() error { return d.setProgress(ctx, textsName, key, last) }); err != nil {
				return n, d.toFault(ctx, err)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.haveTexts = true
	return n, nil
}

// groupPage returns the next documents of a collection, of all users.
func (d *Driver) groupPage(ctx context.Context, id, after string) (raws []store.Raw, err error) {
	q := &firestorepb.StructuredQuery{
		From:    []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: id, AllDescendants: true}},
		OrderBy: orders(nil), Limit: wrapperspb.Int32(userDataPage),
	}
	if after != "" {
		q.StartAt = &firestorepb.Cursor{Values: []*firestorepb.Value{reference(after)}}
	}
	err = d.retryRead(ctx, func() error {
		raws, _, err = d.runQuery(ctx, runQueryRequest(d.documents(), q), view{})
		return err
	})
	return raws, err
}

// addTexts adds the texts of documents to the index, except those that it has, and returns their number.
func (d *Driver) addTexts(ctx context.Context, def *store.Def, raws []store.Raw) (added int, err error) {
	req := &firestorepb.BatchWriteRequest{Database: d.root}
	for _, raw := range raws {
		t, ok, err := def.TextOf(raw)
		if err != nil || !ok {
			continue // it is not found; who reads it is told why
		}
		w, err := d.write(store.Write{Action: store.Create, Ref: textRef(raw.Ref), Fields: textFields(raw.Ref, raw.Fields, &t)})
		if err != nil {
			return 0, err
		}
		req.Writes = append(req.Writes, w)
	}
	if len(req.Writes) == 0 {
		return 0, nil
	}
	call, cancel := d.call(ctx)
	defer cancel()
	res, err := d.client.BatchWrite(call, req)
	if err != nil {
		return 0, err
	}
	for _, s := range res.GetStatus() {
		switch codes.Code(s.GetCode()) {
		case codes.OK:
			added++
		case codes.AlreadyExists, codes.FailedPrecondition:
		default:
			return added, fault.New(fault.Unavailable, "firestore: a document could not be added to the index of texts: %s",
				s.GetMessage())
		}
	}
	return added, nil
}
