package store

import "context"

// Usage is the amount of data of a user in the store.
type Usage struct {
	Documents int64
	// Bytes is the size of the documents. Over Firestore it is the number of documents times the mean size of a sample,
	// which grows with each call and, in the end, has every document.
	Bytes int64
}

// Usage counts the documents of the user, those below other documents included. It costs a few reads, and more the more
// there are, so callers should keep the result for a while.
func (t *Tenant) Usage(ctx context.Context) (Usage, error) {
	if err := checkUser(t.uid); err != nil {
		return Usage{}, err
	}
	return t.db.driver.Usage(ctx, t.uid)
}
