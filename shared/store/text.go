package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store/words"
)

// The texts of documents are kept in an index, which a driver writes in the commit of the change, so a search finds the
// documents as they are. A driver keeps the words of a text, not the text: the text of a result comes from the
// document.

const (
	// TextName is the name of the collection of the index, where a driver keeps it as documents.
	TextName = "texts"
	// TextWords is the number of different words by which every driver finds a document: the first ones of its title and
	// then of its body. One may find it by more.
	TextWords = 400
	// MaxHits is the maximum number of documents that a search returns.
	MaxHits = 50
	// Everybody is the reader of a document that every caller of the user may read.
	Everybody = "*"

	// maxTextWords is the number of words of a text that are looked at.
	maxTextWords = 20_000
	// textRounds is the number of pages of the index that a search reads to fill a page of its own.
	textRounds = 3
)

// Text is the text by which a search finds a document, and from which it makes the result.
type Text struct {
	// Kind is the noun of the document and ID the id by which callers know the object.
	Kind, ID string
	// Title and Body are found by their words.
	Title, Body string
	// At orders the results. It must not change.
	At time.Time
	// Programs are the programs that wrote the document or that it is for.
	Programs []string
	// Readers are the programs that may read the document, or [Everybody]. A search by a program passes over others.
	Readers []string
}

// Words returns the words of the title and of the body.
func (t *Text) Words() (title, body []string) {
	title = words.Forms(words.Of(t.Title, maxTextWords))
	return title, words.Forms(words.Of(t.Body, maxTextWords-len(title)))
}

// Search is a search for documents of a user.
type Search struct {
	// Terms must all be in a document: each in its title or its body.
	Terms []words.Term
	// Kind and Program narrow the search, unless they are empty.
	Kind, Program string
	// Reader is the program that searches, empty for one that may read every document.
	Reader string
	// From and To are the first and the last time of the documents, unless they are zero.
	From, To time.Time
	// Limit is the number of documents of a page, at most [MaxHits].
	Limit  int
	Cursor string
}

// TextPlan is a page of the index as a driver reads it.
type TextPlan struct {
	Search
	User string
	// After is the place of the end of the page before, nil for the first one.
	After json.RawMessage
}

// TextHit is a document that a driver found, and its place in the results.
type TextHit struct {
	Ref   Ref
	Place json.RawMessage
}

// TextPage is a page of the index, newest first. Next is the place after it, nil at the end; a page may be empty before
// that.
type TextPage struct {
	Hits []TextHit
	Next json.RawMessage
}

// Hit is a document that a search found.
type Hit struct {
	Raw
	Text
	// Collection is the name of its collection, as "fires/*/fireMessages".
	Collection string
}

// Searched is the declaration of a collection's texts.
type Searched struct {
	// Version is a part of the name under which a driver keeps the texts. Another one makes it index all documents anew.
	Version int
	of      func(Raw) (Text, error)
}

// textVersion is that of all texts. It changes with the words that a text falls into.
const textVersion = 1

type textDoc struct {
	Coll     string    `json:"c"`
	Doc      string    `json:"d"`
	Kind     string    `json:"kind"`
	At       time.Time `json:"at"`
	Words    []string  `json:"words"`
	Title    string    `json:"title"`
	Body     string    `json:"body"`
	Programs []string  `json:"programs"`
	Readers  []string  `json:"readers"`
	PurgeAt  time.Time `json:"purgeAt"`
}

var texts = Collection[textDoc]{Name: TextName, Indexes: []string{"words[],at desc"}, Filters: []string{"kind,at desc"},
	Unindexed: []string{"c", "d", "title", "body", "programs", "readers"}}

// TextDef declares the index of texts. A database whose schema lacks it keeps none.
func TextDef() *Def { return texts.Def() }

// searched returns the declaration of the collection's texts, nil if it has none.
func (c Collection[T]) searched() *Searched {
	if c.Text == nil {
		return nil
	}
	return &Searched{Version: textVersion, of: func(raw Raw) (Text, error) {
		var v T
		if err := decode(raw.Fields, &v); err != nil {
			return Text{}, fault.Wrap(fault.Internal, err, "document %s/%s", raw.Ref.Coll, raw.Ref.ID)
		}
		return c.Text(&v, raw.Ref), nil
	}}
}

// TextOf returns the text of a document; ok is false if the collection has none, or the document no words.
func (d *Def) TextOf(raw Raw) (t Text, ok bool, err error) {
	if d.Searched == nil {
		return t, false, nil
	}
	t, err = d.Searched.of(raw)
	return t, err == nil && t.says(), err
}

