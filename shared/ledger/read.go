package ledger

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// position is a place in the records, which are read from the newest batch to the oldest: a batch, and how many of its
// records were read.
type position struct {
	At   time.Time `json:"at"`
	ID   string    `json:"id"`
	Read int       `json:"read"`
}

// String returns the text that parsePosition parses.
func (p position) String() string {
	text, _ := json.Marshal(p) // a time, a text and a number
	return base64.RawURLEncoding.EncodeToString(text)
}

// parsePosition parses a cursor of records. It returns nil for an empty one.
func parsePosition(cursor string) (*position, error) {
	if cursor == "" {
		return nil, nil
	}
	p := new(position)
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil || p.ID == "" || p.Read < 0 {
		return nil, fault.Field("cursor", "is not one of this list; use the one that came with the page before")
	}
	return p, nil
}

// readRecords reads the records of calls between two times, the newest first, at most Limit of them and from at most
// maxBatches batches. A batch counts by the time of its first record.
func (s *Service) readRecords(
	ctx context.Context, t *store.Tenant, out *UsageOutput, in UsageInput, from, to time.Time,
) error {
	out.Records = []Record{}
	start, err := parsePosition(in.Cursor)
	if err != nil {
		return err
	}
	q := store.Query{Order: []string{"at desc"}, Limit: maxBatches,
		Where: []store.Cond{store.Ge("at", from.Add(-oneDay)), store.Lt("at", to)}}
	if start != nil {
		q.Where[1] = store.Le("at", start.At)
	}
	page, err := batches.Query(ctx, t, q)
	if err != nil {
		return err
	}
	docs := page.Docs
	if start != nil {
		i := slices.IndexFunc(docs, func(d store.Doc[Batch]) bool { return d.ID == start.ID })
		if i < 0 {
			start = nil // it is not kept any more
		}
		docs = docs[max(i, 0):]
	}
	for i, d := range docs {
		skip := 0
		if i == 0 && start != nil {
			skip = start.Read
		}
		read, err := out.addRecords(d.Value, skip, in.Limit, from, to)
		if err != nil {
			return err
		}
		last := position{d.Value.At, d.ID, read}
		if more := i < len(docs)-1 || page.Next != ""; len(out.Records) >= in.Limit || i == len(docs)-1 {
			if more || read < d.Value.count() {
				out.NextCursor = last.String()
			}
			return nil
		}
	}
	return nil
}

// count returns the number of records of a batch, which are objects of one JSON array.
func (b Batch) count() int {
	var all []json.RawMessage
	_ = json.Unmarshal(b.Records, &all) // addRecords has reported it
	return len(all)
}

// addRecords adds the records of a batch, the latest first, until there are limit, and returns how many of the batch are
// read then, with the skipped ones.
func (o *UsageOutput) addRecords(b Batch, skip, limit int, from, to time.Time) (read int, err error) {
	var all []Record
	if err := json.Unmarshal(b.Records, &all); err != nil {
		return 0, fault.Wrap(fault.Internal, err, "a batch of the ledger cannot be read")
	}
	slices.Reverse(all)
	for read = min(skip, len(all)); read < len(all) && len(o.Records) < limit; read++ {
		if r := all[read]; !r.At.Before(from) && r.At.Before(to) {
			o.Records = append(o.Records, r)
		}
	}
	return read, nil
}
