package txproxy

import (
	"errors"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// call is a call in flight with the transaction that it concerns.
type call struct {
	proxy    *Proxy
	client   *client
	method   string
	headers  metadata.MD
	database string
	tx       string // the transaction that the call ends, empty for none
}

type ofDatabase interface {
	proto.Message
	GetDatabase() string
	GetTransaction() []byte
}

type ofTransaction interface {
	proto.Message
	GetTransaction() []byte
}

// onRequest reads a request and records the transaction that it ends.
func (c *call) onRequest(m []byte) {
	var req ofDatabase
	switch c.method {
	case "BatchGetDocuments":
		req = &firestorepb.BatchGetDocumentsRequest{}
	case "Commit":
		req = &firestorepb.CommitRequest{}
	case "Rollback":
		req = &firestorepb.RollbackRequest{}
	case "RunQuery":
		var q firestorepb.RunQueryRequest
		if proto.Unmarshal(m, &q) == nil {
			c.database = databaseOf(q.GetParent())
		}
		return
	default:
		return
	}
	if proto.Unmarshal(m, req) != nil {
		return // the emulator reports the error
	}
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.database = req.GetDatabase()
	if c.method != "BatchGetDocuments" {
		c.tx = string(req.GetTransaction())
		if o, known := c.client.open[c.tx]; known {
			o.committing = true
			c.client.open[c.tx] = o
		}
	}
}

// databaseOf returns the database part, projects/P/databases/D, of a document's name.
func databaseOf(name string) string {
	slashes := 0
	for i := range len(name) {
		if name[i] == '/' {
			slashes++
		}
		if slashes == 4 {
			return name[:i]
		}
	}
	return name
}

// onResponse reads a response. The first response of a read may open a transaction.
func (c *call) onResponse(m []byte) {
	var res ofTransaction
	switch c.method {
	case "BatchGetDocuments":
		res = &firestorepb.BatchGetDocumentsResponse{}
	case "RunQuery":
		res = &firestorepb.RunQueryResponse{}
	default:
		return
	}
	if proto.Unmarshal(m, res) != nil || len(res.GetTransaction()) == 0 {
		return
	}
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	o := transaction{database: c.database, headers: c.headers}
	if c.client.gone {
		c.proxy.rollBack(string(res.GetTransaction()), o)
		return
	}
	c.client.open[string(res.GetTransaction())] = o
}

// onEnd records the outcome of the call. A successful commit or a rollback ends the transaction; after a refused commit
// it may still hold its locks.
func (c *call) onEnd(err error) {
	if c.tx == "" {
		return
	}
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	o, known := c.client.open[c.tx]
	switch {
	case errors.Is(err, io.EOF):
		delete(c.client.open, c.tx)
	case known && c.client.gone:
		c.proxy.rollBack(c.tx, o)
	case known:
		o.committing = false
		c.client.open[c.tx] = o
	}
}