// says reports whether there is anything to find the text by.
func (t *Text) says() bool {
	return len(words.Of(t.Title, 1)) > 0 || len(words.Of(t.Body, 1)) > 0
}

// Texts returns the declarations of the collections that are searched, none in a schema without [TextDef].
func (s *Schema) Texts() []*Def {
	if s.by[TextName] == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.defs), func(d *Def) bool { return d.Searched == nil })
}

// SameText returns the collection for writes that change nothing that its documents are found by, so that a driver need
// not write their texts again.
func (c Collection[T]) SameText() Collection[T] {
	c.sameText = true
	return c
}

// text sets the text of a write. A patch leaves it as it is.
func (c Collection[T]) text(tx *Tx, w *Write, v *T) {
	if c.Text == nil || c.sameText || tx.tenant.db.schema.by[TextName] == nil {
		return
	}
	switch w.Action {
	case Create, Put:
		w.NewText = true
		if t := c.Text(v, w.Ref); t.says() {
			w.Text = &t
		}
	case Delete:
		w.NewText = true
	}
}

// Search returns the documents of a user that a search finds and that may accepts, newest first, and the cursor of the
// next page, empty at the end. It reads a bounded part of the index, so a page may be short, or empty, before the end. A
// cursor that the driver did not make is Invalid.
func (t *Tenant) Search(ctx context.Context, s Search, may func(Hit) (bool, error)) (hits []Hit, next string, err error) {
	if err := checkUser(t.uid); err != nil {
		return nil, "", err
	}
	if t.db.schema.by[TextName] == nil || len(s.Terms) == 0 || s.Limit < 1 || s.Limit > MaxHits {
		return nil, "", fault.New(fault.Internal, "store: a search needs texts, terms and a limit of at most %d", MaxHits)
	}
	plan := TextPlan{Search: s, User: t.uid}
	if s.Cursor != "" {
		if plan.After, err = base64.RawURLEncoding.DecodeString(s.Cursor); err != nil || !json.Valid(plan.After) {
			return nil, "", ErrTextCursor()
		}
	}
	for range textRounds {
		page, err := t.db.driver.Search(ctx, plan)
		if err != nil {
			return nil, "", err
		}
		found, err := t.found(ctx, page.Hits)
		if err != nil {
			return nil, "", err
		}
		for i, h := range found {
			if h == nil {
				continue
			}
			ok, err := may(*h)
			if err != nil {
				return nil, "", err
			}
			if ok {
				hits = append(hits, *h)
			}
			if len(hits) == s.Limit && (i < len(found)-1 || page.Next != nil) {
				return hits, base64.RawURLEncoding.EncodeToString(page.Hits[i].Place), nil
			}
		}
		if plan.After = page.Next; plan.After == nil {
			return hits, "", nil
		}
	}
	return hits, base64.RawURLEncoding.EncodeToString(plan.After), nil
}

// ErrTextCursor returns the fault of a search whose cursor is not one.
func ErrTextCursor() error {
	return fault.Field("cursor", "is not one of a search; leave it out to begin with the newest")
}

// found reads the documents of hits. One that is gone, or has no text any more, is nil.
func (t *Tenant) found(ctx context.Context, hits []TextHit) ([]*Hit, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	refs := make([]Ref, len(hits))
	for i, h := range hits {
		refs[i] = h.Ref
	}
	raws, err := t.db.driver.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	out := make([]*Hit, len(hits))
	for i, raw := range raws {
		def := t.db.schema.DefOf(refs[i].Coll)
		if raw == nil || def == nil {
			continue
		}
		text, ok, err := def.TextOf(*raw)
		if err != nil {
			return nil, err
		}
		if ok {
			out[i] = &Hit{Raw: *raw, Text: text, Collection: def.Name}
		}
	}
	return out, nil
}

// IndexTexts adds documents of all users to the index that were written before it was kept, about limit at most, and
// returns their number. A number below limit means that none is left.
func (a *Admin) IndexTexts(ctx context.Context, limit int) (int, error) {
	d, ok := a.db.driver.(interface {
		IndexTexts(ctx context.Context, defs []*Def, limit int) (int, error)
	})
	if !ok {
		return 0, nil // it indexes them when it opens
	}
	return d.IndexTexts(ctx, a.db.schema.Texts(), limit)
}

// ParentOf returns the id of the document that holds a document.
func (r Ref) ParentOf() string {
	parts := strings.Split(r.Coll, "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[len(parts)-2]
}

// Paragraphs returns texts as the paragraphs of one, without empty ones.
func Paragraphs(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}
