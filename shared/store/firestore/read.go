package firestore

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"parley.internal/shared/sleep"
	"parley.internal/shared/store"
)

// view selects the data that a read sees: the latest, that of a transaction, or that of a transaction which the read
// opens.
type view struct {
	tx   []byte
	open *firestorepb.TransactionOptions
	// seen is called with each document that is read, nil for nothing.
	seen func(*firestorepb.Document)
}

// Get implements store.Reads. A read without an answer is repeated.
func (d *Driver) Get(ctx context.Context, refs []store.Ref) (raws []*store.Raw, err error) {
	err = d.retryRead(ctx, func() error {
		raws, _, err = d.get(ctx, refs, view{})
		return err
	})
	return raws, d.toFault(ctx, err)
}

// Query implements store.Reads. A read without an answer is repeated.
func (d *Driver) Query(ctx context.Context, plan store.Plan) (raws []store.Raw, err error) {
	if plan.User == "" {
		if err := d.giveShards(ctx, plan.Def); err != nil {
			return nil, d.toFault(ctx, err)
		}
	}
	err = d.retryRead(ctx, func() error {
		raws, _, err = d.query(ctx, plan, view{})
		return err
	})
	return raws, d.toFault(ctx, err)
}

// readTries is the maximum number of times that a read outside of transactions is sent.
const readTries = 3

// retryRead sends a read, or a write that may be applied twice, until it is answered.
func (d *Driver) retryRead(ctx context.Context, read func() error) error {
	for try := 1; ; try++ {
		err := read()
		if err == nil || try == readTries || classify(err) == final || !pause(ctx, try) {
			return err
		}
	}
}

// get sends one BatchGetDocuments, or nothing if refs is empty. It returns the transaction that the read opened, even
// with an error.
func (d *Driver) get(ctx context.Context, refs []store.Ref, v view) ([]*store.Raw, []byte, error) {
	raws := make([]*store.Raw, len(refs))
	if len(refs) == 0 {
		return raws, nil, nil
	}
	at := make(map[store.Ref][]int, len(refs))
	req := &firestorepb.BatchGetDocumentsRequest{Database: d.root}
	for i, r := range refs {
		if at[r] == nil {
			req.Documents = append(req.Documents, d.name(r))
		}
		at[r] = append(at[r], i)
	}
	if v.tx != nil {
		req.ConsistencySelector = &firestorepb.BatchGetDocumentsRequest_Transaction{Transaction: v.tx}
	} else if v.open != nil {
		req.ConsistencySelector = &firestorepb.BatchGetDocumentsRequest_NewTransaction{NewTransaction: v.open}
	}
	ctx, cancel := d.call(ctx)
	defer cancel()
	stream, err := d.client.BatchGetDocuments(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	tx, err := d.receive(v, func() (answer, *firestorepb.Document, error) {
		res, err := stream.Recv()
		return res, res.GetFound(), err
	}, func(raw store.Raw) {
		for _, i := range at[raw.Ref] {
			raws[i] = &raw
		}
	})
	if err != nil {
		return nil, tx, err
	}
	return raws, tx, nil
}

// answer is one message of a stream of documents.
type answer interface{ GetTransaction() []byte }

// receive reads a stream to its end and calls each for its documents. It returns the transaction that the stream
// opened, even with an error.
func (d *Driver) receive(
	v view, next func() (answer, *firestorepb.Document, error), each func(store.Raw),
) (tx []byte, err error) {
	for {
		res, doc, err := next()
		if errors.Is(err, io.EOF) {
			return tx, nil
		}
		if err != nil {
			return tx, err
		}
		if len(res.GetTransaction()) > 0 {
			tx = res.GetTransaction()
		}
		if doc == nil {
			continue
		}
		raw, err := d.decode(doc)
		if err != nil {
			return tx, err
		}
		if v.seen != nil {
			v.seen(doc)
		}
		each(raw)
	}
}

// query sends one RunQuery. It returns the transaction that the query opened, even with an error.
func (d *Driver) query(ctx context.Context, plan store.Plan, v view) ([]store.Raw, []byte, error) {
	req, err := d.queryRequest(plan)
	if err != nil {
		return nil, nil, err
	}
	if v.tx != nil {
		req.ConsistencySelector = &firestorepb.RunQueryRequest_Transaction{Transaction: v.tx}
	} else if v.open != nil {
		req.ConsistencySelector = &firestorepb.RunQueryRequest_NewTransaction{NewTransaction: v.open}
	}
	return d.runQuery(ctx, req, v)
}

func (d *Driver) runQuery(ctx context.Context, req *firestorepb.RunQueryRequest, v view) ([]store.Raw, []byte, error) {
	ctx, cancel := d.call(ctx)
	defer cancel()
	stream, err := d.client.RunQuery(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	var raws []store.Raw
	tx, err := d.receive(v, func() (answer, *firestorepb.Document, error) {
		res, err := stream.Recv()
		return res, res.GetDocument(), err
	}, func(raw store.Raw) { raws = append(raws, raw) })
	if err != nil {
		return nil, tx, err
	}
	return raws, tx, nil
}

// pause waits before another try, longer after each. It reports false once ctx has ended.
func pause(ctx context.Context, try int) bool { return sleep.For(ctx, backoff(try)) == nil }
